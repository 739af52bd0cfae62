"""What `dapdag evaluate` shows and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._validation import (
    explain_sites,
    heterogeneity_line,
    show_comparison,
    show_sites,
    validation_json,
)

if TYPE_CHECKING:
    from dapdag.evaluate import Evaluation, Validation


def show_scores(found: Evaluation, metric: str | None, in_full: bool) -> None:
    from dapdag._runtime.text import fixed
    from dapdag.evaluate import METRICS, primary_metric

    from ._show import print_lines, print_table

    name = metric or primary_metric(found.task)
    table = found.by_target(name)
    rows = [[str(site), *(fixed(v, 3) for v in row)] for site, row in table.iterrows()]
    sizes = found.sizes_by_target(name)
    rows.append([_mean_of(name), *(fixed(v, 3) for v in sizes.mean())])
    goal, title = METRICS[name].goal, METRICS[name].title
    aim = f"best at {goal:g}" if abs(goal) < 2 else f"{'high' if goal > 0 else 'low'} is good"
    print_table(
        ["site", *map(str, table.columns)],
        rows,
        title=f"{title[:1].upper()}{title[1:]} at each site when it is left out ({aim})",
        numbers=range(1, table.shape[1] + 1),
        most=1000,
    )
    if not in_full:
        return
    summary = found.summary().drop(columns="failed")
    print_table(
        ["method", *(f"|{c}|" if _mean_of(c) != "mean" else c for c in map(str, summary.columns))],
        [[str(m), *(fixed(v, 3) for v in row)] for m, row in summary.iterrows()],
        title="Mean over sites",
        numbers=range(1, summary.shape[1] + 1),
    )
    ranks = ", ".join(f"{method} {rank:.2g}" for method, rank in found.ranks(name).items())
    print_lines(f"Mean rank by {name}: {ranks}")


def _mean_of(metric: str) -> str:
    """What is averaged over sites: errors in both directions by their size."""
    from dapdag.evaluate import METRICS

    return "mean of sizes" if metric in METRICS and METRICS[metric].goal == 0 else "mean"


def summary_json(
    found: Evaluation, output: Path | None, validation: Validation | None, reference: str
) -> dict[str, Any]:
    import json

    return {
        "task": found.task,
        "validation": None if validation is None else validation_json(validation, reference),
        "summary": json.loads(found.summary().reset_index().to_json(orient="records")),
        "scores": json.loads(found.scores.to_json(orient="records")),
        "output": None if output is None else str(output),
    }


def _own(methods: tuple[str, ...], reference: str) -> str:
    """The method whose sites are shown: ours, else the last that is not the reference."""
    ours = [m for m in methods if m.startswith("dapdag")]
    return (ours or [m for m in methods if m != reference] or [reference])[-1]


def draw_forest(validation: Validation, path: Path, reference: str) -> None:
    from matplotlib import pyplot as plt

    from dapdag._runtime.files import atomic_write
    from dapdag.plotting import plot_forest, style

    ax = plot_forest(validation, method=_own(validation.methods, reference))
    title = f"{ax.get_title('left')}, each left out in turn"
    ax.set_title(title, loc="left", fontsize="medium", color=style.INK)
    figure: Any = ax.figure
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)
    plt.close(figure)


def show_validation(
    validation: Validation | None, why: str, reference: str, replicates: int = 1
) -> None:
    from ._show import print_lines

    if validation is None:
        print_lines(f"No confidence intervals: {why}")
        return
    method = _own(validation.methods, reference)
    show_sites(validation, method, f"{method} at each site when it is left out")
    if len(validation.methods) > 1:
        show_comparison(validation, reference)
    print_lines(*explain_sites(validation, method))
    if replicates > 1:
        print_lines(f"These statistics are of the first of {replicates} replicates.")
    if len(validation.targets) > 1:
        print_lines(heterogeneity_line(validation, method))


def explain_methods(found: Evaluation) -> None:
    """Names of methods in words."""
    from dapdag.baselines import registry

    from ._show import print_lines

    words = {
        "prevalence": "the sources' share for everyone",
        "mean": "the sources' mean for everyone",
        "linear": "logistic regression" if found.task == "classification" else "linear regression",
        "dapdag-b": "this package's model with a posterior of E, as `dapdag fit` trains it",
        "dapdag": "this package's model with a point estimate of E",
        "dapdag-b-paper": "the paper's own system, with a posterior of E",
        "dapdag-paper": "the paper's own system, with a point estimate of E",
    }
    shown = [f"{m}: {words.get(m) or registry.METHODS[m].title}" for m in found.methods]
    print_lines("Methods. " + "; ".join(shown) + ".")
