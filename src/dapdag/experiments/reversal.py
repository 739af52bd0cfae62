"""Loss at a target against the strength that the label's effects have there.

Anti-causal sites: causes → label → effects, whose strength differs between sources but has one
sign. At the target it goes from twice the sources' mean to minus twice: pooled models trust an
effect that has turned round. The figure shows why a graph is worth having.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..datasets import make_anticausal_domains
from . import methods
from .cases import Case, predictions, scores
from .figures import means_over, new_figure, shared_legend, tidy
from .runs import QUICK, TINY, Outcome, Parameters, Row, Run
from .statements import Statement, better
from .tables import method_table

TASKS = ("classification", "regression")
LOSS = {"classification": "log_loss", "regression": "rmse"}
TITLES = {"classification": "log-loss", "regression": "RMSE (label of variance 1)"}


@dataclass(frozen=True)
class ReversalParameters(Parameters):
    tasks: tuple[str, ...] = TASKS
    strengths: tuple[float, ...] = (2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0)
    n_sources: int = 8
    n_rows: int = 500
    effects: str = "numeric"


def runs(parameters: ReversalParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    return [
        Run.of(method, seed, task=task, strength=strength)
        for task in parameters.tasks
        for method in methods.usable(names, task)
        for seed in seeds
        for strength in parameters.strengths
    ]


def together(run: Run) -> Hashable:
    """Equal for runs that differ by the target alone: most methods are fitted once for them."""
    return run["task"], run.method, run.seed


def compute(parameters: ReversalParameters, runs: Sequence[Run]) -> list[Outcome]:
    fitted, out = None, []
    for run in runs:
        case = _case(parameters, run)
        start = time.perf_counter()
        if run.method == methods.ORACLE:
            found = case.data.oracle(case.target_rows[0], case.data.env[case.target])
        else:
            wants = methods.needs_target(run.method)
            if fitted is None or wants:
                # the sources of one seed are the same whatever the target
                X, y, sample_domain = case.training_set(wants)
                fitted = methods.make(run.method, run["task"], parameters.budget, run.seed)
                fitted.fit(X, y, sample_domain=sample_domain)
            found = predictions(fitted, case)
        rows = tuple(_bounded(row) for row in scores(case, np.asarray(found)))
        out.append(Outcome(run, rows, time.perf_counter() - start))
    return out


def _case(parameters: ReversalParameters, run: Run) -> Case:
    data = make_anticausal_domains(
        n_domains=parameters.n_sources,
        n_samples=parameters.n_rows,
        task=run["task"],
        effects=parameters.effects,  # type: ignore[arg-type]
        target_strength=run["strength"],
        random_state=run.seed,
    )
    return Case(data, tuple(data.sources), data.targets[0])


def _bounded(row: Row) -> Row:
    """A score that is not defined (one class at a tiny target) counts as 0."""
    return {**row, "value": float(np.nan_to_num(row["value"]))}


def _part(rows: pd.DataFrame, task: str) -> pd.DataFrame:
    return rows[(rows["task"] == task) & (rows["metric"] == LOSS[task])]


def table(rows: pd.DataFrame, parameters: ReversalParameters) -> str:
    parts = []
    for task in parameters.tasks:
        parts += [
            f"## {task.capitalize()}: {TITLES[task]}",
            method_table(_part(rows, task), LOSS[task], "strength", "S = ", low=True),
        ]
    note = (
        "Mean (standard error) over seeds. S is the strength of the label's effects at the target; "
        "at the sources it is 1 on average and never negative."
    )
    return "\n\n".join([*parts, note])


def figure(rows: pd.DataFrame, parameters: ReversalParameters) -> Figure:
    picture, axes = new_figure(1, len(parameters.tasks), 4.8, 3.8)
    for ax, task in zip(axes[0], parameters.tasks, strict=True):
        means_over(ax, _part(rows, task), LOSS[task], "strength")
        if 0.0 in parameters.strengths:  # strengths stand side by side, in their order
            zero = sorted(parameters.strengths).index(0.0)
            ax.axvline(zero, color="0.7", linewidth=0.8, zorder=0)
        ax.invert_xaxis()
        height = f"{TITLES[task]}; lower is better"
        tidy(ax, task.capitalize(), "strength of the effects at the target", height)
    shared_legend(picture, axes)
    return picture


def statements(rows: pd.DataFrame, parameters: ReversalParameters) -> list[Statement]:
    found = []
    turned = rows[rows["strength"] < 0]
    for task in parameters.tasks:
        part = _part(turned, task)
        for rival in sorted(set(part["method"]) - {"dapdag-b", methods.ORACLE}):
            if "dapdag-b" in set(part["method"]):
                claim = f"{task}, S < 0: DAPDAG-B predicts better than {methods.title(rival)}"
                found.append(better(claim, part, LOSS[task], "dapdag-b", rival))
    return found


TITLE = "A feature whose relation to the label turns round"
_ALL = (
    *("dapdag-b", "dapdag", "dapdag-b-paper", "brm", "mlp", "castle", "linear", "boosting"),
    *("mdan", "dainfer", "missforest", methods.ORACLE),
)
PRESETS = {
    "quick": ReversalParameters(
        methods=("dapdag-b", "dapdag-b-paper", "brm", "mlp", "linear", "boosting", methods.ORACLE),
        n_seeds=3,
        strengths=(2.0, 1.0, 0.0, -1.0, -2.0),
        budget=QUICK,
    ),
    "paper": ReversalParameters(methods=_ALL, n_seeds=10),
    "tiny": ReversalParameters(
        methods=("dapdag-b", methods.ORACLE),
        n_seeds=2,
        strengths=(1.0, -1.0),
        n_sources=3,
        n_rows=60,
        budget=TINY,
    ),
}
