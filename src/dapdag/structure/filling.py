"""Missing cells filled by draws from regressions within sites.

A mean in place of a missing cell weakens the relations of its column; a draw from its
distribution given the other columns keeps them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c

Array = NDArray[np.float64]


def fill_missing(
    values: Array, bounds: NDArray[np.intp], levels: tuple[int, ...], seed: int
) -> Array:
    """Complete `values` [rows, columns], whose rows are sorted by site.

    Cells start as draws from the observed values of their column and site. Then each incomplete
    column is regressed on all others within each site (chained equations). A numeric cell becomes
    its prediction plus the residual of a random observed row; a discrete one becomes the value of
    a row with a similar prediction.
    """
    missing = np.isnan(values)
    incomplete = np.flatnonzero(missing.any(axis=0)).tolist()
    if not incomplete:
        return values
    rng = np.random.default_rng(seed)
    filled = values.copy()
    sites = [slice(a, b) for a, b in pairwise(bounds.tolist()) if b > a]
    for j in incomplete:
        _draw_marginal(filled[:, j], missing[:, j], sites, rng)
    for _ in range(c.FILL_ROUNDS):
        for j in incomplete:
            for rows in sites:
                _draw_conditional(filled, missing[:, j], j, rows, levels[j] > 0, rng)
    return filled


def _draw_marginal(
    column: Array, missing: NDArray[np.bool_], sites: list[slice], rng: np.random.Generator
) -> None:
    """Draws from the observed values at the same site, or at all sites if it has none."""
    everywhere = column[~missing]
    for rows in sites:
        lacking = missing[rows]
        observed = column[rows][~lacking]
        column[rows][lacking] = rng.choice(
            observed if len(observed) else everywhere, int(lacking.sum())
        )


def _draw_conditional(
    filled: Array,
    missing: NDArray[np.bool_],
    j: int,
    rows: slice,
    discrete: bool,
    rng: np.random.Generator,
) -> None:
    """Redraw the missing cells of column j at one site given the other columns."""
    lacking = missing[rows]
    if not lacking.any():
        return
    n_columns = filled.shape[1]
    own = c.FILL_ROWS_PER_COEFFICIENT * n_columns <= int((~lacking).sum())
    fit_rows = np.flatnonzero(~lacking) + rows.start if own else np.flatnonzero(~missing)
    target = filled[fit_rows, j]
    A = _design(np.delete(filled[fit_rows], j, axis=1))
    # A weak ridge: collinear columns and short tables have a solution.
    ridge = 1e-3 * len(A) * np.eye(A.shape[1])
    ridge[0, 0] = 1e-9
    coefficient = np.linalg.solve(A.T @ A + ridge, A.T @ target)
    at = np.flatnonzero(lacking) + rows.start
    prediction = _design(np.delete(filled[at], j, axis=1)) @ coefficient
    fitted = A @ coefficient
    if discrete:
        nearest = np.argsort(np.abs(prediction[:, None] - fitted[None, :]), axis=1, kind="stable")
        pick = rng.integers(min(c.FILL_DONORS, len(target)), size=len(at))
        filled[at, j] = target[nearest[np.arange(len(at)), pick]]
    else:
        filled[at, j] = prediction + rng.choice(target - fitted, len(at))


def _design(columns: Array) -> Array:
    """A constant, the columns and their squares, bounded where they are extreme."""
    bounded = np.clip(columns, -4.0, 4.0)
    return np.concatenate([np.ones((len(columns), 1)), columns, bounded**2], axis=1)
