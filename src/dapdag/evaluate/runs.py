"""One run: one method, one target, one replicate."""

import hashlib
import re
import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dapdag.datasets.domain_data import DomainData, Split
from dapdag.evaluate.metrics import Score, class_scores, metrics_of, number_scores, undefined
from dapdag.evaluate.prediction import (
    aligned,
    class_labels,
    environment_facts,
    fit,
    predict_classes,
    predict_numbers,
)

COLUMNS = (
    *("target", "replicate", "method", "metric", "value"),
    *("seconds", "outside", "env_distance", "reason"),
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """What a run found: tidy rows of scores, one per metric, and its predictions.

    `predicted` has an entry per labelled row of the target: a number, or the probability of every
    class of the data, in their order. It is empty where the method failed.
    """

    rows: list[Row]
    predicted: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """What to fit, on which sources, and with which seed."""

    method: str
    estimator: Any
    target: Hashable
    replicate: int
    seed: int
    bootstrap: bool

    def execute(self, data: DomainData) -> Finished:
        """Scores and predictions; a failure is a row per metric with its reason."""
        start = time.perf_counter()
        outside, env_distance = np.nan, np.nan
        predicted: list[Any] = []
        try:
            split = _labelled_sources(data.leave_out(self.target))
            if self.bootstrap:
                split = resample(split, np.random.default_rng(self.seed))
            fitted = fit(seeded(self.estimator, self.seed), split, data.task)
            scores, predicted = _scored(fitted, split, data)
            seconds = time.perf_counter() - start
            outside, env_distance = environment_facts(fitted, split.X_target)
        except Exception as error:  # one failing method must not lose the others' results
            seconds = time.perf_counter() - start
            text = " ".join(f"{type(error).__name__}: {error}".split())
            scores = {name: undefined(f"failed: {text}") for name in metrics_of(data.task)}
        common = {
            "target": self.target,
            "replicate": self.replicate,
            "method": self.method,
            "seconds": seconds,
            "outside": outside,
            "env_distance": env_distance,
        }
        rows = [
            {**common, "metric": name, "value": score.value, "reason": score.reason}
            for name, score in scores.items()
        ]
        return Finished(rows, predicted)

    def digest(self, data_digest: str) -> str:
        """Equal for runs that would give the same result, as far as data and settings tell."""
        parts = [data_digest, self.method, _settings_text(self.estimator), self.target, self.seed]
        return _sha(repr([*map(str, parts), self.bootstrap]))


def _labelled_sources(split: Split) -> Split:
    """The sources' rows that have a label: the same rows for every method."""
    known = split.y.notna().to_numpy()
    if known.all():
        return split
    return split.with_rows(known)


def resample(split: Split, rng: np.random.Generator) -> Split:
    """Rows of every source drawn with replacement, as many as it has."""
    rows = np.concatenate(
        [
            rng.choice(found, size=len(found))
            for found in pd.Series(split.sample_domain)
            .groupby(split.sample_domain)
            .indices.values()
        ]
    )
    return split.with_rows(rows)


def seeded(estimator: Any, seed: int) -> Any:
    """An unfitted copy with this seed in every parameter called random_state."""
    copy = clone(estimator)
    names = [
        name
        for name in copy.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy


def _scored(fitted: Any, split: Split, data: DomainData) -> tuple[dict[str, Score], list[Any]]:
    """All rows of the target are predicted together; those with a label are scored and kept."""
    known = split.y_target.notna().to_numpy()
    if not known.any():
        reason = "no row of the target has a label"
        return {name: undefined(reason) for name in metrics_of(data.task)}, []
    y = split.y_target.to_numpy()[known]
    weight = None if split.weight_target is None else split.weight_target[known]
    if weight is not None and not weight.any():
        reason = "every labelled row of the target has weight 0"
        return {name: undefined(reason) for name in metrics_of(data.task)}, []
    if data.task == "classification":
        classes = predict_classes(fitted, split.X_target)
        classes = replace(classes, probability=classes.probability[known])
        return class_scores(y, classes, weight), aligned(classes, class_labels(data.y)).tolist()
    found = predict_numbers(fitted, split.X_target)
    found = replace(
        found,
        mean=found.mean[known],
        std=None if found.std is None else found.std[known],
        interval=None if found.interval is None else found.interval[known],
    )
    return number_scores(y.astype(np.float64), found, weight), found.mean.tolist()


def data_digest(data: DomainData) -> str:
    """Tells data sets apart by name, task and every cell."""
    table = data.X.astype({c: object for c in data.X if data.X[c].dtype == "category"})
    cells = pd.util.hash_pandas_object(table, index=False).to_numpy()
    labels = pd.util.hash_pandas_object(data.y, index=False).to_numpy()
    domains = "|".join(map(str, data.sample_domain))
    head = repr([data.name, data.task, list(map(str, data.X.columns)), str(data.y.name)])
    about = [a for a in (data.sample_weight, data.groups) if a is not None]
    further = "".join("|".join(map(str, a.tolist())) for a in about)
    return _sha(head + domains + cells.tobytes().hex() + labels.tobytes().hex() + further)


def _settings_text(estimator: Any) -> str:
    """Class and parameters as text, without the addresses of objects in memory."""
    parameters = sorted(estimator.get_params(deep=True).items())
    values = [(k, repr(v)) for k, v in parameters if not hasattr(v, "get_params")]
    classes = [(k, type(v).__qualname__) for k, v in parameters if hasattr(v, "get_params")]
    text = repr([type(estimator).__qualname__, values, classes])
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
