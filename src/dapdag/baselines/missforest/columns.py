"""A table of mixed types as numbers, and back."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.columns import is_discrete, level_codes, numbers_of, sorted_levels

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One column: a number (`levels` is None), or the code of its level."""

    name: Hashable
    levels: tuple[Any, ...] | None
    spread: float  # of the observed numbers

    @staticmethod
    def learn(column: pd.Series, categorical: bool) -> "Column":
        if column.isna().all():
            raise ValueError(
                f"column {column.name!r} has no value in any row: drop it, nothing can be learned "
                "about it"
            )
        if categorical or is_categorical(column):
            return Column(column.name, tuple(sorted_levels(column.dropna().unique())), 1.0)
        spread = float(np.nanstd(numbers_of(column)))
        return Column(column.name, None, spread if spread > 0 else 1.0)

    @property
    def is_number(self) -> bool:
        return self.levels is None

    def encode(self, column: pd.Series) -> Array:
        """Numbers or codes; NaN where the cell is missing or its level was never seen."""
        if self.levels is None:
            return numbers_of(column)
        code = level_codes(self.levels, column).astype(float)
        code[code < 0] = np.nan
        return code

    def fill(self, column: pd.Series, values: Array, missing: NDArray[np.bool_]) -> pd.Series:
        """The column with its missing cells replaced; observed cells stay as they are."""
        if not missing.any():
            return column
        filled: Any
        if self.levels is None:
            filled = numbers_of(column).copy()
            filled[missing] = values[missing]
            return pd.Series(filled, index=column.index, name=column.name)
        filled = column.astype(object).to_numpy().copy()
        filled[missing] = [self.levels[int(code)] for code in values[missing]]
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            new = [v for v in self.levels if v not in dtype.categories]
            dtype = pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered)
        return pd.Series(filled, index=column.index, name=column.name).astype(dtype)

    def inputs(self, values: Array) -> Array:
        """What the forests of other columns see: [rows, 1], or 0/1 columns of the levels."""
        if self.levels is None or len(self.levels) <= 2:
            return values[:, None]
        return (values[:, None] == np.arange(len(self.levels))).astype(float)


def is_categorical(column: pd.Series) -> bool:
    """What is discrete everywhere else, and booleans of one value: they are filled with it."""
    return is_discrete(column) or pd.api.types.is_bool_dtype(column)


def learn_columns(frame: pd.DataFrame, categorical: Collection[Hashable]) -> tuple[Column, ...]:
    return tuple(
        Column.learn(frame.iloc[:, j], name in categorical) for j, name in enumerate(frame)
    )


def encode(columns: tuple[Column, ...], frame: pd.DataFrame) -> Array:
    """[rows, columns], NaN where a cell is missing."""
    return np.column_stack([c.encode(frame.iloc[:, j]) for j, c in enumerate(columns)])


def decode(
    columns: tuple[Column, ...], frame: pd.DataFrame, values: Array, missing: NDArray[np.bool_]
) -> pd.DataFrame:
    """`frame` with its missing cells filled from `values`."""
    filled = [c.fill(frame.iloc[:, j], values[:, j], missing[:, j]) for j, c in enumerate(columns)]
    return pd.concat(filled, axis=1) if filled else frame
