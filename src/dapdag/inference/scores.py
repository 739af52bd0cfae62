"""Scores of predictions, for labels that were observed and for labels that are drawn.

A prediction is [rows, classes], or [rows, 1] of a number. Labels are [draws, rows]: positions of
classes, or numbers. `weight` [rows] says how much each row counts. A score is [draws].
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# A probability of 0 for what happened would be an infinite loss.
SMALLEST_PROBABILITY = 1e-15


def auc(mean: Array, labels: Array, weight: Array | None = None) -> Array:
    """Area under the ROC curve, of more than two classes the mean over them: each against the rest.

    NaN where a class, or its opposite, has no row.
    """
    width = mean.shape[1]
    classes = range(1 if width == 2 else 0, width)
    areas = [area_under_roc(mean[:, k], labels == k, weight) for k in classes]
    return np.asarray(np.mean(areas, axis=0))


def area_under_roc(score: Array, positive: NDArray, weight: Array | None = None) -> Array:
    """Probability that a positive row has a higher score than a negative one, ties counting half.

    `score` is [rows], `positive` [draws, rows]; NaN where all rows that count are of one kind.
    """
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=np.nan) != 0)
    counts = np.ones(len(score)) if weight is None else weight
    total = np.add.reduceat(counts[order], starts)
    above = np.add.reduceat((positive * counts)[:, order], starts, axis=1)
    below = total - above
    wins = (above * (below.cumsum(1) - 0.5 * below)).sum(1)
    pairs = above.sum(1) * below.sum(1)
    return np.divide(wins, pairs, out=np.full(len(positive), np.nan), where=pairs > 0)


def log_loss(mean: Array, labels: Array, weight: Array | None = None) -> Array:
    logs = np.log(np.clip(mean, SMALLEST_PROBABILITY, 1.0))
    return -over_rows(_at_labels(logs, labels), weight)


def brier(mean: Array, labels: Array, weight: Array | None = None) -> Array:
    """Brier score: of two classes the squared error of one of them, else the sum over all."""
    chosen = _at_labels(mean, labels)
    total = over_rows((mean**2).sum(1) - 2 * chosen + 1.0, weight)
    return total / 2 if mean.shape[1] == 2 else total


def r2(mean: Array, labels: Array, weight: Array | None = None) -> Array:
    centred = labels - over_rows(labels, weight)[:, None]
    spread = over_rows(centred**2, weight)
    return np.asarray(1.0 - rmse(mean, labels, weight) ** 2 / np.maximum(spread, 1e-300))


def rmse(mean: Array, labels: Array, weight: Array | None = None) -> Array:
    return np.sqrt(over_rows((labels - mean[:, 0]) ** 2, weight))


def over_rows(values: Array, weight: Array | None = None) -> Array:
    """Mean over the last axis, weighted where there are weights."""
    return np.asarray(np.average(values, axis=-1, weights=weight))


def _at_labels(columns: Array, labels: Array) -> Array:
    """The column that each label chooses: [draws, rows]."""
    return np.asarray(columns[np.arange(len(columns)), labels.astype(int)])
