"""Columns that give the label away, which a new site would not have."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from dapdag._runtime.text import quoted

FEWEST_ROWS = 20
FEWEST_PER_VALUE = 5
NEARLY_ONE = 0.9999


def tell_leaks(X: pd.DataFrame, y: pd.Series, classification: bool) -> None:
    """Warn of columns from which the label follows without error."""
    known = y.notna().to_numpy()
    if known.sum() < FEWEST_ROWS:
        return
    gives_away = _decides if classification else _is_linear
    found = [str(name) for name in X if gives_away(X[name][known], y[known])]
    if found:
        warnings.warn(
            f"the label {str(y.name)!r} follows from {quoted(found)} without error: if it was made "
            f"from the label or after it, leave it out with --drop {','.join(found)}",
            stacklevel=4,
        )


def _decides(column: pd.Series, classes: pd.Series) -> bool:
    """Whether each of few values of a column goes with one class."""
    both = column.notna().to_numpy()
    column, classes = column[both], classes[both]
    n_values = column.nunique()
    if n_values < 2 or len(column) < max(FEWEST_ROWS, FEWEST_PER_VALUE * n_values):
        return False
    per_value = classes.groupby(column.to_numpy()).nunique()
    return bool(per_value.max() == 1) and classes.nunique() > 1


def _is_linear(column: pd.Series, numbers: pd.Series) -> bool:
    if not pd.api.types.is_numeric_dtype(column):
        return False
    values = column.to_numpy(dtype=float, na_value=np.nan)
    both = np.isfinite(values) & np.isfinite(numbers.to_numpy())
    values, label = values[both], numbers.to_numpy()[both]
    if len(values) < FEWEST_ROWS or values.std() == 0 or label.std() == 0:
        return False
    return bool(abs(np.corrcoef(values, label)[0, 1]) > NEARLY_ONE)
