"""Prediction in a target domain: the data of a run, fitting, and the paper's scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..datasets import DomainData, make_classification_domains, make_regression_domains
from ..evaluate.metrics import class_scores, number_scores
from ..evaluate.prediction import ClassPrediction, NumberPrediction
from . import methods
from .lanes import can_share, fit_lanes
from .runs import Budget, Outcome, Row, Run

TARGET_CODE = -1
N_DOMAINS = 10
# Our method in both forms, structure first and the paper's.
OURS = ("dapdag-b", "dapdag", "dapdag-b-paper", "dapdag-paper")
NETWORKS = (*OURS, "castle", "brm", "mdan", "mlp")
SCORES = {"regression": ("r2", "rmse"), "classification": ("log_loss", "auc", "apr")}
# Those in tables and figures, the most important first.
METRICS = {"regression": ("r2",), "classification": ("log_loss", "auc", "apr")}
MAKE = {"regression": make_regression_domains, "classification": make_classification_domains}


@dataclass(frozen=True, eq=False)
class Case:
    """Sources and the target whose labels are kept for the scores."""

    data: DomainData
    sources: tuple[Hashable, ...]
    target: Hashable

    @property
    def task(self) -> str:
        return self.data.task

    def rows_of(self, domains: Sequence[Hashable]) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.data.sample_domain, np.asarray(domains)))

    def training_set(self, with_target: bool) -> tuple[pd.DataFrame, pd.Series, NDArray]:
        """Labelled sources, numbered from 0; the target's rows follow as -1, without labels."""
        rows = self.rows_of(self.sources)
        X, y = self.data.X.iloc[rows], self.data.y.iloc[rows]
        number = {domain: k for k, domain in enumerate(self.sources)}
        codes = np.array([number[d] for d in self.data.sample_domain[rows].tolist()])
        if not with_target:
            return X, y, codes
        hidden = self.target_rows[1].copy()
        hidden[:] = np.nan if self.task == "regression" else TARGET_CODE
        return (
            pd.concat([X, self.target_rows[0]], ignore_index=True),
            pd.concat([y, hidden], ignore_index=True),
            np.append(codes, np.full(len(hidden), TARGET_CODE)),
        )

    @property
    def target_rows(self) -> tuple[pd.DataFrame, pd.Series]:
        rows = self.rows_of([self.target])
        return self.data.X.iloc[rows], self.data.y.iloc[rows]

    @property
    def positive(self) -> Any:
        """The second class."""
        return np.unique(self.data.y)[-1]

    @property
    def env_distance(self) -> float:
        """Mean absolute difference of the target's true E and the sources'."""
        own = self.data.env[self.target]
        return float(np.mean([abs(own - self.data.env[d]) for d in self.sources]))

    @property
    def outside(self) -> bool:
        """Whether the target's true E lies beyond those of the sources."""
        known = [self.data.env[d] for d in self.sources]
        return not min(known) <= self.data.env[self.target] <= max(known)


def simulated(task: str, n_rows: int, seed: int) -> DomainData:
    """The ten domains of a seed."""
    return MAKE[task](n_domains=N_DOMAINS, n_samples=n_rows, random_state=seed)


def same_setting(run: Run) -> Hashable:
    """Equal for runs that differ by their seed alone: they are computed as lanes of one program."""
    return run.setting, run.method


def first_sources(data: DomainData, n_sources: int) -> Case:
    """The last domain as the target, the first ones as sources."""
    *others, target = data.domains
    return Case(data, tuple(others[:n_sources]), target)


def fit_all(
    method: str, cases: Sequence[Case], budget: Budget, seeds: Sequence[int], **changes: Any
):
    """A fitted estimator per case, and the seconds that each took; as lanes where possible."""
    wants = methods.needs_target(method)
    sets = [case.training_set(wants) for case in cases]
    estimator = methods.make(method, cases[0].task, budget, seeds[0], **changes)
    if can_share(estimator):
        start = time.perf_counter()
        fitted = fit_lanes(estimator, sets)
        return fitted, [(time.perf_counter() - start) / len(cases)] * len(cases)
    fitted, seconds = [], []
    for (X, y, sample_domain), seed in zip(sets, seeds, strict=True):
        start = time.perf_counter()
        one = methods.make(method, cases[0].task, budget, seed, **changes)
        fitted.append(one.fit(X, y, sample_domain=sample_domain))
        seconds.append(time.perf_counter() - start)
    return fitted, seconds


def predictions(estimator: Any, case: Case) -> NDArray[np.float64]:
    """The target's expected labels; for two classes the probability of the second."""
    X, _ = case.target_rows
    if case.task == "regression":
        return np.asarray(estimator.predict(X), dtype=float)
    return np.asarray(estimator.predict_proba(X), dtype=float)[:, 1]


def scores(case: Case, predicted: NDArray[np.float64]) -> list[Row]:
    """R² and RMSE, or log-loss, AUC and APR; NaN where the target has one class only."""
    y = case.target_rows[1].to_numpy()
    if case.task == "regression":
        found = number_scores(y, NumberPrediction(predicted))
    else:
        both = np.column_stack([1 - predicted, predicted])
        found = class_scores(y == case.positive, ClassPrediction(both, np.array([False, True])))
    return [{"metric": name, "value": found[name].value} for name in SCORES[case.task]]


def score_runs(
    runs: Sequence[Run],
    case_of: Callable[[Run], Case],
    budget: Budget,
    details: Callable[[Case], Row] = lambda case: {},
    **changes: Any,
) -> list[Outcome]:
    """Outcomes of runs of one method whose cases have one shape.

    `changes` are parameters for the methods that have them.
    """
    cases = [case_of(run) for run in runs]
    method = runs[0].method
    if method == methods.ORACLE:
        found = [c.data.oracle(c.target_rows[0], c.data.env[c.target]) for c in cases]
        seconds = [0.0] * len(cases)
    else:
        fitted, seconds = fit_all(method, cases, budget, [run.seed for run in runs], **changes)
        found = [predictions(*pair) for pair in zip(fitted, cases, strict=True)]
    return [
        Outcome(
            run,
            tuple({**row, **details(case)} for row in scores(case, p)),
            time_taken,
        )
        for run, case, p, time_taken in zip(runs, cases, found, seconds, strict=True)
    ]
