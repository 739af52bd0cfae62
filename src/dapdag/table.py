"""Columns of a table → variables of the graph.

What a column means (its type, its scale, its range) is learned on the sources and kept fixed: a
target scaled by its own statistics would lose the very shift that E has to explain.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

FloatArray = NDArray[np.float32]
N_KNOTS = 257
TAIL = 0.01
REACH = 1.0


@dataclass(frozen=True)
class Continuous:
    """A number, mapped to normal scores of its rank among the sources, then standardised.

    The map is piecewise linear between `knots` and constant beyond them: one heavy-tailed target
    must not be able to push the networks where they were never trained.
    """

    name: Hashable
    knots: NDArray[np.float64]
    scores: NDArray[np.float64]

    kind = "continuous"
    width = 1
    center = (0.0,)

    @staticmethod
    def learn(name: Hashable, column: NDArray[np.float64]) -> "Continuous":
        seen = np.sort(column[~np.isnan(column)])
        values, counts = np.unique(seen, return_counts=True)
        mid_rank = (np.cumsum(counts) - counts / 2) / len(seen)
        inner = (mid_rank >= TAIL) & (mid_rank <= 1 - TAIL)
        if inner.sum() >= 2:
            values, mid_rank = values[inner], mid_rank[inner]
        if len(values) > N_KNOTS:
            # Evenly spaced in normal scores, so that the tails keep their detail.
            ends = ndtri(mid_rank[[0, -1]])
            pick = np.searchsorted(ndtri(mid_rank), np.linspace(ends[0], ends[1], N_KNOTS))
            pick = np.unique(np.clip(pick, 0, len(values) - 1))
            values, mid_rank = values[pick], mid_rank[pick]
        scores = ndtri(mid_rank)
        if len(values) >= 10 and REACH > 0:
            values, scores = _with_tails(values, scores)
        mapped = np.interp(seen, values, scores)
        return Continuous(name, values, (scores - mapped.mean()) / (mapped.std() or 1.0))

    @property
    def scale(self) -> tuple[float, ...]:
        return (float(len(self.knots) > 1),)

    def encode(self, column: NDArray[np.float64]) -> FloatArray:
        return np.interp(column, self.knots, self.scores).astype(np.float32)[:, None]

    def decode(self, encoded: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.interp(encoded[:, 0], self.scores, self.knots)


def _with_tails(
    values: NDArray[np.float64], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One more knot at each end, `REACH` further in scores along the slope of the outer values."""
    low = max(1, int(np.searchsorted(scores, scores[0] + 0.7)))
    high = min(len(scores) - 2, int(np.searchsorted(scores, scores[-1] - 0.7)))
    step_low = REACH * (values[low] - values[0]) / (scores[low] - scores[0])
    step_high = REACH * (values[-1] - values[high]) / (scores[-1] - scores[high])
    return (
        np.concatenate([[values[0] - step_low], values, [values[-1] + step_high]]),
        np.concatenate([[scores[0] - REACH], scores, [scores[-1] + REACH]]),
    )


@dataclass(frozen=True)
class Standardised:
    """A number, standardised and nothing else: the label of a regression."""

    name: Hashable
    mean: float
    deviation: float

    kind = "continuous"
    width = 1
    center = (0.0,)
    scale = (1.0,)

    @staticmethod
    def learn(name: Hashable, column: NDArray[np.float64]) -> "Standardised":
        seen = column[~np.isnan(column)]
        return Standardised(name, float(seen.mean()), float(seen.std()) or 1.0)

    def encode(self, column: NDArray[np.float64]) -> FloatArray:
        return ((column - self.mean) / self.deviation).astype(np.float32)[:, None]

    def decode(self, encoded: NDArray[np.floating]) -> NDArray[np.float64]:
        return self.mean + self.deviation * encoded[:, 0].astype(np.float64)


@dataclass(frozen=True)
class Discrete:
    """Two levels in one 0/1 column, or more in one column each."""

    name: Hashable
    levels: tuple[Any, ...]
    shares: tuple[float, ...]

    @staticmethod
    def learn(name: Hashable, column: pd.Series) -> "Discrete":
        counts = column.dropna().value_counts()
        counts = counts[counts > 0]  # a categorical column also counts levels that no row has
        levels = sorted(counts.index, key=lambda v: (type(v).__name__, v))
        return Discrete(name, tuple(levels), tuple(float(counts[v]) for v in levels))

    @property
    def kind(self) -> str:
        return "binary" if len(self.levels) == 2 else "categorical"

    @property
    def width(self) -> int:
        return 1 if len(self.levels) == 2 else len(self.levels)

    @property
    def center(self) -> tuple[float, ...]:
        share = np.asarray(self.shares) / np.sum(self.shares)
        return tuple(share[1:] if self.kind == "binary" else share)

    @property
    def scale(self) -> tuple[float, ...]:
        share = np.asarray(self.center)
        return tuple(np.sqrt(share * (1 - share)))

    def encode(self, column: pd.Series) -> FloatArray:
        """0/1 columns; all zero where the value is missing or was never seen."""
        code = pd.Index(self.levels).get_indexer(pd.Index(column))
        one_hot = (code[:, None] == np.arange(len(self.levels))).astype(np.float32)
        return one_hot[:, 1:] if self.kind == "binary" else one_hot

    def known(self, column: pd.Series) -> NDArray[np.bool_]:
        return pd.Index(self.levels).get_indexer(pd.Index(column)) >= 0

    def decode(self, encoded: NDArray[np.floating]) -> NDArray[Any]:
        levels = np.asarray(self.levels)
        if self.kind == "binary":
            return levels[(encoded[:, 0] > 0.5).astype(int)]
        return levels[encoded.argmax(1)]


Variable = Continuous | Standardised | Discrete


def learn_feature(name: Hashable, column: pd.Series) -> Variable:
    """A variable's type from its values: text and two-valued columns are discrete."""
    if column.isna().all():
        raise ValueError(
            f"column {name!r} has no value in any source: drop it, nothing can be learned from it"
        )
    numeric = pd.api.types.is_numeric_dtype(column) and not isinstance(
        column.dtype, pd.CategoricalDtype
    )
    if not numeric or column.nunique() == 2:
        return Discrete.learn(name, column)
    return Continuous.learn(name, column.to_numpy(dtype=float, na_value=np.nan))


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
        """How many cells of each discrete column hold a value that no source has."""
        counts = {
            v.name: int((~v.known(X.iloc[:, j]) & X.iloc[:, j].notna().to_numpy()).sum())
            for j, v in enumerate(self.features)
            if isinstance(v, Discrete)
        }
        return {name: count for name, count in counts.items() if count}

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
                cells = _numbers(variable.name, column)
                block = variable.encode(cells)
                missing = np.isnan(cells)
                if missing.any():
                    block[missing] = 0.0
                    observed[:, j] = ~missing
                values[:, start : start + 1] = block
            start += variable.width
        return values, observed


def _numbers(name: Hashable, column: pd.Series) -> NDArray[np.float64]:
    try:
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} held numbers in the sources, but here it does not ({error})"
        ) from error


def padded_size(n: int, smallest: int = 4) -> int:
    """The next of few sizes (2ᵏ and 3·2ᵏ): tables of similar size share compiled programs."""
    size = smallest
    while size < n:
        half = size + size // 2
        if half >= n and size >= 8:
            return half
        size *= 2
    return size


def column_owner(variables: Sequence[Variable], columns: int) -> NDArray[np.int64]:
    """For each column the index of its variable, −1 for padding."""
    owner = np.full(columns, -1)
    start = 0
    for v, variable in enumerate(variables):
        owner[start : start + variable.width] = v
        start += variable.width
    return owner
