"""Leave one domain out: every domain is the unlabelled target once."""

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.parallel import Parallel, delayed

from dapdag._runtime.progress import progress as progress_bar
from dapdag._runtime.text import level
from dapdag._runtime.warning import MethodWarning
from dapdag.datasets.domain_data import DomainData
from dapdag.evaluate.distances import describe_targets
from dapdag.evaluate.evaluation import Evaluation
from dapdag.evaluate.log import RunLog
from dapdag.evaluate.metrics import METRICS, metrics_of
from dapdag.evaluate.prediction import accepts, class_labels
from dapdag.evaluate.runs import COLUMNS, Finished, Run, data_digest
from dapdag.evaluate.tables import as_domain_data


def leave_one_domain_out(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any = None,
    sample_domain: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    targets: Sequence[Hashable] | None = None,
    n_replicates: int = 1,
    random_state: int = 0,
    bootstrap: bool = False,
    metrics: Sequence[str] | None = None,
    distances: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    n_jobs: int | None = 1,
    progress: bool | None = None,
) -> Evaluation:
    """Fit every method on all domains but one, score it on that one, for each domain in turn.

    A target is predicted in one call, as one new domain. The sources' rows without a label are
    left out, so that all methods learn from the same rows. Methods whose class says
    ``needs_target = True`` get the target's features at fit time, as rows of domain −1 without
    labels. A method that fails on a target is warned about and recorded; the others go on.

    Parameters
    ----------
    estimators : mapping from str to estimator
        Unfitted estimators by name; `fit` gets `sample_domain` if it takes it.
    X : DataFrame, array or DomainData
        Features; or a `dapdag.datasets.DomainData` alone, which holds label and domain as well.
    y : sequence, one per row, optional
        Label of every row. The task follows the estimators that are classifiers or regressors, else
        the label: text, or two values, are classes.
    sample_domain : sequence of labels, one per row, optional
        Domain of every row.
    sample_weight : sequence of float, one per row, optional
        One number per row, at least 0. Methods whose `fit` takes weights learn with them (a warning
        names the others), and the `scores` of a target count its rows by them. Statistics of
        `Evaluation.validation` and their confidence intervals count rows alike.
    groups : sequence of labels, one per row, optional
        One label per row, such as a patient's. Rows of the sources whose group has rows in the
        target are not learned from, and methods that take both `sample_domain` and `groups` keep
        groups together in their own splits.
    targets : sequence, optional
        Domains to leave out. By default all.
    n_replicates : int, default=1
        Runs per method and target, at least 1. A replicate differs by the seed, `random_state` plus
        its number, in every parameter called random_state.
    random_state : int, default=0
        First seed, at least 0.
    bootstrap : bool, default=False
        Draw the rows of every source anew, with replacement, in every replicate; without it,
        replicates of a deterministic method agree.
    metrics : sequence of str, optional
        Names in `dapdag.evaluate.METRICS` to keep. By default all of the task.
    distances : bool, default=True
        Also measure how far each target lies from the sources.
    checkpoint : path-like, optional
        File of JSON lines: finished runs are appended to it, and a rerun with the same data and
        settings takes them from there.
    n_jobs : int, default=1
        Runs at a time, through joblib: its backends, Dask among them, apply.
    progress : bool, optional
        True shows a bar on a terminal.

    Returns
    -------
    Evaluation
        Scores of every method on every target.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from dapdag.datasets import make_regression_domains
    >>> from dapdag.evaluate import leave_one_domain_out
    >>> data = make_regression_domains(n_domains=5, n_samples=60)
    >>> weak, strong = Ridge(0.1), Ridge(100.0)
    >>> candidates = {"weak": weak, "strong": strong}
    >>> found = leave_one_domain_out(candidates, data.X, data.y, data.sample_domain)
    >>> found.by_target("r2").shape
    (5, 2)
    """
    data = as_domain_data(X, y, sample_domain, estimators, sample_weight, groups)
    kept = _check_metrics(metrics, data.task)
    targets = _check_targets(targets, data)
    _check_estimators(estimators, data.task)
    if data.sample_weight is not None:
        _warn_of_unweighted(estimators)
    if n_replicates < 1:
        raise ValueError(f"n_replicates must be at least 1, got {n_replicates!r}.")
    runs = [
        Run(method, estimator, target, replicate, random_state + replicate, bootstrap)
        for target in targets
        for replicate in range(n_replicates)
        for method, estimator in estimators.items()
    ]
    found = _execute(runs, data, checkpoint, n_jobs, bool(progress))
    # A file holds targets as text, and replicates under the number they had.
    rows = [
        {**row, "target": run.target, "replicate": run.replicate}
        for run, finished in zip(runs, found, strict=True)
        for row in finished.rows
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    _warn_of_failures(table)
    return Evaluation(
        scores=table[table["metric"].isin(kept)].reset_index(drop=True),
        task=data.task,
        name=data.name,
        methods=tuple(estimators),
        targets=describe_targets(data, targets, distances, random_state),
        predictions=_predictions(runs, found, data),
    )


def _execute(
    runs: list[Run], data: DomainData, checkpoint: Any, n_jobs: int | None, shown: bool
) -> list[Finished]:
    """What all runs found, in the order of the runs."""
    log = None if checkpoint is None else RunLog(Path(checkpoint))
    known = {key: _from_log(content) for key, content in log.read().items()} if log else {}
    identity = data_digest(data) if log else ""
    digests = [run.digest(identity) if log else str(k) for k, run in enumerate(runs)]
    todo = [k for k, digest in enumerate(digests) if digest not in known]
    # Only what a run needs travels to the workers, and results come back as they are ready.
    jobs = (delayed(_numbered)(k, runs[k], data) for k in todo)
    with progress_bar(len(runs), f"leave one domain out: {data.name}", int(shown)) as bar:
        done = len(runs) - len(todo)
        bar.update(done)
        for k, finished in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
            known[digests[k]] = finished
            if log:
                log.append(digests[k], _to_log(finished))
            done += 1
            bar.update(done)
    return [known[digest] for digest in digests]


def _numbered(k: int, run: Run, data: DomainData) -> tuple[int, Finished]:
    return k, run.execute(data)


def _to_log(finished: Finished) -> dict[str, Any]:
    rows = [{**row, "target": str(row["target"])} for row in finished.rows]
    return {"rows": rows, "predicted": finished.predicted}


def _from_log(content: Any) -> Finished:
    """A finished run of a file; those of earlier versions hold the rows of scores alone."""
    if isinstance(content, list):
        return Finished(content)
    return Finished(content["rows"], content["predicted"])


def _predictions(runs: list[Run], found: list[Finished], data: DomainData) -> pd.DataFrame:
    """One row per labelled row of a target and run: its position, label and predictions."""
    position = np.arange(len(data.y))
    labelled = data.y.notna().to_numpy()
    numbers = data.task == "regression"
    names = ["predicted"]
    if not numbers:
        names = [f"probability_{level(label)}" for label in class_labels(data.y)]
    parts = []
    for run, finished in zip(runs, found, strict=True):
        if not finished.predicted:
            continue
        rows = position[labelled & (data.sample_domain == run.target)]
        values = np.asarray(finished.predicted, dtype=np.float64).reshape(len(rows), -1)
        head = {"target": run.target, "replicate": run.replicate, "method": run.method}
        part = pd.DataFrame(values, columns=names)
        for place, (name, value) in enumerate(head.items()):
            part.insert(place, name, [value] * len(rows))
        part.insert(3, "row", rows)
        part.insert(4, "label", data.y.to_numpy()[rows])
        parts.append(part)
    columns = ["target", "replicate", "method", "row", "label", *names]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _warn_of_unweighted(estimators: Mapping[str, Any]) -> None:
    without = [name for name, e in estimators.items() if not accepts(e.fit, "sample_weight")]
    if without:
        warnings.warn(
            f"{', '.join(without)} cannot be fitted with weights: only the scores are weighted",
            MethodWarning,
            stacklevel=3,
        )


def _warn_of_failures(table: pd.DataFrame) -> None:
    failed = table[table["reason"].str.startswith("failed: ")].drop_duplicates(
        ["method", "target", "replicate"]
    )
    for method, part in failed.groupby("method", sort=False):
        where = list(dict.fromkeys(part["target"]))
        warnings.warn(
            f"{method} failed in {len(part)} run(s), on the target(s) {where}: "
            f"{part['reason'].iloc[0].removeprefix('failed: ')}",
            MethodWarning,
            stacklevel=3,
        )


def _check_estimators(estimators: Mapping[str, Any], task: str) -> None:
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError("estimators must be a dict of at least one estimator by name.")
    for name, estimator in estimators.items():
        if not hasattr(estimator, "fit") or isinstance(estimator, type):
            raise ValueError(f"estimators[{name!r}] must be an unfitted estimator: {estimator!r}")
        wrong = is_regressor if task == "classification" else is_classifier
        if wrong(estimator):
            raise ValueError(f"estimators[{name!r}] does not suit the task, which is {task}.")


def _check_targets(targets: Sequence[Hashable] | None, data: DomainData) -> list[Any]:
    if len(data.domains) < 2:
        raise ValueError(
            f"{data.name} has {len(data.domains)} domain(s): at least 2 are needed to leave one out"
        )
    if targets is None:
        return data.domains
    if isinstance(targets, str) or not isinstance(targets, Sequence):
        raise ValueError(f"targets must be a list of domains, got {targets!r}.")
    unknown = [t for t in targets if t not in data.domains]
    if unknown:
        raise ValueError(f"Unknown target(s) {unknown}; the domains are {data.domains}.")
    return list(dict.fromkeys(targets))


def _check_metrics(metrics: Sequence[str] | None, task: str) -> list[str]:
    possible = metrics_of(task)
    if metrics is None:
        return possible
    if isinstance(metrics, str):
        metrics = [metrics]
    unknown = [m for m in metrics if m not in possible]
    if unknown:
        known = [m for m in unknown if m in METRICS]
        why = f"{known} is for another task than {task}; " if known else ""
        raise ValueError(f"Unknown metric(s) {unknown}: {why}choose from {possible}.")
    return list(metrics)
