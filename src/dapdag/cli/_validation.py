"""What `evaluate` and `validate` show of a validation, and write of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dapdag._runtime.text import fixed, interval_text

if TYPE_CHECKING:
    from dapdag.evaluate import Validation

_PANEL = "Validation"
Event = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        rich_help_panel=_PANEL,
        help="Class to validate against the others; by default the second of two.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        rich_help_panel=_PANEL,
        help="Probability from which one would treat, for the net benefit.",
    ),
]
Statistics = Annotated[
    Path | None,
    typer.Option(
        "--statistics",
        metavar="FILE",
        rich_help_panel=_PANEL,
        help="Statistics by site with intervals, as CSV or Parquet.",
    ),
]
SHOWN = {
    "classification": (
        *("c_statistic", "oe_ratio", "calibration_slope", "brier", "log_loss", "net_benefit"),
    ),
    "regression": ("r2", "rmse", "calibration_in_the_large", "calibration_slope"),
}
COMPARED = {
    "classification": ("c_statistic", "oe_ratio", "calibration_slope"),
    "regression": ("r2", "calibration_in_the_large", "calibration_slope"),
}
ENDS = ["estimate", "low", "high"]
TOO_FEW = 5


def show_sites(found: Validation, method: str, title: str) -> None:
    """A row per site, and below them the mean over sites and the next site."""
    from dapdag.evaluate import STATISTICS

    from ._show import print_table

    names = SHOWN[found.task]
    tables: dict[str, Any] = {name: found.of(method, name) for name in names}
    first = tables[names[0]]
    rows = [
        [
            str(target),
            _count(first.loc[target], found.event is not None),
            *(interval_text(*table.loc[target, ENDS]) for table in tables.values()),
        ]
        for target in first.index
    ]
    if len(first) > 1:
        pooled: Any = found.summary().loc[method]
        ends = ["prediction_low", "prediction_high"]
        means = [interval_text(*pooled.loc[n, ENDS]) for n in names]
        following = [interval_text(float("nan"), *pooled.loc[n, ends]) for n in names]
        rows += [["all sites", "", *means], ["next site", "", *following]]
    count = "rows" if found.event is None else "events/rows"
    headers = ["site", count, *(STATISTICS[n].short for n in names)]
    print_table(headers, rows, title=title, numbers=range(1, len(headers)), most=1000)


def _count(site: Any, events: bool) -> str:
    return f"{site['events']}/{site['rows']}" if events else str(site["rows"])


def explain_sites(found: Validation, method: str) -> list[str]:
    """What the rows and columns of `show_sites` are, and what they cannot say."""
    lines = ["In brackets: 95 % confidence intervals."]
    if len(found.targets) > 1:
        lines += [
            "All sites: random-effects meta-analysis (REML, Hartung-Knapp).",
            "Next site: 95 % prediction interval.",
        ]
    if found.event is not None:
        lines.append(
            f"Event: {found.event}. O:E and slope are best at 1; net benefit at a threshold of "
            f"{found.threshold:g}."
        )
    if 1 < len(found.targets) < TOO_FEW:
        lines.append(
            f"With {len(found.targets)} sites the interval for the next one says little: "
            f"{TOO_FEW} or more are wanted."
        )
    notes = found.sites[(found.sites["method"] == method) & (found.sites["note"] != "")]
    lines += [
        f"{target}, {', '.join(part['statistic'])}: {note}."
        for (target, note), part in notes.groupby(["target", "note"], sort=False)
    ]
    return lines


def show_comparison(found: Validation, reference: str) -> None:
    """Means over sites of every method, and each method's difference from the reference."""
    from dapdag.evaluate import STATISTICS, primary_metric

    from ._show import print_table

    names = COMPARED[found.task]
    pooled: Any = found.summary()
    compared = primary_metric(found.task)
    differences = _overall(found, reference, compared)
    rows = [
        [
            method,
            differences.get(method, "reference"),
            *(interval_text(*pooled.loc[(method, n), ENDS]) for n in names),
        ]
        for method in found.methods
    ]
    headers = ["method", f"Δ {STATISTICS[compared].short}", *(STATISTICS[n].short for n in names)]
    title = f"Means over sites; Δ: difference in {STATISTICS[compared].title} from {reference}"
    print_table(headers, rows, title=title, numbers=range(1, len(headers)))


def _overall(found: Validation, reference: str, statistic: str) -> dict[str, str]:
    if len(found.methods) < 2:
        return {}
    table = found.differences(reference)
    chosen = table[(table["target"] == "all sites") & (table["statistic"] == statistic)]
    return {
        str(row["method"]): interval_text(row["difference"], row["low"], row["high"], 3)
        for _, row in chosen.iterrows()
    }


def validation_json(found: Validation, reference: str | None) -> dict[str, Any]:
    """Everything, for programs; NaN becomes null."""
    from dapdag.evaluate import site_results

    parts = {**site_results(found), "summary": _records(found.summary().reset_index())}
    if reference is not None and len(found.methods) > 1:
        parts["reference"] = reference
        parts["differences"] = _records(found.differences(reference))
    return parts


def _records(table: Any) -> Any:
    return json.loads(table.to_json(orient="records"))


def heterogeneity_line(found: Validation, method: str) -> str:
    """τ² and I² of the first statistic."""
    from dapdag.evaluate import STATISTICS

    name = SHOWN[found.task][0]
    pooled: Any = found.summary().loc[(method, name)]
    about = STATISTICS[name]
    return (
        f"Heterogeneity of the {about.short}: τ² {fixed(float(pooled['tau2']), 3)} "
        f"({about.scale.name} scale), I² {fixed(100 * float(pooled['i2']), 0)} %."
    )


def reference_line(found: Validation, method: str, reference: str) -> str:
    """In words whether the method beats the reference."""
    from dapdag.evaluate import STATISTICS, primary_metric

    name = primary_metric(found.task)
    table = found.differences(reference)
    chosen = table[(table["method"] == method) & (table["statistic"] == name)]
    row: Any = chosen.iloc[-1 if len(found.targets) > 1 else 0]
    verdict = {True: "better", False: "worse"}.get(row["better"], "not clearly better or worse")
    text = interval_text(row["difference"], row["low"], row["high"], 3)
    words = {"prevalence": "the sources' share", "mean": "the sources' mean"}
    return (
        f"Against {words.get(reference, reference)} for everyone: {verdict}; difference in "
        f"{STATISTICS[name].title} {text}."
    )
