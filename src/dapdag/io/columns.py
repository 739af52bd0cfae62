"""Columns of a file → columns that an estimator understands, or a complaint about them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection

import numpy as np
import pandas as pd
from pandas.api import types

from dapdag._runtime.text import counted, quoted
from dapdag._runtime.warning import DataWarning
from dapdag.data.dates import holds_dates
from dapdag.data.limits import MAX_COLUMNS
from dapdag.io.reading import Rows
from dapdag.io.values import MOSTLY

MANY_LEVELS = 30
FEWEST_IDS = 10
FEW_VALUES = 10

COMMA = re.compile(r"[+-]?\d+,\d+")
POINT = re.compile(r"[+-]?\d*\.\d+")
_DIGITS = r"[+-]?\d+([.,]\d+)?"
# What makes a text of a number, and its name.
MARKS = {
    re.compile(rf"{_DIGITS}\s*%"): "the per cent sign",
    re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+|[+-]?\d{1,3}(,\d{3}){2,}"): "commas between thousands",
    re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+|[+-]?\d{1,3}(\.\d{3}){2,}"): "points between thousands",
    re.compile(r"[+-]?\d{1,3}([ '\u2019\u00a0\u202f]\d{3})+([.,]\d+)?"): "marks between thousands",
    re.compile(rf"[$€£¥]\s*{_DIGITS}|{_DIGITS}\s*[$€£¥]"): "the unit of money",
}
_ID_NAME = re.compile(r"(.*[_ .-])?(id|ids|index|idx|rownames?|nr)", re.IGNORECASE)


def is_text(column: pd.Series) -> bool:
    return types.is_object_dtype(column) or types.is_string_dtype(column)


def clean_features(
    rows: Rows, names: Collection[str], categorical: Collection[str] = ()
) -> pd.DataFrame:
    """The named columns as numbers, truth values and categories.

    Text and what is declared categorical become categories. Columns without any value are left
    out, and columns that only number the rows stay in, both with a warning.

    Raises
    ------
    ValueError
        For dates, for text in a column of numbers, and for more columns than can be learned from.
    """
    frame = rows.frame
    _refuse_too_many(rows, len(names))
    free = [name for name in names if name not in categorical]
    _refuse_dates(rows, free)
    for name in free:
        _refuse_stray_text(rows, name, MOSTLY, f"--categorical {name}")
        _refuse_marked_numbers(rows, name, f"--categorical {name}")
    void = [name for name in names if frame[name].isna().all()]
    if void:
        warnings.warn(
            f"{quoted(void)} left out: no row has a value there", DataWarning, stacklevel=3
        )
    X = pd.DataFrame(
        {name: _typed(frame[name], name in categorical) for name in names if name not in void},
        index=frame.index,
    )
    if X.shape[1] == 0:
        raise ValueError(f"{rows.name} has no column to learn from beside the label and the site")
    for column in X:
        tell_alike(str(column), X[column])
    numbering = _tell_row_numbers(X)
    _tell_many_texts(X.drop(columns=numbering))
    return X


def clean_numbers(rows: Rows, name: str, otherwise: str | None = None) -> pd.Series:
    """A column that must be numbers; `otherwise` is the option to give if it is none."""
    column = rows.frame[name]
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if is_text(column):
        _refuse_stray_text(rows, name, 0.0, otherwise)
        column = pd.to_numeric(column.astype(object))
    return column


def whole_numbers(column: pd.Series) -> bool:
    """Whether all values are whole numbers, in whatever type they came."""
    if not types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return False
    known = column.dropna().to_numpy(dtype=float)
    return bool(np.all(np.isfinite(known) & (known == np.round(known))))


def likely_codes(X: pd.DataFrame) -> list[str]:
    """Columns of few different whole numbers: quantities to us, codes perhaps to the user."""
    return [
        str(name)
        for name, column in X.items()
        if 2 < column.nunique() <= FEW_VALUES and whole_numbers(column)
    ]


def tell_alike(name: str, column: pd.Series) -> None:
    """Warn of texts that differ in case only: they count as different."""
    if not is_text(column) and not isinstance(column.dtype, pd.CategoricalDtype):
        return
    folded: dict[str, list[str]] = {}
    for value in column.dropna().unique():
        if isinstance(value, str):
            folded.setdefault(value.casefold(), []).append(value)
    for alike in folded.values():
        if len(alike) > 1:
            warnings.warn(
                f"column {name!r}: {' and '.join(map(repr, sorted(alike)))} differ in case only, "
                "and count as different values: write them alike if they are the same",
                DataWarning,
                stacklevel=4,
            )


def _typed(column: pd.Series, categorical: bool) -> pd.Series:
    if not categorical and not is_text(column):
        return column
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    if whole_numbers(column):
        column = column.astype("Int64")  # 3.0, made by a missing value above it, is 3 again
    return column.astype("category")


def _refuse_dates(rows: Rows, names: Collection[str]) -> None:
    found = [name for name in names if holds_dates(rows.frame[name])]
    if not found:
        return
    first = rows.frame[found[0]].dropna().iloc[0]
    raise ValueError(
        f"{rows.name}: {_columns(found)} dates or times ({str(first)!r}): turn them into numbers, "
        f"such as days since a reference, leave them out with --drop {','.join(found)}, or give "
        f"--categorical {','.join(found)} if they name a few levels"
    )


def _refuse_stray_text(rows: Rows, name: str, at_least: float, otherwise: str | None) -> None:
    """Complain of text where at least this share of the cells are numbers."""
    column = rows.frame[name]
    if not is_text(column):
        return
    known = column.notna().to_numpy()
    numbers = pd.to_numeric(column.astype(object), errors="coerce").notna().to_numpy()
    stray = np.flatnonzero(known & ~numbers)
    if len(stray) == 0 or numbers.sum() < at_least * known.sum():
        return
    value = str(column.iloc[stray[0]])
    more = f" ({len(stray):,} such cells)" if len(stray) > 1 else ""
    raise ValueError(
        f"column {name!r} holds numbers, but {value[:40]!r} in {rows.where(int(stray[0]))}{more}: "
        f"{_remedy(column, value, otherwise)}"
    )


def _remedy(column: pd.Series, value: str, otherwise: str | None) -> str:
    codes = f", or give {otherwise} if the numbers are codes" if otherwise else ""
    if COMMA.fullmatch(value.strip()):
        points = [v for v in column.dropna().astype(str).str.strip() if POINT.fullmatch(v)]
        if points:
            return f"other cells have a decimal point ({points[0]!r}): write them alike{codes}"
        return "give --decimal , if the comma is its decimal mark"
    if (mark := _mark_of(value)) is not None:
        return f"write its numbers without {mark}{codes}"
    remedy = f"correct it, or give --missing {value[:40]!r} if it stands for a missing value"
    return f"{remedy}{codes}"


def _mark_of(value: str) -> str | None:
    """What is written beside the digits of a number, in words."""
    return next((words for mark, words in MARKS.items() if mark.fullmatch(value.strip())), None)


def _refuse_marked_numbers(rows: Rows, name: str, otherwise: str) -> None:
    """Complain of numbers that are texts only for a per cent sign, thousands or a unit of money."""
    column = rows.frame[name]
    if not is_text(column):
        return
    some = column.dropna().astype(str).head(500)
    marked = [mark for mark in some.map(_mark_of) if mark is not None]
    if len(some) and len(marked) >= MOSTLY * len(some):
        raise ValueError(
            f"{rows.name}: column {name!r} holds numbers such as {some.iloc[0][:40]!r}: write them "
            f"without {marked[0]}, or give {otherwise} if they are codes"
        )


def _refuse_too_many(rows: Rows, n: int) -> None:
    if n > MAX_COLUMNS:
        raise ValueError(
            f"{rows.name}: {counted(n, 'column')} to learn from, and dapdag learns a graph over at "
            f"most {MAX_COLUMNS:,}: leave out what is not needed with --drop (it takes wildcards, "
            "such as --drop 'gene_*'), or summarise columns first, for example by principal "
            "components"
        )


def _tell_many_texts(X: pd.DataFrame) -> None:
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype) and column.nunique() > MANY_LEVELS:
            warnings.warn(
                f"column {str(name)!r} has {column.nunique():,} different texts, of which only the "
                f"most frequent are learned from: group them, or leave it out with --drop {name}",
                DataWarning,
                stacklevel=4,
            )


def _tell_row_numbers(X: pd.DataFrame) -> list[str]:
    found = [str(name) for name, column in X.items() if numbers_rows(str(name), column)]
    if found:
        what = "different in every row" if len(found) == 1 else "each different in every row"
        warnings.warn(
            f"{quoted(found)} {'is' if len(found) == 1 else 'are'} {what}, like a row number or "
            f"an identifier: leave out what is one with --drop {','.join(found)}",
            DataWarning,
            stacklevel=4,
        )
    return found


def numbers_rows(name: str, column: pd.Series) -> bool:
    """Whether a column is different in every row, like a row number or an identifier."""
    n = len(column)
    if n < FEWEST_IDS or column.isna().any() or column.nunique() < n:
        return name.startswith("Unnamed:")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not whole_numbers(column):
        return False
    span = int(column.max()) - int(column.min())
    return span == n - 1 or _ID_NAME.fullmatch(name) is not None


def _columns(names: list[str]) -> str:
    return f"column {names[0]!r} holds" if len(names) == 1 else f"columns {quoted(names)} hold"
