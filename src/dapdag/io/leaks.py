"""Columns and rows of a study that may mislead: leaks, identifiers, copies."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.text import quoted
from dapdag._runtime.warning import DataWarning, LeakageWarning
from dapdag.data.screen import screen

FEWEST_ROWS = 20
FEWEST_PER_VALUE = 5
NEARLY_ONE = 0.9999


def tell_leaks(
    X: pd.DataFrame,
    y: pd.Series,
    site: NDArray[Any],
    classification: bool,
    told: Collection[str] = (),
) -> None:
    """Warn of columns and rows of the labelled sites that may mislead.

    `told` names columns that were reported as identifiers before.
    """
    certain = _certain(X, y, classification)
    if certain:
        warnings.warn(
            f"the label {str(y.name)!r} follows from {quoted(certain)} without error: if it was "
            f"made from the label or after it, leave it out with --drop {','.join(certain)}",
            LeakageWarning,
            stacklevel=4,
        )
    for found in screen(X, y, site, str(y.name), classification):
        names = [str(name) for name in found.columns]
        if names and set(names) <= {*told, *certain}:
            continue
        advice = f"; leave out what is one with --drop {','.join(names)}" if names else ""
        if found.kind == "leak":
            advice = f" If it was, leave it out with --drop {names[0]}"
        category = LeakageWarning if found.kind in ("leak", "copies") else DataWarning
        warnings.warn(f"{found.text}{advice}", category, stacklevel=4)


def _certain(X: pd.DataFrame, y: pd.Series, classification: bool) -> list[str]:
    """Columns from which the label follows without error."""
    known = y.notna().to_numpy()
    if known.sum() < FEWEST_ROWS:
        return []
    gives_away = _decides if classification else _is_linear
    return [str(name) for name in X if gives_away(X[name][known], y[known])]


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
    if len(values) < FEWEST_ROWS or np.ptp(values) == 0 or np.ptp(label) == 0:
        return False
    scaled = values / np.abs(values).max(), label / np.abs(label).max()
    return bool(abs(np.corrcoef(*scaled)[0, 1]) > NEARLY_ONE)
