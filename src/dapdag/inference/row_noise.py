"""Noise that depends on the row: the variance of a number as a function of its prediction.

Calibrated variances v are right on the mean over left-out sources, and not at every row: counts
scatter more where they are large. The variance of a row whose prediction is μ is h(μ) v, where
log h is linear between the medians of bins of left-out predictions, and constant beyond them. The
mean of h v over the left-out rows is that of v. Errors that are standardised so need not follow
Student's t; how wide the central intervals must be that hold a share of them is learned as well, as
in conformal prediction with left-out sites for calibration (Lei et al. 2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..model.constants import (
    MOST_WIDENING,
    NOISE_BIN_ROWS,
    NOISE_BINS,
    NOISE_LEVELS,
    VARIATION_SOURCES,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RowNoise:
    """The factor h on the variance of a row, and factors on the widths of intervals.

    Attributes
    ----------
    at : predictions, standardised and increasing: [bins], none where h is 1.
    log_factor : log h there: [bins].
    log_width : logarithm of the factor on the width of intervals: [`NOISE_LEVELS`].
    """

    at: Array
    log_factor: Array
    log_width: Array = field(default_factory=lambda: np.zeros(len(NOISE_LEVELS)))

    @staticmethod
    def constant() -> "RowNoise":
        return RowNoise(np.zeros(0), np.zeros(0))

    def factor(self, predicted: Array) -> Array:
        """h of the predictions of a number."""
        if not len(self.at):
            return np.ones_like(predicted, dtype=float)
        return np.exp(np.interp(predicted, self.at, self.log_factor))

    def width(self, coverage: float) -> float:
        """Factor on the width of the interval of this coverage.

        Linear in logarithms of the normal quantile: a larger coverage has the wider interval.
        """
        return float(np.exp(np.interp(_log_quantile(coverage), _LEVELS, self.log_width)))


def _log_quantile(coverage: float) -> float:
    return float(np.log(ndtri(0.5 + coverage / 2)))


_LEVELS = [_log_quantile(level) for level in NOISE_LEVELS]


def learn_widths(sizes: Sequence[Array], n_sites: int) -> Array:
    """Logarithms of the factors on widths, from the sizes of left-out errors [rows] relative to the
    half-width of their interval, for every level.

    `VARIATION_SOURCES` pseudo-sources that Student's t suits keep few sources from deciding.
    """
    found = [np.quantile(size, c) for size, c in zip(sizes, NOISE_LEVELS, strict=True)]
    logs = np.log(np.clip(found, 1 / MOST_WIDENING, MOST_WIDENING))
    return np.asarray(logs * n_sites / (n_sites + VARIATION_SOURCES))


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
