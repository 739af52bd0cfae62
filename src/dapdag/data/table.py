"""Columns of a table → variables of the graph.

Type, scale and range of a column are estimated on the sources and then fixed: scaling a target by
its own statistics would remove the shift that E represents.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .columns import Discrete, FloatArray, Variable, numbers_of


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

    def unseen(self, X: pd.DataFrame) -> dict[Hashable, pd.Series]:
        """Values of each discrete column that are none of its levels, and how often each is there.

        Only columns that hold any, the most frequent values first.
        """
        found = {}
        for j, variable in enumerate(self.features):
            if isinstance(variable, Discrete):
                column = X.iloc[:, j]
                strange = column[~variable.named(column) & column.notna().to_numpy()]
                if len(strange):
                    found[variable.name] = strange.astype(object).value_counts()
        return found

    def levels(self, name: Hashable) -> tuple[Any, ...]:
        """Levels of a discrete column."""
        return next(v.levels for v in self.features if v.name == name)  # type: ignore[union-attr]

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
