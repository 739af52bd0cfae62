"""Direct effect of the environment E on each variable, its parents fixed."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from .data.chunks import spaced_rows
from .data.columns import Continuous, Discrete, Standardised, Variable
from .data.table import Table

N_POINTS = 21
# Rows to average over at most. Not measured.
MAX_ROWS = 512


@dataclass(frozen=True, eq=False)
class EnvironmentEffects:
    """Expected value of every variable along one dimension of E.

    Attributes
    ----------
    values : DataFrame, one row per point of E and one column per variable
        In the units of the table; a share for two-valued variables, and one column ``name=level``
        per level for those with more.
    deviations : Series
        Standard deviation of each column among the sources.
    """

    values: pd.DataFrame
    deviations: pd.Series

    @property
    def standardised(self) -> pd.DataFrame:
        """Distance from the value in the middle of the range, in standard deviations."""
        middle = self.values.iloc[len(self.values) // 2]
        return (self.values - middle) / self.deviations

    @property
    def reach(self) -> pd.Series:
        """Largest less smallest value of each column, in standard deviations."""
        return (self.values.max() - self.values.min()) / self.deviations


def environment_effects(
    model: Any, X: Any = None, y: Any = None, dimension: int = 1, n_points: int = N_POINTS
) -> EnvironmentEffects:
    """Expected value of every variable as E varies over the range of the sources.

    This is the direct effect: the parents of a variable stay as they are in the rows, and effects
    of E through them are not included.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        A fitted DAPDAGRegressor or DAPDAGClassifier.
    X : DataFrame or array of shape (rows, columns), optional
        Rows over which to average. By default one row with the median of every number and the
        commonest level of every other column.
    y : sequence, one per row, optional
        Labels of the rows.
    dimension : int, default=1
        The dimension of E that moves, 1 for the first; the others stay at the sources' mean.
    n_points : int, default=21
        How many points, evenly spaced from the smallest to the largest mean of a source; at least
        2.

    Returns
    -------
    EnvironmentEffects
        Expected values by point.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.effects import environment_effects
    >>> environment_effects(model, n_points=3).values.shape
    (3, 8)
    """
    check_is_fitted(model)
    sources = model.source_environments_
    means = sources[[c for c in sources if str(c).endswith("_mean")]].to_numpy(dtype=float)
    if not 1 <= dimension <= means.shape[1]:
        raise ValueError(f"dimension must lie between 1 and {means.shape[1]}, not {dimension}")
    if n_points < 2:
        raise ValueError(f"n_points must be at least 2, not {n_points}")
    table = model.fitted_.model.table
    X, y = _typical_row(model, table) if X is None else _some_rows(X, y)
    moving = means[:, dimension - 1]
    grid = np.linspace(moving.min(), moving.max(), n_points)
    at = []
    for value in grid:
        env = means.mean(axis=0)
        env[dimension - 1] = value
        at.append(model.reconstruct(X, y, env=env).mean())
    values = pd.DataFrame(at, index=pd.Index(grid, name=f"E{dimension}"))
    return EnvironmentEffects(values, _deviations(table).reindex(values.columns))


def column_variables(table: Table) -> dict[Hashable, Hashable]:
    """For each column of `EnvironmentEffects.values` the variable that it belongs to."""
    variables = (*table.features, table.label)
    return {column: v.name for v in variables for column in _columns(v)}


def _typical_row(model: Any, table: Table) -> tuple[Any, np.ndarray]:
    row = pd.DataFrame({v.name: [_typical(v)] for v in table.features})
    named = hasattr(model, "feature_names_in_")
    return row if named else row.to_numpy(dtype=object), np.array([_typical(table.label)])


def _typical(variable: Variable) -> Any:
    if isinstance(variable, Discrete):
        return variable.levels[int(np.argmax(variable.shares))]
    return float(variable.decode(np.zeros((1, 1)))[0])


def _some_rows(X: Any, y: Any) -> tuple[Any, Any]:
    """At most `MAX_ROWS` rows, evenly spaced."""
    rows = spaced_rows(len(X), MAX_ROWS)
    some = X.iloc[rows] if isinstance(X, pd.DataFrame) else np.asarray(X)[rows]
    return some, None if y is None else np.asarray(y)[rows]


def _columns(variable: Variable) -> list[Hashable]:
    if isinstance(variable, Discrete) and variable.kind == "categorical":
        return [f"{variable.name}={level}" for level in variable.levels]
    return [variable.name]


def _deviations(table: Table) -> pd.Series:
    found: dict[Hashable, float] = {}
    for variable in (*table.features, table.label):
        found |= zip(_columns(variable), _deviation(variable), strict=True)
    return pd.Series(found, dtype=float).replace(0.0, np.nan)


def _deviation(variable: Variable) -> tuple[float, ...]:
    if isinstance(variable, Discrete):
        return variable.scale
    if isinstance(variable, Standardised):
        return (variable.deviation,)
    assert isinstance(variable, Continuous)
    # The scores of the sources are standard normal, so these are evenly spaced quantiles.
    quantiles = ndtri((np.arange(200) + 0.5) / 200)
    return (float(variable.decode(quantiles[:, None]).std()),)
