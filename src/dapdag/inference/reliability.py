"""Do predictions mean what they say? Observed against predicted, in bins and in intervals."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from ..record import Bin, Coverage

N_BINS = 10
LEVELS = (0.5, 0.8, 0.9, 0.95)


def equal_bins(true: ArrayLike, predicted: ArrayLike, n_bins: int = N_BINS) -> list[Bin]:
    """Bins of equal width between 0 and 1, for probabilities; empty ones are left out."""
    probability = np.asarray(predicted, dtype=float)
    group = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    return _bins(np.asarray(true, dtype=float), probability, group)


def quantile_bins(
    true: ArrayLike, predicted: ArrayLike, n_bins: int = N_BINS, fewest: int = 1
) -> list[Bin]:
    """Bins of nearly equal numbers of rows, never fewer than `fewest` (or all there are).

    Equal predictions always share a bin.
    """
    true, predicted = np.asarray(true, dtype=float), np.asarray(predicted, dtype=float)
    wanted = int(np.clip(len(predicted) // fewest, 1, n_bins))
    values, position, counts = np.unique(predicted, return_inverse=True, return_counts=True)
    per_bin = max(fewest, -(-len(predicted) // wanted))
    group, current, held = np.empty(len(values), dtype=int), 0, 0
    remaining = len(predicted)
    for k, count in enumerate(counts):
        if held >= per_bin and remaining >= fewest:
            current, held = current + 1, 0
        group[k] = current
        held += count
        remaining -= count
    return _bins(true, predicted, group[position])


def _bins(
    true: NDArray[np.float64], predicted: NDArray[np.float64], group: NDArray[np.int_]
) -> list[Bin]:
    return [
        Bin(int(inside.sum()), float(predicted[inside].mean()), float(true[inside].mean()))
        for inside in (group == k for k in np.unique(group))
    ]


def calibration_error(bins: list[Bin]) -> float:
    """Mean distance between predicted and observed, weighted by rows."""
    rows = sum(b.rows for b in bins)
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / rows


def interval_coverage(
    true: ArrayLike, mean: ArrayLike, std: ArrayLike, levels: ArrayLike = LEVELS
) -> list[Coverage]:
    """Observed coverage of central normal intervals at each nominal level."""
    distance = np.abs(np.asarray(true, dtype=float) - np.asarray(mean, dtype=float))
    std = np.asarray(std, dtype=float)
    return [
        Coverage(float(level), float(np.mean(distance <= norm.ppf(0.5 + level / 2) * std)))
        for level in np.asarray(levels, dtype=float)
    ]


def wilson(share: ArrayLike, count: ArrayLike, z: float = 1.96) -> NDArray[np.float64]:
    """Wilson's 95 % interval of a share, which stays within 0 and 1: array of shape (2, k)."""
    share, count = np.asarray(share, dtype=float), np.asarray(count, dtype=float)
    z2 = z**2 / count
    centre = (share + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    return np.clip([np.minimum(centre - half, share), np.maximum(centre + half, share)], 0, 1)
