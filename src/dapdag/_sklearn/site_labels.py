"""Labels of a site that is adapted to: checked, and in encoded columns."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from .._runtime.warning import DataWarning
from ..data.columns import Discrete
from ..inference.fitted import FittedModel
from .checks import numbers, plain


def site_label(model: FittedModel, y: Any, n_rows: int) -> NDArray | None:
    """Labels of a site in encoded columns, NaN where one is not known; None if none is."""
    if y is None:
        return None
    given = np.asarray(column_or_1d(y, warn=True, dtype=None))
    if len(given) != n_rows:
        raise ValueError(f"y has {len(given)} values, X has {n_rows} rows")
    known = pd.notna(given)
    if not known.any():
        warnings.warn(
            "all labels of the site are missing: it is predicted as without labels",
            DataWarning,
            stacklevel=5,
        )
        return None
    if isinstance(model.table.label, Discrete):
        return _classes(model, given, known)
    values, _ = numbers(given, np.zeros(n_rows, dtype=bool))
    low, high = model.label_bounds
    strange = np.flatnonzero((values < low) | (values > high))
    if len(strange):
        raise ValueError(
            f"y holds {values[strange[0]]:g} at position {strange[0]}, outside the label_bounds "
            f"({low:g}, {high:g}) of the model: correct it, or fit with wider label_bounds"
        )
    return model.table.encode_label(values)


def _classes(model: FittedModel, given: NDArray, known: NDArray[np.bool_]) -> NDArray:
    encoded = model.table.encode_label(given)
    strange = known & np.isnan(encoded).any(1)
    if strange.any():
        label: Any = model.table.label
        classes = ", ".join(repr(plain(level)) for level in label.levels)
        raise ValueError(
            f"y holds the class {plain(given[strange][0])!r}, which no source has: classes are "
            f"{classes}"
        )
    if len(pd.unique(given[known])) == 1 and known.sum() > 1:
        warnings.warn(
            f"all {int(known.sum())} labels of the site are {plain(given[known][0])!r}",
            DataWarning,
            stacklevel=6,
        )
    return encoded
