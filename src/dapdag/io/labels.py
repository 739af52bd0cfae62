"""The label of a study: what kind it is, and its values."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.io.columns import clean_numbers, is_text, whole_numbers
from dapdag.io.rows import Rows

Task = Literal["regression", "classification"]


MOST_CLASSES = 10  # of whole numbers that are taken for classes


def study_label(
    rows: Rows, name: str, is_target: NDArray[np.bool_], task: str
) -> tuple[pd.Series, Task]:
    """The label without what is known of the targets, and what kind of label it is."""
    column = rows.frame[name]
    known = column.notna().to_numpy() & ~is_target
    if not known.any():
        raise ValueError(
            f"label {name!r} is missing in every row of {rows.name}"
            + (" that is not a target" if is_target.any() else "")
            + ": there is nothing to learn from"
        )
    seen = column[known]
    found: Task = _task(seen) if task == "auto" else task  # type: ignore[assignment]
    if seen.nunique() == 1:
        raise ValueError(
            f"label {name!r} has one value only, {str(seen.iloc[0])!r}: there is nothing to tell "
            "apart"
        )
    if found == "regression":
        numbers = clean_numbers(rows, name, "--task classification").astype(float)
        return numbers.where(~is_target), found
    if seen.nunique() > max(2, len(seen) // 2):
        raise ValueError(
            f"label {name!r} has {seen.nunique():,} different values in {len(seen):,} rows, too "
            "many for classes: is it the right column?"
        )
    return _classes(column, is_target), found


def _task(seen: pd.Series) -> Task:
    if seen.nunique() <= 2 or not pd.api.types.is_numeric_dtype(seen):
        numbers = pd.to_numeric(seen.astype(object), errors="coerce").notna().mean()
        return "regression" if is_text(seen) and 0.5 <= numbers < 1 else "classification"
    return (
        "classification" if whole_numbers(seen) and seen.nunique() <= MOST_CLASSES else "regression"
    )


def _classes(column: pd.Series, is_target: NDArray[np.bool_]) -> pd.Series:
    """Classes as text, truth values or numbers; masked for targets as scikit-adaptation does."""
    if is_text(column) or isinstance(column.dtype, pd.CategoricalDtype):
        text = column.astype(object).map(str, na_action="ignore")
        return text.where(~is_target, None)
    if column.isna().to_numpy()[~is_target].any():
        return column.astype(float).where(~is_target)
    if pd.api.types.is_bool_dtype(column):
        return column.astype(bool) & ~is_target
    integers = whole_numbers(column.where(~is_target))
    return column.where(~is_target, -1).astype(np.int64) if integers else column.where(~is_target)
