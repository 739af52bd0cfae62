"""Which columns the parameter `categorical_features` names."""

from collections.abc import Hashable
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd


def categorical_columns(given: Any, frame: pd.DataFrame) -> frozenset[Hashable]:
    """The columns that `categorical_features` names: by name, by position, or by a mask."""
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        return frozenset()
    if isinstance(given, str):
        raise ValueError(
            f"categorical_features must be a list of columns or 'from_dtype', not {given!r}: "
            f"write [{given!r}] for one column"
        )
    chosen = list(given)
    if chosen and all(isinstance(v, bool | np.bool_) for v in chosen):
        if len(chosen) != frame.shape[1]:
            raise ValueError(
                f"categorical_features is a mask of {len(chosen)} columns, X has {frame.shape[1]}"
            )
        return frozenset(frame.columns[np.asarray(chosen, dtype=bool)])
    columns = set(frame.columns)
    found = []
    for column in chosen:
        if column in columns:
            found.append(column)
        elif isinstance(column, Integral) and 0 <= int(column) < frame.shape[1]:
            found.append(frame.columns[int(column)])
        else:
            raise ValueError(
                f"categorical_features names {column!r}, which is not a column of X: there are "
                f"{', '.join(map(repr, list(frame.columns)[:8]))}"
                f"{' …' if frame.shape[1] > 8 else ''}"
            )
    return frozenset(found)
