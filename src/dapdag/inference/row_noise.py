"""Noise that depends on the row: the variance of a number as a function of its prediction.

Calibrated variances v are right on the mean over left-out sources, and not at every row: counts
scatter more where they are large. The variance of a row whose prediction is μ is h(μ) v, where
log h is linear between the medians of bins of left-out predictions, and constant beyond them. The
mean of h v over the left-out rows is that of v.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.constants import NOISE_BIN_ROWS, NOISE_BINS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RowNoise:
    """The factor h on the variance of a row.

    Attributes
    ----------
    at : predictions, standardised and increasing: [bins], none where h is 1.
    log_factor : log h there: [bins].
    """

    at: Array
    log_factor: Array

    @staticmethod
    def constant() -> "RowNoise":
        return RowNoise(np.zeros(0), np.zeros(0))

    def factor(self, predicted: Array) -> Array:
        """h of the predictions of a number."""
        if not len(self.at):
            return np.ones_like(predicted, dtype=float)
        return np.exp(np.interp(predicted, self.at, self.log_factor))


def learn_row_noise(predicted: Array, errors: Array, variance: Array) -> RowNoise:
    """From left-out rows, [rows] each: predictions, their errors and calibrated variances.

    The root of a bin's factor is its mean absolute standardised error relative to that of all rows:
    a few large errors do not decide. `NOISE_BIN_ROWS` pseudo-rows like all others keep bins of few
    rows near 1.
    """
    size = np.abs(errors) / np.sqrt(variance)
    if not size.any():
        return RowNoise.constant()
    edges = np.quantile(predicted, np.linspace(0, 1, NOISE_BINS + 1)[1:-1])
    _, bins, rows = np.unique(
        np.searchsorted(edges, predicted, side="right"), return_inverse=True, return_counts=True
    )
    own = np.bincount(bins, size / size.mean())
    log_factor = 2.0 * np.log((own + NOISE_BIN_ROWS) / (rows + NOISE_BIN_ROWS))
    at = np.array([np.median(predicted[bins == k]) for k in range(len(rows))])
    found = RowNoise(at, log_factor)
    mean = (found.factor(predicted) * variance).sum() / variance.sum()
    return RowNoise(at, log_factor - np.log(mean))
