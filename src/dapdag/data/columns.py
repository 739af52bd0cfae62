"""Types of variables, with parameters estimated on the sources and then fixed."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from ..model.constants import (
    MOST_LEVELS,
    MOST_RANKED,
    N_KNOTS,
    RARE_BELOW,
    RARE_ROWS,
    TAIL,
    TAIL_REACH,
)

FloatArray = NDArray[np.float32]
OTHER = "(other)"
FIRST_ROWS = 1000


@dataclass(frozen=True)
class Continuous:
    """A number, mapped to normal scores of its rank among the sources, then standardised.

    The map is piecewise linear between `knots` and constant beyond them, so that a heavy-tailed
    target cannot move the networks far outside their training range.
    """

    name: Hashable
    knots: NDArray[np.float64]
    scores: NDArray[np.float64]
    low: float = np.nan  # smallest and largest value of the sources; the knots reach further
    high: float = np.nan

    kind = "continuous"
    width = 1
    center = (0.0,)

    @staticmethod
    def learn(name: Hashable, column: NDArray[np.float64]) -> "Continuous":
        seen = column[~np.isnan(column)]
        if not len(seen):
            return Continuous(name, np.zeros(1), np.zeros(1))  # no value anywhere: a constant
        low, high = float(seen.min()), float(seen.max())
        if len(seen) > MOST_RANKED:
            seen = seen[np.linspace(0, len(seen) - 1, MOST_RANKED).astype(int)]
        seen = np.sort(seen)
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
        if len(values) >= 10:
            values, scores = _with_tails(values, scores)
        mapped = np.interp(seen, values, scores)
        scores = (scores - mapped.mean()) / (mapped.std() or 1.0)
        return Continuous(name, values, scores, low, high)

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
    """Add a knot at each end, `TAIL_REACH` further along the slope of the outer values."""
    low = max(1, int(np.searchsorted(scores, scores[0] + 0.7)))
    high = min(len(scores) - 2, int(np.searchsorted(scores, scores[-1] - 0.7)))
    step_low = TAIL_REACH * (values[low] - values[0]) / (scores[low] - scores[0])
    step_high = TAIL_REACH * (values[-1] - values[high]) / (scores[-1] - scores[high])
    return (
        np.concatenate([[values[0] - step_low], values, [values[-1] + step_high]]),
        np.concatenate([[scores[0] - TAIL_REACH], scores, [scores[-1] + TAIL_REACH]]),
    )


@dataclass(frozen=True)
class Standardised:
    """A number, standardised without a further transformation: the label of a regression."""

    name: Hashable
    mean: float
    deviation: float

    kind = "continuous"
    width = 1
    center = (0.0,)
    scale = (1.0,)

    @staticmethod
    def learn(name: Hashable, column: NDArray[np.float64]) -> "Standardised":
        mean, deviation = moments(column[~np.isnan(column)])
        return Standardised(name, mean, deviation or 1.0)

    def encode(self, column: NDArray[np.float64]) -> FloatArray:
        return ((column - self.mean) / self.deviation).astype(np.float32)[:, None]

    def decode(self, encoded: NDArray[np.floating]) -> NDArray[np.float64]:
        return self.mean + self.deviation * encoded[:, 0].astype(np.float64)


def moments(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation, also of numbers whose squares are not finite or vanish."""
    # A power of two changes no digit.
    power = int(np.frexp(np.abs(values).max())[1])
    scaled = np.ldexp(values, -power)
    return float(np.ldexp(scaled.mean(), power)), float(np.ldexp(scaled.std(), power))


@dataclass(frozen=True)
class Discrete:
    """Two levels in one 0/1 column, or more in one column each."""

    name: Hashable
    levels: tuple[Any, ...]
    shares: tuple[float, ...]

    @staticmethod
    def learn(name: Hashable, column: pd.Series) -> "Discrete":
        """Levels that are rare, or beyond the most frequent ones, share the level `OTHER`."""
        counts = column.dropna().value_counts()
        counts = counts[counts > 0]  # a categorical column also counts levels that no row has
        common = counts
        if len(counts) > 2:
            fewest = RARE_ROWS if counts.sum() >= RARE_BELOW else 1
            common = counts[counts >= fewest].iloc[:MOST_LEVELS]
        levels = sorted_levels(common.index)
        shares = [float(counts[v]) for v in levels]
        if len(common) < len(counts):
            levels.append(OTHER)
            shares.append(float(counts.sum() - common.sum()))
        return Discrete(name, tuple(levels), tuple(shares))

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
        """0/1 columns; all zero where the value is missing or has no level."""
        code = self.codes(column)
        one_hot = (code[:, None] == np.arange(len(self.levels))).astype(np.float32)
        return one_hot[:, 1:] if self.kind == "binary" else one_hot

    def known(self, column: pd.Series) -> NDArray[np.bool_]:
        """Which cells have a level."""
        return self.codes(column) >= 0

    def named(self, column: pd.Series) -> NDArray[np.bool_]:
        """Which cells hold one of the levels by name."""
        return level_codes(self.levels, column) >= 0

    def codes(self, column: pd.Series) -> NDArray[np.intp]:
        """Position of each cell's level, −1 where it has none."""
        code = level_codes(self.levels, column)
        if self.levels[-1:] == (OTHER,):
            code = np.where((code < 0) & column.notna().to_numpy(), len(self.levels) - 1, code)
        return code

    def decode(self, encoded: NDArray[np.floating]) -> NDArray[Any]:
        mixed = len({type(level) for level in self.levels}) > 1
        levels = np.asarray(self.levels, dtype=object if mixed else None)
        if self.kind == "binary":
            return levels[(encoded[:, 0] > 0.5).astype(int)]
        return levels[encoded.argmax(1)]


Variable = Continuous | Standardised | Discrete


def learn_feature(name: Hashable, column: pd.Series, categorical: bool = False) -> Variable:
    """A variable's type from its values: text and two-valued columns are discrete.

    `categorical` says that numbers are codes of levels.
    """
    if column.isna().all():
        return Continuous.learn(name, np.zeros(0))
    if categorical or is_discrete(column):
        return Discrete.learn(name, column)
    return Continuous.learn(name, numbers_of(column))


def is_discrete(column: pd.Series) -> bool:
    """Whether a column holds text, categories, or two different values."""
    numeric = pd.api.types.is_numeric_dtype(column) and not isinstance(
        column.dtype, pd.CategoricalDtype
    )
    return not numeric or _has_two_values(column)


def _has_two_values(column: pd.Series) -> bool:
    """Whether a column has two different values; the first rows of most have more."""
    return column.iloc[:FIRST_ROWS].nunique() <= 2 and column.nunique() == 2


def numbers_of(column: pd.Series) -> NDArray[np.float64]:
    """The cells of a column of numbers, NaN where one is missing."""
    try:
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {column.name!r} held numbers when the model was fitted, but here it does not "
            f"({error})"
        ) from error


def sorted_levels(values: Iterable[Any]) -> list[Any]:
    """Levels in order, those of one type together."""
    return sorted(values, key=lambda v: (type(v).__name__, v))


def level_codes(levels: Sequence[Any], column: pd.Series | NDArray) -> NDArray[np.intp]:
    """Position of each cell among the levels, −1 where it is none of them."""
    return pd.Index(levels).get_indexer(pd.Index(column))
