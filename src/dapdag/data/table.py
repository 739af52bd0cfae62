"""Columns of a table → variables of the graph.

Type, scale and range of a column are estimated on the sources and then fixed: scaling a target by
its own statistics would remove the shift that E represents.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .columns import OTHER, Discrete, FloatArray, Variable, numbers_of


@dataclass(frozen=True)
class Table:
    """The variables of a table: features in the order of its columns, and the label."""

    features: tuple[Variable, ...]
    label: Variable

    @property
    def names(self) -> list[Hashable]:
        return [v.name for v in (*self.features, self.label)]

    @property
    def feature_width(self) -> int:
        return sum(v.width for v in self.features)

    def unseen(self, X: pd.DataFrame) -> dict[Hashable, int]:
        """How many cells of each discrete column hold a value that is none of its levels."""
        counts = {
            v.name: int((~v.named(X.iloc[:, j]) & X.iloc[:, j].notna().to_numpy()).sum())
            for j, v in enumerate(self.features)
            if isinstance(v, Discrete)
        }
        return {name: count for name, count in counts.items() if count}

    def unknown(self, name: Hashable) -> str:
        """What a value of a discrete column that is none of its levels counts as."""
        levels = next(v.levels for v in self.features if v.name == name)  # type: ignore[union-attr]
        return repr(OTHER) if OTHER in levels else "missing"

    def encode_label(self, y: Any) -> FloatArray:
        """The label's columns, NaN where the label is missing or of an unknown class."""
        if not isinstance(self.label, Discrete):
            return self.label.encode(np.asarray(y, dtype=float))
        column = pd.Series(np.asarray(y, dtype=object))
        known = self.label.known(column)[:, None]
        return np.where(known, self.label.encode(column), np.float32(np.nan))

    def encode(self, X: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Columns and observed cells of the features: [rows, columns], [rows, variables]."""
        values = np.zeros((len(X), self.feature_width), dtype=np.float32)
        observed = np.ones((len(X), len(self.features)), dtype=np.float32)
        start = 0
        for j, variable in enumerate(self.features):
            column = X.iloc[:, j]
            if isinstance(variable, Discrete):
                observed[:, j] = variable.known(column)
                values[:, start : start + variable.width] = variable.encode(column)
            else:
                cells = numbers_of(column)
                block = variable.encode(cells)
                missing = np.isnan(cells)
                if missing.any():
                    block[missing] = 0.0
                    observed[:, j] = ~missing
                values[:, start : start + 1] = block
            start += variable.width
        return values, observed
