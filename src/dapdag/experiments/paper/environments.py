"""Learned against true differences of E as the number of sources grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...plotting.style import BLUE, VERMILLION
from .. import methods
from ..cases import OURS, Case, first_sources, fit_all, same_setting, simulated
from ..figures import means_over, new_figure, shared_legend, tidy
from ..runs import QUICK, TINY, Outcome, Parameters, Row, Run
from ..statements import Statement, mean_effect, per_seed
from ..tables import method_table

TASK = "regression"
PAIRS_SHOWN = 15


@dataclass(frozen=True)
class EnvironmentParameters(Parameters):
    n_sources: tuple[int, ...] = (3, 5, 7, 9)
    n_rows: int = 500


def runs(
    parameters: EnvironmentParameters, seeds: Sequence[int], names: Sequence[str]
) -> list[Run]:
    return [
        Run.of(method, seed, n_sources=m)
        for m in parameters.n_sources
        for method in methods.usable(names, TASK)
        for seed in seeds
    ]


def compute(parameters: EnvironmentParameters, runs: Sequence[Run]) -> list[Outcome]:
    cases = [
        first_sources(simulated(TASK, parameters.n_rows, r.seed), r["n_sources"]) for r in runs
    ]
    fitted, seconds = fit_all(runs[0].method, cases, parameters.budget, [r.seed for r in runs])
    return [
        Outcome(run, tuple(_rows(model, case)), taken)
        for run, model, case, taken in zip(runs, fitted, cases, seconds, strict=True)
    ]


def _rows(model: object, case: Case) -> list[Row]:
    """Differences of all pairs of domains, and how well they agree."""
    data = case.data
    found = model.environment(data.X, sample_domain=data.sample_domain)  # type: ignore[attr-defined]
    learned = found.filter(like="_mean").to_numpy()
    pairs = list(combinations(range(len(data.domains)), 2))
    true = np.array([abs(data.env[data.domains[i]] - data.env[data.domains[j]]) for i, j in pairs])
    own = np.array([np.linalg.norm(learned[i] - learned[j]) for i, j in pairs])
    known = np.array([{data.domains[i], data.domains[j]} <= set(case.sources) for i, j in pairs])
    # E is known up to its unit: the sources give it.
    unit = float(own[known] @ true[known] / max(own[known] @ own[known], 1e-12))
    rows: list[Row] = [
        {"metric": "difference", "value": v, "pair": k, "env_difference": t, "sources": bool(s)}
        for k, (v, t, s) in enumerate(zip((unit * own).tolist(), true.tolist(), known, strict=True))
    ]
    error = np.sqrt(np.mean((unit * own - true) ** 2)) / true.std()
    correlation = np.corrcoef(own, true)[0, 1] if own.std() > 0 else 0.0
    return [
        *rows,
        {"metric": "correlation", "value": float(correlation)},
        {"metric": "relative error", "value": float(error)},
    ]


def table(rows: pd.DataFrame, parameters: EnvironmentParameters) -> str:
    parts = [
        "## Correlation of learned and true differences of E, all pairs of the ten domains",
        method_table(rows, "correlation", "n_sources", "M = "),
        "## Error of the learned differences, in standard deviations of the true ones",
        method_table(rows, "relative error", "n_sources", "M = ", low=True),
        "Mean (standard error) over seeds. The unit of the learned E is fitted on the sources; the "
        "other domains were never seen in training.",
    ]
    return "\n\n".join(parts)


def figure(rows: pd.DataFrame, parameters: EnvironmentParameters) -> Figure:
    """Fifteen pairs of the first seed in the paper's form, and the correlation over all seeds."""
    first = rows["method"].iloc[0]
    shown = rows[
        (rows["seed"] == rows["seed"].min())
        & (rows["method"] == first)
        & (rows["metric"] == "difference")
    ]
    sizes = list(dict.fromkeys(shown["n_sources"]))
    picture, axes = new_figure(1, len(sizes) + 1, 3.3, 3.0)
    rng = np.random.default_rng(0)
    n_pairs = shown["pair"].nunique()
    chosen = rng.choice(n_pairs, size=min(PAIRS_SHOWN, n_pairs), replace=False)
    for ax, m in zip(axes[0], sizes, strict=False):
        part = shown[(shown["n_sources"] == m) & shown["pair"].isin(chosen)].sort_values(
            "env_difference"
        )
        place = np.arange(len(part))
        # A pair has no place between its neighbours: points, and no lines through them.
        ax.plot(place, part["env_difference"], "o", color=BLUE, markersize=4, label="true")
        ax.plot(
            place,
            part["value"],
            "^",
            color=VERMILLION,
            markersize=4,
            label=f"learned ({methods.title(first)})",
        )
        tidy(
            ax,
            f"M = {m} sources, r = {_agreement(rows, first, m):.2f}",
            f"{len(part)} pairs of domains, by true difference",
            "|difference of E|",
        )
    last = axes[0, -1]
    means_over(last, rows, "correlation", "n_sources")
    tidy(last, "All seeds", "number of sources M", "correlation with the truth (1 is best)")
    shared_legend(picture, axes)
    return picture


def _agreement(rows: pd.DataFrame, method: str, n_sources: int) -> float:
    """Correlation over all pairs of the first seed."""
    part = rows[(rows["seed"] == rows["seed"].min()) & (rows["n_sources"] == n_sources)]
    return float(per_seed(part, "correlation", method).iloc[0])


def statements(rows: pd.DataFrame, parameters: EnvironmentParameters) -> list[Statement]:
    few, many = rows["n_sources"].min(), rows["n_sources"].max()
    found = []
    for method in dict.fromkeys(rows["method"]):
        values = per_seed(rows, "correlation", method, by=["n_sources"])
        claim = (
            f"{methods.title(method)}: learned differences of E follow the true ones (M = {many})"
        )
        found.append(mean_effect(claim, values[many], "correlation"))
        if few != many:
            claim = f"{methods.title(method)}: more so with {many} sources than with {few}"
            found.append(mean_effect(claim, (values[many] - values[few]).dropna(), "correlation"))
    return found


TITLE = "Learned against true differences of E"
PRESETS = {
    "quick": EnvironmentParameters(
        methods=("dapdag-b", "dapdag-b-paper", "brm"), n_seeds=6, budget=QUICK
    ),
    "paper": EnvironmentParameters(methods=(*OURS, "brm"), n_seeds=30),
    "tiny": EnvironmentParameters(
        methods=("dapdag-b",),
        n_seeds=2,
        n_sources=(3,),
        n_rows=60,
        budget=TINY,
    ),
}
together = same_setting
