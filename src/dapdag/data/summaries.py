"""Means and shares of columns at one site, and how far two sites differ in them."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .columns import Discrete, Variable, level_codes, moments, numbers_of
from .table import Table

# Means of fewer values could give away what was observed for one of them.
FEWEST_VALUES = 5


def column_summary(variable: Variable, values: NDArray) -> tuple[int, tuple[float, ...]]:
    """How many values there are; mean and sd of numbers or share of each level, () if too few."""
    known = values[pd.notna(values)]
    if len(known) < FEWEST_VALUES:
        return len(known), ()
    if isinstance(variable, Discrete):
        code = level_codes(variable.levels, known)
        shares = np.bincount(code[code >= 0], minlength=len(variable.levels)) / len(known)
        return len(known), tuple(shares.tolist())
    return len(known), moments(known.astype(float))


def cells_summary(table: Table, X: pd.DataFrame) -> tuple[tuple[float, ...], ...]:
    """The summary of every feature."""
    return tuple(
        column_summary(variable, comparable(variable, X.iloc[:, j]))[1]
        for j, variable in enumerate(table.features)
    )


def comparable(variable: Variable, column: pd.Series) -> NDArray:
    """Cells of a column as `column_summary` takes them."""
    return column.to_numpy(dtype=object) if isinstance(variable, Discrete) else numbers_of(column)


def pooled(parts: list[tuple[float, ...]], rows: list[float], discrete: bool) -> tuple[float, ...]:
    """The summary of several sites together, from theirs and their numbers of values."""
    known = [(one, n) for one, n in zip(parts, rows, strict=True) if one and n > 0]
    if not known:
        return ()
    values = np.array([one for one, _ in known])
    weights = np.array([n for _, n in known], dtype=float)
    weights /= weights.sum()
    mean = weights @ values
    if discrete:
        return tuple(mean.tolist())
    variance = weights @ (values[:, 1] ** 2 + (values[:, 0] - mean[0]) ** 2)
    return float(mean[0]), float(np.sqrt(variance))


def standardised_difference(
    one: tuple[float, ...], other: tuple[float, ...], discrete: bool
) -> float:
    """Difference of two summaries in standard deviations, signed for numbers and two levels.

    For more levels it is the Mahalanobis distance of the shares (Yang and Dalton, 2012). NaN where
    a summary is not known.
    """
    if not one or not other:
        return float("nan")
    a, b = np.asarray(one), np.asarray(other)
    if not discrete:
        spread = np.sqrt((a[1] ** 2 + b[1] ** 2) / 2)
        return _ratio(a[0] - b[0], spread)
    if len(a) <= 2:
        p, q = a[-1], b[-1]
        return _ratio(p - q, np.sqrt((p * (1 - p) + q * (1 - q)) / 2))
    gap = (a - b)[1:]
    covariance = sum(np.diag(s[1:]) - np.outer(s[1:], s[1:]) for s in (a, b)) / 2
    return float(np.sqrt(max(gap @ np.linalg.pinv(covariance) @ gap, 0.0)))


def _ratio(gap: float, spread: float) -> float:
    if gap == 0:
        return 0.0
    return float(gap / spread) if spread > 0 else float(np.copysign(np.inf, gap))
