"""Leave one domain out: every domain is the unlabelled target once."""

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.parallel import Parallel, delayed

from dapdag._runtime.progress import progress as progress_bar
from dapdag._runtime.warning import MethodWarning
from dapdag.datasets.domain_data import DomainData
from dapdag.evaluate.distances import describe_targets
from dapdag.evaluate.evaluation import Evaluation
from dapdag.evaluate.log import RunLog
from dapdag.evaluate.metrics import METRICS, metrics_of
from dapdag.evaluate.runs import COLUMNS, Row, Run, data_digest


def leave_one_domain_out(
    estimators: Mapping[str, Any],
    data: DomainData,
    *,
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
    estimators : unfitted estimators by name; `fit` gets `sample_domain` if it takes it.
    data : domains with labels.
    targets : domains to leave out; all by default.
    n_replicates : runs per method and target. A replicate differs by the seed, `random_state`
        plus its number, in every parameter called random_state.
    bootstrap : draw the rows of every source anew, with replacement, in every replicate; without
        it, replicates of a deterministic method agree.
    metrics : names to keep, of `dapdag.evaluate.METRICS`; all of the task by default.
    distances : also measure how far each target lies from the sources.
    checkpoint : a file of JSON lines; finished runs are appended to it, and a rerun with the same
        data and settings takes them from there.
    n_jobs : runs at a time, through joblib: its backends, Dask among them, apply.
    progress : True shows a bar on a terminal.
    """
    kept = _check_metrics(metrics, data.task)
    targets = _check_targets(targets, data)
    _check_estimators(estimators, data.task)
    if n_replicates < 1:
        raise ValueError(f"n_replicates must be at least 1, got {n_replicates!r}.")
    runs = [
        Run(method, estimator, target, replicate, random_state + replicate, bootstrap)
        for target in targets
        for replicate in range(n_replicates)
        for method, estimator in estimators.items()
    ]
    rows = _execute(runs, data, checkpoint, n_jobs, bool(progress))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    _warn_of_failures(table)
    return Evaluation(
        scores=table[table["metric"].isin(kept)].reset_index(drop=True),
        task=data.task,
        name=data.name,
        methods=tuple(estimators),
        targets=describe_targets(data, targets, distances, random_state),
    )


def _execute(
    runs: list[Run], data: DomainData, checkpoint: Any, n_jobs: int | None, shown: bool
) -> list[Row]:
    """Rows of all runs, in the order of the runs."""
    log = None if checkpoint is None else RunLog(Path(checkpoint))
    known = log.read() if log else {}
    identity = data_digest(data) if log else ""
    digests = [run.digest(identity) if log else str(k) for k, run in enumerate(runs)]
    todo = [k for k, digest in enumerate(digests) if digest not in known]
    # Only what a run needs travels to the workers, and results come back as they are ready.
    jobs = (delayed(_numbered)(k, runs[k], data) for k in todo)
    with progress_bar(len(runs), f"leave one domain out: {data.name}", int(shown)) as bar:
        done = len(runs) - len(todo)
        bar.update(done)
        for k, rows in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
            known[digests[k]] = rows
            if log:
                log.append(digests[k], [{**row, "target": str(row["target"])} for row in rows])
            done += 1
            bar.update(done)
    # A file holds targets as text, and replicates under the number they had.
    return [
        {**row, "target": run.target, "replicate": run.replicate}
        for run, digest in zip(runs, digests, strict=True)
        for row in known[digest]
    ]


def _numbered(k: int, run: Run, data: DomainData) -> tuple[int, list[Row]]:
    return k, run.execute(data)


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
