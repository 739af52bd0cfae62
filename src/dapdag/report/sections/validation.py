"""Validation at left-out sites and, where its outcomes are known, at the new one."""

from typing import Any

import numpy as np
import pandas as pd

from ..._runtime.text import interval_text, number, percent, plural
from ...evaluate.clinical.calibration import logit
from ...evaluate.clinical.decision import useful_thresholds
from ...evaluate.clinical.estimates import BINARY, STATISTICS, statistics_of
from ...evaluate.clinical.extra import INSTALL, clinical_is_installed
from ...evaluate.clinical.stored import Assessed
from ...evaluate.clinical.validation import Validation
from ..curves import calibration_picture, decision_picture
from ..facts import Facts
from ..forest import forest
from ..markup import Markup, details, figure, markup, paragraph, table, tag
from ..validated import MODEL

DRAWN = {BINARY: ("c_statistic", "oe_ratio"), "regression": ("r2", "calibration_in_the_large")}
ENDS = ["estimate", "low", "high"]
FEW_SITES = 5


def validation(facts: Facts) -> Markup:
    parts = [_left_out(facts), _expected(facts), _new(facts)]
    shown = [part for part in parts if part is not None]
    return markup(shown) if shown else _nothing(facts)


def _nothing(facts: Facts) -> Markup:
    if not clinical_is_installed():
        return paragraph("Needs further packages: ", tag("code", INSTALL), class_="note")
    if facts.classes is not None and not facts.is_binary:
        return paragraph("These statistics are for numbers and for two classes.", class_="note")
    return paragraph(
        "Nothing to validate yet: the model was not assessed (",
        tag("code", "dapdag fit --assess"),
        "), and the outcomes of a new table are not known (",
        tag("code", "dapdag report MODEL NEW --label COLUMN"),
        ").",
        class_="note",
    )


def _left_out(facts: Facts) -> Markup | None:
    found = facts.validated
    if found is None:
        return None
    own = found.methods[0]
    return markup(
        [
            tag("h3", "At sites that were left out"),
            paragraph(
                "Each known site was predicted by a model that learned from the others "
                "(internal–external validation). The mean over sites is from a random-effects "
                "meta-analysis (REML, Hartung–Knapp); the bar below it is the 95\u202f% prediction "
                "interval for the next site."
            ),
            _few(found),
            [_forest(found, own, name) for name in DRAWN[found.task]],
            _pooled_table(found),
            details("All statistics of all sites", _site_table(found.sites, own, found.task)),
            _curves(found.calibration, found.decision, facts, "all left-out sites together"),
        ]
    )


def _few(found: Assessed) -> Markup | None:
    n = found.sites["target"].nunique()
    if n >= FEW_SITES:
        return None
    return paragraph(
        f"With {plural(n, 'site')} the prediction interval says little: {FEW_SITES} or more are "
        "wanted.",
        class_="caution",
    )


def _forest(found: Assessed, method: str, statistic: str) -> Markup:
    pooled: Any = found.summary.loc[(method, statistic)]
    picture = forest(found.of(method, statistic), pooled, statistic)
    return figure(picture, f"{STATISTICS[statistic].title} at each site when it was left out")


def _pooled_table(found: Assessed) -> Markup:
    rows = []
    for name in statistics_of(found.task):
        about = STATISTICS[name]
        for method in found.methods:
            pooled: Any = found.summary.loc[(method, name)]
            ends = float(pooled["prediction_low"]), float(pooled["prediction_high"])
            rows.append(
                [
                    about.title if method == found.methods[0] else "",
                    method,
                    interval_text(*pooled[ENDS]),
                    interval_text(float("nan"), *ends),
                    number(float(pooled["tau2"]), 2),
                    percent(float(pooled["i2"])),
                ]
            )
    headings = ["Statistic", "Model", "Mean (95 % CI)", "Next site (95 %)", "τ²", "I²"]
    return table(
        headings,
        rows,
        f"Means over left-out sites, and heterogeneity{_threshold(found)}",
        numeric=range(2, 6),
    )


def _threshold(found: Assessed | Validation) -> str:
    if found.event is None:
        return ""
    return f"; net benefit at a threshold of {percent(found.threshold)}"


def _site_table(sites: pd.DataFrame, method: str, task: str) -> Markup:
    names = statistics_of(task)
    own = sites[sites["method"] == method]
    by_site = {name: own[own["statistic"] == name].set_index("target") for name in names}
    first = by_site[names[0]]
    events = first["events"].notna().all()
    rows = [
        [
            str(target),
            str(int(first.loc[target, "rows"])),
            *([str(int(first.loc[target, "events"]))] if events else []),
            *(interval_text(*by_site[name].loc[target, ENDS]) for name in names),
        ]
        for target in first.index
    ]
    headings = ["Site", "Rows", *(["Events"] if events else [])]
    headings += [STATISTICS[name].short for name in names]
    caption = "Statistics with 95 % confidence intervals"
    return table(headings, rows, caption, numeric=range(1, len(headings)))


def _curves(
    calibration: pd.DataFrame | None, decision: pd.DataFrame | None, facts: Facts, whose: str
) -> Markup | None:
    pictures = []
    if calibration is not None:
        axes = (f"predicted probability of {facts.event}", "observed share")
        if not facts.is_binary:
            axes = (f"predicted {facts.label.name}", f"observed {facts.label.name}")
        caption = f"Smooth calibration curve, {whose}, with its 95\u202f% confidence band."
        pictures.append(figure(calibration_picture(calibration, axes, facts.is_binary), caption))
    if decision is not None:
        pictures.append(figure(decision_picture(decision), _benefit(decision, whose)))
    return tag("div", pictures, class_="figures") if pictures else None


def _benefit(decision: pd.DataFrame, whose: str) -> str:
    found = useful_thresholds(decision.assign(treat_none=0.0))
    said = (
        "over no range of thresholds better than treating all or none"
        if found is None
        else f"better than treating all or none at thresholds from {percent(found[0])} to "
        f"{percent(found[1])}"
    )
    return (
        f"Decision curve, {whose}: {said}. Red: treat all; grey: treat none; the band is a "
        "95\u202f% confidence interval."
    )


def _expected(facts: Facts) -> Markup | None:
    """Predicted prevalence, or mean, of the new sites with an interval from left-out ones."""
    if facts.new is None or facts.validated is None:
        return None
    rows = expected_rows(facts)
    if not rows:
        return None
    what = f"Share of {facts.event}" if facts.is_binary else f"Mean of {facts.label.name}"
    return markup(
        [
            tag("h3", "What to expect at the new site"),
            paragraph(
                "The interval is how far left-out sites lay from what was predicted for them on "
                "average (calibration in the large), carried over to this site."
            ),
            table(
                ["Site", "Rows", "Predicted", "95 % prediction interval"],
                rows,
                f"{what}: prediction for the whole site",
                numeric=(1, 2, 3),
            ),
        ]
    )


def expected_rows(facts: Facts) -> list[list[str]]:
    """Site, rows, prediction and interval of every new site; none without an interval."""
    new, found = facts.new, facts.validated
    if new is None or found is None:
        return []
    pooled: Any = found.summary.loc[(found.methods[0], "calibration_in_the_large")]
    ends = [float(pooled["prediction_low"]), float(pooled["prediction_high"])]
    if not np.isfinite(ends).all():
        return []
    show = percent if facts.is_binary else number
    rows = []
    for k, domain in enumerate(new.domains):
        p = new.mean[new.codes == k]
        low, high = (float(_moved(p, end, facts.is_binary).mean()) for end in ends)
        rows.append(
            [str(domain), str(len(p)), show(float(p.mean())), f"{show(low)} to {show(high)}"]
        )
    return rows


def _moved(p: np.ndarray, by: float, binary: bool) -> np.ndarray:
    return 1 / (1 + np.exp(-(logit(p) + by))) if binary else p + by


def _new(facts: Facts) -> Markup | None:
    found = None if facts.new is None else facts.new.validation
    if found is None:
        return None
    parts = [
        tag("h3", "At the new site, whose outcomes are known"),
        _verdict(found),
        _new_table(found),
    ]
    for target in found.targets:
        parts.append(_curves(*_curves_of(found, target), facts, str(target)))
    return markup(parts)


def _new_table(found: Validation) -> Markup:
    """Statistics in rows, new sites in columns."""
    tables: dict[str, Any] = {name: found.of(MODEL, name) for name in found.statistics}
    first = next(iter(tables.values()))
    counts = [["Rows", *(str(first.loc[t, "rows"]) for t in found.targets)]]
    if found.event is not None:
        counts.append(["Events", *(str(first.loc[t, "events"]) for t in found.targets)])
    rows = [
        [
            STATISTICS[name].title,
            *(interval_text(*values.loc[t, ENDS]) for t in found.targets),
            STATISTICS[name].aim,
        ]
        for name, values in tables.items()
    ]
    return table(
        ["Statistic", *map(str, found.targets), "Aim"],
        [*([*row, ""] for row in counts), *rows],
        f"Statistics with 95 % confidence intervals{_threshold(found)}",
        numeric=range(1, len(found.targets) + 1),
    )


def _curves_of(found: Validation, target: Any) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Curves where outcomes and predictions allow them."""
    y, p = found.rows_of(target, MODEL)
    if (
        np.ptp(y) == 0
        or np.ptp(p) == 0
        or (found.task == BINARY and min(y.sum(), (1 - y).sum()) < 2)
    ):
        return None, None
    decision = found.decision_curve(target, MODEL) if found.task == BINARY else None
    return found.calibration_curve(target, MODEL), decision


def _verdict(found: Validation) -> Markup | None:
    """Against the sources' share, or mean, for everyone."""
    if len(found.methods) < 2:
        return None
    name = "log_loss" if found.task == BINARY else "r2"
    rows = found.differences(found.methods[0])
    rows = rows[(rows["statistic"] == name) & (rows["method"] == MODEL)]
    row: Any = rows.iloc[-1 if len(found.targets) > 1 else 0]
    look = {True: "good", False: "warning"}.get(row["better"], "caution")
    verdict = {True: "better", False: "worse"}.get(row["better"], "not clearly better or worse")
    share = "share of events" if found.task == BINARY else "mean"
    text = interval_text(float(row["difference"]), float(row["low"]), float(row["high"]), 3)
    return paragraph(
        f"The model is {verdict} than giving everyone the sources' {share}: difference in "
        f"{STATISTICS[name].title} {text}.",
        class_=look,
    )
