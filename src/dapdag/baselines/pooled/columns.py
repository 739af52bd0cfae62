"""Tables of mixed types as plain matrices, for methods that know nothing but numbers."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.columns import Continuous, Discrete, learn_feature, numbers_of
from ...data.sample import Sample

Array = NDArray[np.float64]
Scale = Literal["raw", "standard", "rank"]
TAIL = 0.005


@dataclass(frozen=True)
class Number:
    """A column of numbers, with what the sources say about its range and its missing cells."""

    position: int
    low: float
    high: float
    mean: float
    deviation: float
    often_missing: bool
    ranks: Continuous

    @staticmethod
    def learn(position: int, column: pd.Series) -> "Number | None":
        """None for a column that holds at most one value."""
        cells = numbers_of(column)
        seen = cells[~np.isnan(cells)]
        if not len(seen) or np.ptp(seen) == 0:
            return None
        low, high = np.quantile(seen, [TAIL, 1 - TAIL])
        if low == high:
            low, high = seen.min(), seen.max()
        clipped = np.clip(seen, low, high)
        return Number(
            position,
            float(low),
            float(high),
            float(clipped.mean()),
            float(clipped.std()),
            len(seen) < len(cells),
            Continuous.learn(column.name, cells),
        )

    def encode(self, frame: pd.DataFrame, scale: Scale) -> Array:
        cells = numbers_of(frame.iloc[:, self.position])
        if scale == "raw":
            return cells[:, None]
        missing = np.isnan(cells)
        if scale == "standard":
            values = (np.clip(cells, self.low, self.high) - self.mean) / self.deviation
        else:
            values = self.ranks.encode(cells)[:, 0].astype(float)
        values[missing] = 0.0
        return np.column_stack([values, missing]) if self.often_missing else values[:, None]


@dataclass(frozen=True)
class Level:
    """A discrete column as 0/1 columns; all 0 where the cell is missing or its level unknown."""

    position: int
    levels: Discrete

    def encode(self, frame: pd.DataFrame, scale: Scale) -> Array:
        return self.levels.encode(frame.iloc[:, self.position]).astype(float)


@dataclass(frozen=True)
class Columns:
    """What the sources' columns mean; the rest of the table follows them.

    ``"raw"`` leaves numbers and their missing cells as they are, for trees. ``"standard"`` clips
    numbers to the range of 99 % of the source cells and standardises them, ``"rank"`` maps them to
    normal scores as DAPDAG does; both put missing cells at the mean, with an indicator beside them
    where sources have some.
    """

    parts: tuple[Number | Level, ...]

    @staticmethod
    def learn(sample: Sample) -> "Columns":
        X = sample.X.iloc[np.flatnonzero(sample.is_source)]
        parts: list[Number | Level] = []
        for j, name in enumerate(X):
            column = X.iloc[:, j]
            variable = learn_feature(name, column, name in sample.categorical)
            part = Level(j, variable) if isinstance(variable, Discrete) else Number.learn(j, column)
            if part is not None:
                parts.append(part)
        return Columns(tuple(parts))

    def encode(self, frame: pd.DataFrame, scale: Scale) -> Array:
        """[rows, columns]; a single column of 0 where no column tells rows apart."""
        if not self.parts:
            return np.zeros((len(frame), 1))
        return np.concatenate([part.encode(frame, scale) for part in self.parts], axis=1)
