"""Replicates as lanes: several data sets of one shape train in one compiled program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from .._sklearn.checks import training_sample
from .._sklearn.network import NetworkEstimator
from ..training.fit import fit_models

Dataset = tuple[Any, Any, Any]  # X, y, sample_domain


def can_share(estimator: Any) -> bool:
    """Whether `fit_lanes` can fit it: our network, trained by our steps, not in a search."""
    own_steps = getattr(type(estimator), "_train", None) is not NetworkEstimator._train
    return isinstance(estimator, NetworkEstimator) and not own_steps


def fit_lanes(estimator: NetworkEstimator, datasets: Sequence[Dataset]) -> list[Any]:
    """One fitted copy of the estimator for each data set, as `fit` would give it.

    The data sets must have the same columns, kinds of label and (about the same) rows and domains:
    all are padded to the largest, and the length of an epoch is that of the first.
    """
    settings = estimator._settings()
    copies = [clone(estimator) for _ in datasets]
    samples = [
        copy._sample(training_sample(copy, X, y, sample_domain, copy._regression))
        for copy, (X, y, sample_domain) in zip(copies, datasets, strict=True)
    ]
    for copy, sample, fit in zip(copies, samples, fit_models(samples, settings), strict=True):
        copy._adopt(fit, sample.source_names)
    return copies
