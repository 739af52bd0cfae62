"""MissForest: every column with missing cells is predicted from all others by a random forest."""

import warnings
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.validation import check_is_fitted

from ..._runtime.warning import UnknownLevelWarning
from ..._sklearn.base import MixedTableEstimator
from ..._sklearn.checks import as_frame, categorical_columns
from .columns import Column, decode, encode, learn_columns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Sweep = Callable[[Array, int], Array]


class ForestParameters(MixedTableEstimator):
    """The parameters of the imputer, which the predictors have as well."""

    def __init__(
        self,
        *,
        categorical_features: Any = None,
        max_iter: int = 10,
        n_estimators: int = 100,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.categorical_features = categorical_features
        self.max_iter = max_iter
        self.n_estimators = n_estimators
        self.random_state = random_state
        self.n_jobs = n_jobs


class MissForestImputer(TransformerMixin, ForestParameters):
    """Fill missing cells of a table of mixed types (Stekhoven and Bühlmann, 2012).

    Missing cells start at the mean, or the most frequent level, of their column. One sweep goes
    through the columns that have missing cells, fewest first: a forest learns the column from all
    others where it is observed, and predicts it where it is not. Sweeps stop when the change from
    one table to the next has grown (or stayed) for numbers and for categories, and the table
    before that is kept.

    Parameters
    ----------
    categorical_features : sequence of str or int, or mask, optional
        Names, positions or a mask of columns whose numbers are categories. Text, categories,
        booleans and numbers of which a column holds only two are categories anyway.
    max_iter : int, default=10
        Most sweeps, at least 1.
    n_estimators : int, default=100
        Trees of a forest, at least 1.
    random_state : int, default=0
        Seed: one seed gives one result.
    n_jobs : int, optional
        Trees grown at once; -1 for one per core.

    Attributes
    ----------
    n_iter_ : int
        Sweeps behind the table that was kept.
    differences_ : DataFrame
        DataFrame with one row per sweep that was made: the change of the imputed ``numbers``
        (squares relative to the table's, in standard deviations of the columns) and ``categories``
        (share of the imputed cells), NaN where there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> from dapdag.baselines import MissForestImputer
    >>> table = pd.DataFrame({"dose": [1.0, 2.0, None, 4.0], "sex": ["m", "f", "m", None]})
    >>> imputer = MissForestImputer(n_estimators=10)
    >>> int(imputer.fit_transform(table).isna().sum().sum())
    0
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the forests; `y` is not looked at."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> pd.DataFrame:
        """Learn the forests, and return the table with its missing cells filled."""
        frame = as_frame(self, X, reset=True)
        return self.fit_frame(frame, categorical_columns(self.categorical_features, frame))

    def fit_frame(self, frame: pd.DataFrame, categorical: Collection[Hashable]) -> pd.DataFrame:
        """`fit_transform` of a table that was checked before."""
        if self.max_iter < 1 or self.n_estimators < 1:
            raise ValueError(
                f"max_iter and n_estimators must be at least 1, got {self.max_iter} and "
                f"{self.n_estimators}"
            )
        self.columns_ = learn_columns(frame, categorical)
        values = encode(self.columns_, frame)
        missing = np.isnan(values)
        self.start_ = _first_guess(self.columns_, values)
        history: list[dict[int, Any]] = []

        def sweep(table: Array, number: int) -> Array:
            forests: dict[int, Any] = {}
            for j in _fewest_first(missing):
                forests[j] = self._forest(j, table, ~missing[:, j], number)
                table = _updated(table, missing, j, forests[j], self.columns_)
            history.append(forests)
            return table

        # Nothing that a single incomplete column is predicted from changes in a second sweep.
        limit = self.max_iter if missing.any(axis=0).sum() > 1 else 1
        start = np.where(missing, self.start_, values)
        kept = _until_it_grows(sweep, start, missing, self.columns_, limit)
        self.n_iter_, self.differences_ = kept.n_sweeps, kept.differences
        self.forests_ = history[kept.n_sweeps - 1] if kept.n_sweeps else {}
        self.completed_ = kept.table
        return decode(self.columns_, frame, kept.table, missing)

    def transform(self, X: Any) -> pd.DataFrame:
        """Fill the missing cells of other rows with the forests of the kept table.

        Levels that were never seen count as missing. A column that was complete when the imputer
        was fitted gets its forest here, from the fitted table.
        """
        check_is_fitted(self)
        frame = as_frame(self, X, reset=False)
        self.warn_of_unseen(frame)
        values = encode(self.columns_, frame)
        return decode(self.columns_, frame, self.complete(values), np.isnan(values))

    def complete(self, values: Array) -> Array:
        """Encoded rows (see `missforest.columns`) without missing cells."""
        missing = np.isnan(values)
        order = _fewest_first(missing)
        forests = {j: self.forest_of(j) for j in order}

        def sweep(table: Array, number: int) -> Array:
            for j in order:
                table = _updated(table, missing, j, forests[j], self.columns_)
            return table

        limit = self.max_iter if len(order) > 1 else 1
        start = np.where(missing, self.start_, values)
        return _until_it_grows(sweep, start, missing, self.columns_, limit).table

    def forest_of(self, j: int) -> Any:
        """The forest that predicts column `j` from the others."""
        if j in self.forests_:
            return self.forests_[j]
        return self._forest(j, self.completed_, np.ones(len(self.completed_), dtype=bool), 0)

    def _forest(self, j: int, table: Array, observed: Mask, number: int) -> Any:
        """The column's forest with MissForest's settings: √p columns a split, leaves of 5 or 1."""
        seed = np.random.SeedSequence([self.random_state, number, j]).generate_state(1)[0]
        settings: dict[str, Any] = {
            "n_estimators": self.n_estimators,
            "max_features": "sqrt",
            "random_state": int(seed),
            "n_jobs": self.n_jobs,
        }
        forest = (
            RandomForestRegressor(min_samples_leaf=5, **settings)
            if self.columns_[j].is_number
            else RandomForestClassifier(min_samples_leaf=1, **settings)
        )
        return forest.fit(other_columns(self.columns_, table[observed], j), table[observed, j])

    def warn_of_unseen(self, frame: pd.DataFrame) -> None:
        """Say which levels of `frame` count as missing."""
        for column in self.columns_:
            if column.levels is None or column.name not in frame:
                continue
            cells = frame[column.name]
            unseen = int((np.isnan(column.encode(cells)) & cells.notna().to_numpy()).sum())
            if unseen:
                warnings.warn(
                    f"column {column.name!r}: {unseen} cell(s) hold a value that was never seen; "
                    "they count as missing",
                    UnknownLevelWarning,
                    stacklevel=3,
                )


def other_columns(columns: tuple[Column, ...], table: Array, j: int) -> Array:
    """What the forest of column `j` sees of the rows: all other columns."""
    seen = [c.inputs(table[:, k]) for k, c in enumerate(columns) if k != j]
    # A table of one column has nothing to learn from: the forest then predicts its mean.
    return np.concatenate(seen, axis=1) if seen else np.zeros((len(table), 1))


def _first_guess(columns: tuple[Column, ...], values: Array) -> Array:
    """Mean or most frequent level of every column."""
    return np.array(
        [
            np.nanmean(v) if c.is_number else np.bincount(v[~np.isnan(v)].astype(int)).argmax()
            for c, v in zip(columns, values.T, strict=True)
        ]
    )


def _fewest_first(missing: Mask) -> list[int]:
    counts = missing.sum(axis=0)
    return [j for j in np.argsort(counts, kind="stable").tolist() if counts[j]]


def _updated(
    table: Array, missing: Mask, j: int, forest: Any, columns: tuple[Column, ...]
) -> Array:
    rows = missing[:, j]
    table = table.copy()
    table[rows, j] = forest.predict(other_columns(columns, table[rows], j))
    return table


@dataclass(frozen=True)
class _Kept:
    table: Array
    n_sweeps: int
    differences: pd.DataFrame


def _until_it_grows(
    sweep: Sweep, start: Array, missing: Mask, columns: tuple[Column, ...], limit: int
) -> _Kept:
    """Sweep until no kind of column changes less than in the sweep before, or `limit` is reached.

    The sweep that stops it is thrown away.
    """
    table, differences = start, []
    if not missing.any():
        limit = 0
    last = (np.inf, np.inf)
    kept = limit
    for number in range(1, limit + 1):
        new = sweep(table, number)
        change = _difference(new, table, missing, columns)
        differences.append(change)
        # NaN, no column of that kind, is never smaller.
        if number > 1 and not (change[0] < last[0] or change[1] < last[1]):
            kept = number - 1
            break
        table, last = new, change
    return _Kept(table, kept, pd.DataFrame(differences, columns=["numbers", "categories"]))


def _difference(
    new: Array, old: Array, missing: Mask, columns: tuple[Column, ...]
) -> tuple[float, float]:
    """Change of the imputed numbers, in squares relative to the table's, and of categories.

    Numbers are compared in standard deviations, so that units do not matter.
    """
    affected = missing.any(axis=0)
    is_number = np.array([c.is_number for c in columns])
    numbers, categories = affected & is_number, affected & ~is_number
    spread = np.array([c.spread for c in columns])
    by_number = by_category = np.nan
    if numbers.any():
        squares = (new[:, is_number] / spread[is_number]) ** 2
        moved = ((new - old) / spread)[:, numbers] ** 2
        by_number = float(moved.sum() / max(squares.sum(), np.finfo(float).tiny))
    if categories.any():
        by_category = float((new != old)[:, categories].sum() / missing[:, categories].sum())
    return by_number, by_category
