"""Cells of text → numbers, truth values and texts; which of them stand for a missing value.

An empty cell is missing, and so is what the user names. A word such as `NA` or `None` is missing
among numbers, and in every column of tables whose numbers use it. Among words it is a level like
the others, with a warning.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dapdag._runtime.text import counted, quoted
from dapdag._runtime.warning import ReadingWarning
from dapdag.data.dates import DATE, FIRST_VALUES
from dapdag.io.sniffing import clean

# What pandas takes for a missing value, beside the empty cell.
MISSING_WORDS = (
    *("NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "#N/A N/A", "NULL", "null", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# A column in which at least this share of the cells are numbers or dates is none of words.
MOSTLY = 0.5
_NUMBER = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


@dataclass(frozen=True, eq=False)
class FileCells:
    """The cells of one file, and its decimal mark."""

    columns: Mapping[str, pa.ChunkedArray]
    decimal: str


def typed_frames(
    files: Sequence[FileCells],
    *,
    missing: Collection[str] = (),
    text: Collection[str] = (),
    levels: Mapping[str, Collection[str]] | None = None,
) -> list[pd.DataFrame]:
    """One frame per file; what a word stands for is decided on all of them together.

    `text` names columns that stay text. `levels` are those that a fitted model knows: of words
    that may stand for a missing value, exactly these are values.
    """
    cells = [{name: _trimmed(column) for name, column in f.columns.items()} for f in files]
    names = list(dict.fromkeys(name for one in cells for name in one))
    absent = pa.array(["", *missing])
    words: dict[str, dict[str, int]] = {}  # of columns of words: how often each of them stands
    in_use: set[str] = set()
    for name in names:
        parts = [one[name] for one in cells if name in one]
        found = {word: n for word, n in _missing_words(parts).items() if word not in missing}
        if not found:
            continue
        if _holds_words(parts, absent):
            words[name] = found
        else:
            in_use |= found.keys()
    frames = []
    for file, one in zip(files, cells, strict=True):
        columns = {}
        for name, column in one.items():
            kept = set() if name not in words else words[name].keys() - in_use
            if levels is not None:
                kept = set(levels.get(name, ())) & set(MISSING_WORDS)
            codes = pa.array(["", *missing, *(w for w in MISSING_WORDS if w not in kept)])
            known = pc.if_else(pc.is_in(column, value_set=codes), None, column)
            columns[name] = _series(known, file.decimal, name in text)
        frames.append(without_numbers(pd.DataFrame(columns), missing))
    if levels is None:
        for name, found in words.items():
            _tell_levels(name, {word: n for word, n in found.items() if word not in in_use})
    return frames


def clean_frame(frame: pd.DataFrame, missing: Collection[str] = ()) -> pd.DataFrame:
    """A frame of a typed file, its texts trimmed and composed, and codes counted as missing."""

    def cleaned(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = clean(value)
        return None if text in missing else text

    table = frame.copy(deep=False)
    for name in table:
        column = table[name]
        if pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column):
            table[name] = column.map(cleaned)
    return without_numbers(table, missing)


def without_numbers(frame: pd.DataFrame, missing: Collection[str]) -> pd.DataFrame:
    """Numbers that stand for a missing value are missing however they are written: −9, −9.0."""
    codes = [float(code.replace(",", ".")) for code in missing if re.fullmatch(_NUMBER, code)]
    if not codes:
        return frame
    table = frame.copy(deep=False)
    for name in table:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            hit = column.isin(codes)
            if hit.any():
                table[name] = column.astype(float).mask(hit)
    return table


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells without blanks around them, letters and their accents composed."""
    trimmed = pc.utf8_trim_whitespace(column)
    if pc.all(pc.string_is_ascii(trimmed)).as_py() is not False:
        return trimmed
    # Arrow's own normalisation does not compose in all versions.
    chunks = [
        pa.array([unicodedata.normalize("NFC", cell) for cell in chunk.to_pylist()], pa.string())
        for chunk in trimmed.chunks
    ]
    return pa.chunked_array(chunks, type=pa.string())


def _missing_words(parts: Sequence[pa.ChunkedArray]) -> dict[str, int]:
    """How often each word stands in a column that may mean a missing value."""
    whole = pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=pa.string())
    stands = pc.is_in(whole, value_set=pa.array(MISSING_WORDS))
    counts = pc.value_counts(whole.filter(stands))
    return {str(one["values"]): int(one["counts"].as_py()) for one in counts}


def _holds_words(parts: Sequence[pa.ChunkedArray], absent: pa.Array) -> bool:
    """Whether the other cells are neither numbers nor dates nor truth values."""
    none = pa.array([*absent.to_pylist(), *MISSING_WORDS])
    known = [part.filter(pc.invert(pc.is_in(part, value_set=none))) for part in parts]
    whole = pa.chunked_array([chunk for part in known for chunk in part.chunks], type=pa.string())
    if len(whole) == 0 or pc.all(pc.is_in(whole, value_set=pa.array(list(_TRUTH)))).as_py():
        return False
    numbers = pc.sum(pc.match_substring_regex(whole, _NUMBER)).as_py()
    dates = sum(DATE.fullmatch(value) is not None for value in whole[:FIRST_VALUES].to_pylist())
    return numbers < MOSTLY * len(whole) and dates < MOSTLY * min(FIRST_VALUES, len(whole))


def _series(column: pa.ChunkedArray, decimal: str, as_text: bool) -> pd.Series:
    if not as_text:
        numbers = _numbers(column, decimal)
        if numbers is not None:
            return numbers
        known = column.drop_null()
        if len(known) and pc.all(pc.is_in(known, value_set=pa.array(list(_TRUTH)))).as_py():
            values = [None if v is None else _TRUTH[v] for v in column.to_pylist()]
            dtype = object if column.null_count else bool
            return pd.Series(values, dtype=dtype)
    return column.to_pandas()


def _numbers(column: pa.ChunkedArray, decimal: str) -> pd.Series | None:
    """The column as numbers, if all its cells are; nothing but missing cells is numbers, too."""
    if column.null_count == len(column):
        return pd.Series(np.full(len(column), np.nan))
    if decimal != ".":
        if pc.any(pc.match_substring(column, ".")).as_py():
            return None
        column = pc.replace_substring(column, decimal, ".")
    try:
        if column.null_count == 0 and pc.all(pc.match_substring_regex(column, r"^-?\d+$")).as_py():
            return pd.Series(pc.cast(column, pa.int64()).to_numpy())
    except pa.ArrowInvalid:  # too large for an integer
        pass
    try:
        found = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return None
    return pd.Series(pc.fill_null(found, float("nan")).to_numpy())


def _tell_levels(name: str, found: Mapping[str, int]) -> None:
    if found:
        cells = counted(sum(found.values()), "cell")
        warnings.warn(
            f"column {name!r}: {quoted(found)} ({cells}) is read as a level, for its other cells "
            f"are words; if it stands for a missing value, give --missing {next(iter(found))!r}",
            ReadingWarning,
            stacklevel=4,
        )
