"""Number, sum and sum of squares of the values of every column.

Numbers are centred and scaled by the range that the model knows, so that sums of squares lose no
digits and values within that range lie in [−1, 1]. Levels are counted.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.data.columns import Continuous, Discrete, Variable, numbers_of
from dapdag.data.layout import column_owner
from dapdag.data.summaries import FEWEST_VALUES
from dapdag.data.table import Table

Array = NDArray[np.float64]
NAMES = ("values", "first", "second")


def cell_values(table: Table, X: pd.DataFrame) -> tuple[Array, Array]:
    """Scaled numbers and 0/1 columns of levels, 0 where a cell is missing; which cells are there.

    [rows, feature columns], [rows, features]
    """
    cells = np.zeros((len(X), table.feature_width))
    seen = np.zeros((len(X), len(table.features)))
    start = 0
    for j, variable in enumerate(table.features):
        column = X.iloc[:, j]
        if isinstance(variable, Discrete):
            seen[:, j] = variable.known(column)
            cells[:, start : start + variable.width] = variable.encode(column)
        elif any(variable.scale):
            middle, half = middle_and_half(variable)
            numbers = numbers_of(column)
            seen[:, j] = ~np.isnan(numbers)
            cells[:, start] = np.nan_to_num((numbers - middle) / half, nan=0.0)
        start += variable.width
    return cells, seen


def column_totals(table: Table, X: pd.DataFrame) -> dict[str, Array]:
    """The sums over all rows."""
    cells, seen = cell_values(table, X)
    found = seen.sum(0), cells.sum(0), (cells**2).sum(0)
    return dict(zip(NAMES, found, strict=True))


def suppressed(table: Table, totals: Mapping[str, Array]) -> dict[str, Array]:
    """Totals in which columns with fewer than `FEWEST_VALUES` values count as having none."""
    told = totals["values"] >= FEWEST_VALUES
    by_column = told[column_owner(table.features, table.feature_width)]
    found = dict(totals)
    for name, keep in zip(NAMES, (told, by_column, by_column), strict=True):
        found[name] = np.where(keep, totals[name], 0.0)
    return found


def mean_and_sd(table: Table, totals: Mapping[str, Array]) -> list[tuple[float, ...]]:
    """Mean and standard deviation of numbers, share of every level, () where it is not told."""
    found: list[tuple[float, ...]] = []
    start = 0
    for j, variable in enumerate(table.features):
        columns = slice(start, start + variable.width)
        start += variable.width
        n = totals["values"][j]
        if n <= 0:
            found.append(())
            continue
        mean = totals["first"][columns] / n
        if isinstance(variable, Discrete):
            # Noise may have moved a share below 0.
            shares = np.clip(np.append(1 - mean, mean) if variable.kind == "binary" else mean, 0, 1)
            found.append(tuple((shares / max(shares.sum(), 1e-12)).tolist()))
            continue
        middle, half = middle_and_half(variable)
        variance = max(float(totals["second"][columns][0] / n - mean[0] ** 2), 0.0)
        found.append((float(middle + half * mean[0]), float(half * np.sqrt(variance))))
    return found


def middle_and_half(variable: Variable) -> tuple[float, float]:
    """Middle and half width of the range of a number that the model knows."""
    assert isinstance(variable, Continuous)
    low, high = float(variable.knots[0]), float(variable.knots[-1])
    return (low + high) / 2, (high - low) / 2 or 1.0
