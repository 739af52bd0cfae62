"""Choosing among candidates by sites that are left out: no label of a target is used."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dapdag.evaluate.metrics import METRICS, primary_metric
from dapdag.evaluate.protocol import leave_one_domain_out
from dapdag.evaluate.tables import as_domain_data


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """What was found of each candidate, and which one was chosen.

    Attributes
    ----------
    table : DataFrame
        One row per candidate in the order given: mean over left-out sites, standard_error of that
        mean, seconds, failed (how many sites it failed on), and whether it is best and chosen.
    scores : DataFrame
        Scores of the metric, sites in rows and candidates in columns.
    metric : str
        Name of the metric.
    best : str
        Name of the candidate with the best mean.
    chosen : str
        Name of the chosen candidate.
    limit : float
        The mean that a candidate must reach to be within one standard error of the best.
    skipped : tuple of str
        Candidates for which there was no time.
    estimator : estimator
        An unfitted copy of the chosen candidate.
    """

    table: pd.DataFrame
    scores: pd.DataFrame
    metric: str
    best: str
    chosen: str
    limit: float
    skipped: tuple[str, ...]
    estimator: Any

    def __repr__(self) -> str:
        return (
            f"Selection(chosen {self.chosen!r} of {len(self.table)}, best mean {self.metric} "
            f"{self.best!r}, {len(self.scores)} sites)"
        )


def select(
    candidates: Mapping[str, Any],
    X: Any,
    y: Any = None,
    sample_domain: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    metric: str | None = None,
    time_budget: float | None = None,
    n_jobs: int | None = 1,
    progress: bool | None = None,
) -> Selection:
    """Choose the first candidate within one standard error of the best, over left-out sites.

    The rule of Breiman et al. (1984): among candidates that cannot be told apart, the simplest.

    Parameters
    ----------
    candidates : mapping from str to estimator
        Unfitted estimators by name, **from the simplest to the most complex**.
    X : DataFrame, array or DomainData
        Features; or a `dapdag.datasets.DomainData` alone, which holds label and domain as well.
    y : sequence, one per row, optional
        Label of every row.
    sample_domain : sequence of labels, one per row, optional
        Domain of every row.
    sample_weight : sequence of float, one per row, optional
        As in `leave_one_domain_out`.
    groups : sequence of labels, one per row, optional
        As in `leave_one_domain_out`.
    metric : str, optional
        What to compare, of `dapdag.evaluate.METRICS`; log-loss for classes and R² for numbers by
        default.
    time_budget : float, optional
        Seconds after which no further candidate is begun; the first is always tried.
    n_jobs : int, default=1
        Runs at a time, through joblib.
    progress : bool, optional
        True shows a bar on a terminal.

    Returns
    -------
    Selection
        Scores, and an unfitted copy of the chosen candidate.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from dapdag.datasets import make_regression_domains
    >>> from dapdag.evaluate import select
    >>> data = make_regression_domains(n_domains=5, n_samples=60, random_state=0)
    >>> found = select({"strong": Ridge(100.0), "weak": Ridge(0.1)}, data)
    >>> sorted(found.table.index)
    ['strong', 'weak']
    """
    data = as_domain_data(X, y, sample_domain, candidates, sample_weight, groups)
    name = primary_metric(data.task) if metric is None else metric
    if not isinstance(candidates, Mapping) or not candidates:
        raise ValueError("candidates must be a dict of at least one estimator by name.")
    if name in METRICS and np.isfinite(METRICS[name].goal):
        raise ValueError(f"metric {name!r}: choose one that is to be as high or as low as can be")
    rows: list[dict[str, Any]] = []
    scores: dict[str, Any] = {}
    skipped: list[str] = []
    started = time.perf_counter()
    for k, (candidate, estimator) in enumerate(candidates.items(), start=1):
        spent = time.perf_counter() - started
        # A candidate takes about as long as the longest one so far.
        longest = max((row["seconds"] for row in rows), default=0.0)
        if rows and time_budget is not None and spent + longest > time_budget:
            skipped.append(candidate)
            continue
        begun = time.perf_counter()
        found = leave_one_domain_out(
            {candidate: estimator},
            replace(data, name=f"{data.name}, {candidate} ({k} of {len(candidates)})"),
            metrics=[name],
            distances=False,
            n_jobs=n_jobs,
            progress=progress,
        )
        scores[candidate] = found.by_target(name).reindex(data.domains).get(candidate)
        failed = int(found.summary()["failed"].iloc[0])
        seconds = time.perf_counter() - begun
        rows.append({"candidate": candidate, "seconds": seconds, "failed": failed})
    table = pd.DataFrame(rows).set_index("candidate")
    return _chosen(table, pd.DataFrame(scores), name, candidates, tuple(skipped))


def _chosen(
    table: pd.DataFrame,
    scores: pd.DataFrame,
    metric: str,
    candidates: Mapping[str, Any],
    skipped: tuple[str, ...],
) -> Selection:
    merit = METRICS[metric].merit(scores)
    failed = table["failed"].to_dict()
    complete = [str(c) for c in scores if not failed[c] and scores[c].notna().any()]
    if not complete:
        raise ValueError(f"no candidate could be fitted and scored: {', '.join(map(str, scores))}")
    means, errors = merit.mean(), merit.sem(ddof=1)
    position = first_within_one_error(
        means[complete].to_numpy(dtype=np.float64), errors[complete].to_numpy(dtype=np.float64)
    )
    best, chosen = str(means[complete].idxmax()), complete[position]
    error = float(errors[best]) if np.isfinite(errors[best]) else 0.0
    sign = -1.0 if METRICS[metric].goal == -np.inf else 1.0
    table = table.assign(mean=scores.mean(), standard_error=scores.sem(ddof=1))
    table = table[["mean", "standard_error", "seconds", "failed"]]
    table = table.assign(best=table.index == best, chosen=table.index == chosen)
    return Selection(
        table=table,
        scores=scores,
        metric=metric,
        best=best,
        chosen=chosen,
        limit=sign * (float(means[best]) - error),
        skipped=skipped,
        estimator=clone(candidates[chosen]),
    )


def first_within_one_error(means: np.ndarray, errors: np.ndarray) -> int:
    """Position of the first mean that is at most one standard error of the best below it."""
    best = int(np.nanargmax(means))
    error = errors[best] if np.isfinite(errors[best]) else 0.0
    return int(np.flatnonzero(means >= means[best] - error)[0])


def one_standard_error(cv_results: Mapping[str, Any]) -> int:
    """The first candidate within one standard error of the best, for ``GridSearchCV(refit=…)``.

    List the values of the grid from the simplest model to the most complex. The standard error is
    that of the mean over folds, which are sites with ``cv=LeaveOneGroupOut()``.

    Parameters
    ----------
    cv_results : mapping
        ``cv_results_`` of the search.

    Returns
    -------
    int
        Position of the chosen parameters.
    """
    folds = [k for k in cv_results if k.startswith("split") and k.endswith("_test_score")]
    means = np.asarray(cv_results["mean_test_score"], dtype=np.float64)
    spread = np.column_stack([np.asarray(cv_results[k], dtype=np.float64) for k in folds])
    if not np.isfinite(means).any():
        raise ValueError("no candidate could be fitted and scored")
    errors = spread.std(axis=1, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0 * means
    return first_within_one_error(means, errors)
