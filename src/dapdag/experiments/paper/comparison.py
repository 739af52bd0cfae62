"""Performance against the benchmarks on the synthetic data (the paper's first comparison).

Ten domains a seed; the last one is the target and the first M of the others are the sources, so
that more sources are added to the same ones and every method sees the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from ...baselines.registry import METHODS
from ...evaluate.metrics import metric_title
from .. import methods
from ..cases import (
    METRICS,
    NETWORKS,
    OURS,
    Case,
    first_sources,
    same_setting,
    score_runs,
    simulated,
)
from ..figures import axis_title, means_over, new_figure, shared_legend, tidy
from ..runs import QUICK, TINY, Outcome, Parameters, Run
from ..statements import Statement, better, mean_effect, per_seed
from ..tables import method_table

# The figure is the paper's; what a user would take instead stands in the table.
IN_FIGURE = (*NETWORKS, "mdan-hard", "missforest")
PRACTICE = ("boosting", "lightgbm", "forest", "linear")
PEERS = tuple(name for name, method in METHODS.items() if method.kind in ("peers", "site-aware"))
ADAPTATION = tuple(name for name in METHODS if name.startswith("skada"))


@dataclass(frozen=True)
class ComparisonParameters(Parameters):
    tasks: tuple[str, ...] = ("regression", "classification")
    n_sources: tuple[int, ...] = (3, 5, 7, 9)
    n_rows: int = 500


def runs(parameters: ComparisonParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    return [
        Run.of(method, seed, task=task, n_sources=m)
        for task in parameters.tasks
        for m in parameters.n_sources
        for method in methods.usable(names, task)
        for seed in seeds
    ]


def compute(parameters: ComparisonParameters, runs: Sequence[Run]) -> list[Outcome]:
    def case_of(run: Run) -> Case:
        return first_sources(simulated(run["task"], parameters.n_rows, run.seed), run["n_sources"])

    return score_runs(
        runs,
        case_of,
        parameters.budget,
        details=lambda case: {"env_distance": case.env_distance, "outside": case.outside},
    )


def table(rows: pd.DataFrame, parameters: ComparisonParameters) -> str:
    parts = []
    for task, part in rows.groupby("task", sort=False):
        for metric in METRICS[str(task)]:
            parts.append(f"## {str(task).capitalize()}: {metric_title(metric)}")
            parts.append(
                method_table(
                    part, metric, "n_sources", "M = ", rivals=lambda m: m != methods.ORACLE
                )
            )
    parts.append(
        "Mean (standard error) over seeds; R² of a target no lower than -1. Bars in the figure: "
        "standard errors once what all methods share on a seed is taken out."
    )
    return "\n\n".join(parts)


def figure(rows: pd.DataFrame, parameters: ComparisonParameters) -> Figure:
    panels = [(t, m) for t in dict.fromkeys(rows["task"]) for m in METRICS[t]]
    picture, axes = new_figure(1, len(panels), 3.4, 3.4)
    for ax, (task, metric) in zip(axes[0], panels, strict=True):
        part = rows[rows["task"] == task]
        shown = [m for m in dict.fromkeys(part["method"]) if m in (*IN_FIGURE, methods.ORACLE)]
        means_over(ax, part, metric, "n_sources", shown)
        tidy(ax, f"{task.capitalize()}", "number of sources M", axis_title(metric))
    shared_legend(picture, axes)
    return picture


def statements(rows: pd.DataFrame, parameters: ComparisonParameters) -> list[Statement]:
    found = []
    for task, part in rows.groupby("task", sort=False):
        metric = METRICS[str(task)][0]
        present = set(part["method"])
        if "dapdag-b" not in present:
            continue
        rivals = [m for m in dict.fromkeys(part["method"]) if m not in (*OURS, methods.ORACLE)]
        for form in [m for m in ("dapdag-b", "dapdag-b-paper") if m in present]:
            for rival in rivals:
                claim = f"{task}: {methods.title(form)} beats {methods.title(rival)}"
                found.append(better(claim, part, metric, form, rival))
        if {"castle", "mdan"} <= present:
            found.append(better(f"{task}: CASTLE beats MDAN", part, metric, "castle", "mdan"))
        found += _more_sources(str(task), part, metric)
    return found


def _more_sources(task: str, part: pd.DataFrame, metric: str) -> list[Statement]:
    few, many = part["n_sources"].min(), part["n_sources"].max()
    if few == many:
        return []
    values = per_seed(part, metric, "dapdag-b", by=["n_sources"])
    gain = (values[many] - values[few]).dropna()
    sign = -1 if metric == "log_loss" else 1
    claim = f"{task}: DAPDAG-B gains from {few} to {many} sources"
    return [mean_effect(claim, sign * gain, metric_title(metric))]


TITLE = "Comparison with benchmarks on synthetic data"
PRESETS = {
    "quick": ComparisonParameters(
        methods=(*NETWORKS, *PRACTICE, methods.ORACLE),
        n_seeds=6,
        n_sources=(3, 9),
        budget=QUICK,
    ),
    "paper": ComparisonParameters(
        methods=(*IN_FIGURE, "dainfer", *PRACTICE, *PEERS, *ADAPTATION, methods.ORACLE), n_seeds=30
    ),
    "tiny": ComparisonParameters(
        methods=("dapdag-b", "mlp", "linear", methods.ORACLE),
        n_seeds=2,
        tasks=("regression",),
        n_sources=(3,),
        n_rows=60,
        budget=TINY,
    ),
}
together = same_setting
