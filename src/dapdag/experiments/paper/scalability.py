"""Score and training time against the number of variables (the paper's scalability figure).

Runs follow one another, one data set at a time, so that times can be compared. Compiling is timed
apart: a first fit of one epoch compiles what the second one then uses.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ...datasets import make_random_sem_domains
from .. import methods
from ..cases import N_DOMAINS, first_sources, predictions, scores
from ..figures import means_over, new_figure, shared_legend, tidy
from ..runs import QUICK, TINY, Outcome, Parameters, Run
from ..statements import Statement, better, mean_effect, per_seed
from ..tables import method_table

TASK = "regression"


@dataclass(frozen=True)
class ScalabilityParameters(Parameters):
    n_variables: tuple[int, ...] = (5, 10, 20, 40, 80)
    n_sources: int = 9
    n_rows: int = 500


def runs(
    parameters: ScalabilityParameters, seeds: Sequence[int], names: Sequence[str]
) -> list[Run]:
    return [
        Run.of(method, seed, n_variables=d)
        for d in parameters.n_variables
        for method in methods.usable(names, TASK)
        for seed in seeds
    ]


def compute(parameters: ScalabilityParameters, runs: Sequence[Run]) -> list[Outcome]:
    return [_one(parameters, run) for run in runs]


def _one(parameters: ScalabilityParameters, run: Run) -> Outcome:
    data = make_random_sem_domains(
        n_variables=run["n_variables"],
        n_domains=N_DOMAINS,
        n_samples=parameters.n_rows,
        random_state=run.seed,
    )
    case = first_sources(data, parameters.n_sources)
    X, y, sample_domain = case.training_set(methods.needs_target(run.method))
    estimator = methods.make(run.method, TASK, parameters.budget, run.seed)
    first = 0.0
    if "max_epochs" in estimator.get_params(deep=False):
        once = replace(parameters.budget, max_epochs=1)
        warm_up = methods.make(run.method, TASK, once, run.seed)
        first = _seconds(lambda: warm_up.fit(X, y, sample_domain=sample_domain))
    seconds = _seconds(lambda: estimator.fit(X, y, sample_domain=sample_domain))
    rows = (
        *scores(case, predictions(estimator, case)),
        {"metric": "seconds", "value": seconds},
        {"metric": "compiling", "value": first},
    )
    return Outcome(run, rows, seconds)


def _seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def table(rows: pd.DataFrame, parameters: ScalabilityParameters) -> str:
    return "\n\n".join(
        [
            "## Score at the target",
            method_table(rows, "r2", "n_variables", "d = "),
            "## Seconds of training",
            method_table(rows, "seconds", "n_variables", "d = "),
            "## Seconds of the first fit of one epoch, mostly compiling",
            method_table(rows, "compiling", "n_variables", "d = ", low=True),
            "Mean (standard error) over seeds. Training times are without compiling.",
        ]
    )


def figure(rows: pd.DataFrame, parameters: ScalabilityParameters) -> Figure:
    picture, axes = new_figure(1, 2, 4.4, 3.6)
    means_over(axes[0, 0], rows, "r2", "n_variables")
    tidy(axes[0, 0], "Performance", "number of variables d", "R² at the target (higher is better)")
    means_over(axes[0, 1], rows, "seconds", "n_variables")
    _plain_log_scale(axes[0, 1])
    tidy(
        axes[0, 1], "Training time", "number of variables d", "seconds (log scale; fewer is better)"
    )
    shared_legend(picture, axes)
    return picture


def _plain_log_scale(ax: Axes) -> None:
    """1, 2, 5, 10, … in place of powers of ten."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def growth(rows: pd.DataFrame, method: str) -> pd.Series:
    """Per seed: by what factor the training time grows from the fewest variables to the most."""
    values = per_seed(rows, "seconds", method, by=["n_variables"])
    sizes = values.index.get_level_values(0)
    return values[sizes.max()] / values[sizes.min()]


def statements(rows: pd.DataFrame, parameters: ScalabilityParameters) -> list[Statement]:
    present = set(rows["method"])
    few, many = rows["n_variables"].min(), rows["n_variables"].max()
    found = []
    for rival in [m for m in ("dainfer", "mdan") if {m, "dapdag-b"} <= present]:
        name = methods.title(rival)
        found.append(better(f"DAPDAG-B predicts better than {name}", rows, "r2", "dapdag-b", rival))
        if few == many:
            continue
        logs = np.log(growth(rows, rival)) - np.log(growth(rows, "dapdag-b"))
        claim = f"its training time grows slower than {name}'s, d = {few} to {many}"
        found.append(mean_effect(claim, logs, "log ratio of growth factors"))
        biggest = rows[rows["n_variables"] == many]
        claim = f"it trains faster than {name} at d = {many}"
        found.append(better(claim, biggest, "seconds", "dapdag-b", rival))
    return found


TITLE = "Performance and scalability"
PRESETS = {
    "quick": ScalabilityParameters(
        methods=("dapdag-b", "dapdag-b-paper", "dainfer", "mdan"),
        n_seeds=2,
        n_variables=(5, 10, 30),
        budget=QUICK,
    ),
    "paper": ScalabilityParameters(
        methods=("dapdag-b", "dapdag-b-paper", "dainfer", "mdan"), n_seeds=10
    ),
    "tiny": ScalabilityParameters(
        methods=("dapdag-b",),
        n_seeds=2,
        n_variables=(8,),
        n_sources=3,
        n_rows=60,
        budget=TINY,
    ),
}
TIMED = True
