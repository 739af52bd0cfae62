"""Likelihood of residuals beyond the normal law, by a leave-one-out kernel density.

Skewed and heavy-tailed noise tells the direction of an edge: the residuals of the true mechanism
are as far from normal as the noise, those of a wrong one are a mixture. The density is estimated
on the scale t = asinh(r), on which tails are short, and every row is scored by the density of all
others, so that a flexible density gains nothing by itself. Where noise is normal, its estimate is
worse than the normal law, and nothing is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.statistics import Array

_GRID = 1024
# Log likelihood per row of the standard normal law, at its own moments.
_NORMAL = -0.5 * np.log(2 * np.pi * np.e)
# Kernel mass of a row that has no neighbour.
_ALONE = 1e-3


def density_gain(residuals: NDArray[Any], n_distinct: int) -> Array:
    """Log likelihood gained over the normal law, at least 0, per row of [sets, rows of the table].

    `n_distinct` is the number of values of the variable: kernels are wider than their spacing.
    """
    n_sets, n_rows = residuals.shape
    if n_distinct < c.MIN_DENSITY_VALUES:
        return np.zeros(n_sets)
    centred = residuals - residuals.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1)
    z = centred / np.where(spread > 0, spread, 1.0)[:, None]
    gain = _folded(z, 1.0, n_distinct) - n_rows * _NORMAL - c.DENSITY_COST
    return np.where(spread > 0, np.maximum(gain, 0.0), 0.0)


def stratified_gain(residuals: NDArray[Any], strata: NDArray[np.intp], n_distinct: int) -> float:
    """The same for one set, with a density and a spread for each stratum of the rows.

    A discrete parent may change the distribution of a variable and leave its mean as it is.
    """
    spread, n_rows = float(residuals.std()), len(residuals)
    if not spread > 0:
        return 0.0
    total = 0.0
    for k in range(int(strata.max()) + 1):
        rows = residuals[strata == k]
        own = float(rows.std())
        if len(rows) < c.MIN_STRATUM_ROWS or own < c.NOISE_FLOOR * spread:
            return 0.0
        total -= len(rows) * np.log(own / spread) + np.log(n_rows)
        total += float(density_gain(rows[None], n_distinct)[0])
    return max(total, 0.0)


def marginal_gain(z: Array, n_distinct: int) -> float:
    """The same for a standardised column itself, whose tails may be very long.

    Unlike `density_gain` it may be negative: it is the Jacobian of the normal scores.
    """
    if n_distinct < c.MIN_NORMAL_SCALE_VALUES:
        return -np.inf
    deviation = (z - np.median(z))[None]
    best = max(float(_folded(deviation, s, n_distinct)[0]) for s in c.TAIL_SCALES)
    return best - len(z) * _NORMAL


def _folded(z: NDArray[Any], scale: float, n_distinct: int) -> Array:
    """Leave-one-out log likelihood of z by a density of t = asinh(z / scale)."""
    r = np.abs(z / scale)
    square = r * r + 1
    # asinh and its derivative by functions that are fast in single precision
    t = np.copysign(np.log(r + np.sqrt(square)), z)
    log_jacobian = -0.5 * np.log(square).sum(axis=1, dtype=float) - z.shape[1] * np.log(scale)
    return _leave_one_out(t, n_distinct) + log_jacobian


def _leave_one_out(t: NDArray[Any], n_distinct: int) -> Array:
    """Σ log of the kernel density of the other rows, for the best of several bandwidths."""
    n_sets, n_rows = t.shape
    spread = np.maximum(t.std(axis=1), 1e-12)
    low, high = t.min(axis=1) - spread, t.max(axis=1) + spread
    step = (high - low) / _GRID
    position = (t - low[:, None]) / step[:, None]
    cell = position.astype(np.intp)
    right = position - cell
    flat = (cell + np.arange(n_sets)[:, None] * _GRID).ravel()
    counts = np.bincount(flat, 1 - right.ravel(), minlength=n_sets * _GRID)
    counts += np.bincount(flat + 1, right.ravel(), minlength=n_sets * _GRID)[: n_sets * _GRID]
    counts = counts.reshape(n_sets, _GRID)
    transform = np.fft.rfft(counts, axis=1)
    frequency = 2 * np.pi * np.fft.rfftfreq(_GRID)
    # values of a range of six standard deviations, rounded to n_distinct values
    narrowest = 12.0 / n_distinct * spread
    best = np.full(n_sets, -np.inf)
    for factor in c.BANDWIDTHS:
        width = np.maximum(factor * 1.06 * spread * n_rows**-0.2, narrowest) / step
        smooth = np.exp(-0.5 * (width[:, None] * frequency) ** 2)
        others = np.fft.irfft(transform * smooth, n=_GRID, axis=1)
        others -= 1.0 / (np.sqrt(2 * np.pi) * width[:, None])
        log_density = np.log(np.maximum(others, _ALONE * np.minimum(step, 1.0)[:, None]))
        log_density -= np.log((n_rows - 1) * step[:, None])
        best = np.maximum(best, (counts * log_density).sum(axis=1))
    return best
