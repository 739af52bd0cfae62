"""Columns with a role beside the features: that they are there, and what they say about rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dapdag._runtime.text import counted, suggestion
from dapdag.io.columns import clean_numbers
from dapdag.io.reading import Rows


def check_roles(
    rows: Rows, roles: Mapping[str, str | None], left_out: Mapping[str, Collection[str]]
) -> None:
    """Every column that an option names is there, and has one role; `left_out` are those that an
    option leaves out."""
    taken: dict[str, str] = {}
    for option, column in roles.items():
        if column is None:
            continue
        require_column(rows, column, option)
        other = next((o for o, columns in left_out.items() if column in columns), None)
        first, second = (taken.get(column), option) if other is None else (option, other)
        if first is not None:
            raise ValueError(f"column {column!r} is given to both {first} and {second}: choose one")
        taken[column] = option


def require_column(rows: Rows, name: str, option: str) -> None:
    names = [str(column) for column in rows.frame]
    if name not in names:
        raise ValueError(
            f"{option} {name}: {rows.name} has no such column; "
            + suggestion(name, names, "its columns are")
        )


def row_weights(
    rows: Rows, column: str | None, is_target: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """One weight per row, at least 0. A target's rows without one count like the mean source row,
    as its file need not have the column."""
    if column is None:
        return None
    weight = clean_numbers(rows, column, "another column for --weight").to_numpy(dtype=np.float64)
    wrong = ~np.isfinite(weight) & ~is_target
    _refuse(rows, column, "weight", wrong, "missing", "give it one, or delete the row")
    _refuse(rows, column, "weight", weight < 0, "negative", "a weight is at least 0")
    if not weight[~is_target].any():
        raise ValueError(f"column {column!r} (--weight) is 0 in every row of {rows.name}")
    usual = weight[~is_target].mean()
    return np.where(is_target & ~np.isfinite(weight), usual, weight)


def row_groups(rows: Rows, column: str | None, is_target: NDArray[np.bool_]) -> NDArray[Any] | None:
    """The group of every row as text; rows of targets without one are on their own."""
    if column is None:
        return None
    group = rows.frame[column]
    missing = group.isna().to_numpy()
    _refuse(
        *(rows, column, "group", missing & ~is_target, "missing"),
        "name its group, one of its own if it belongs to no other row",
    )
    text = group.astype(object).map(str).to_numpy(dtype=object)
    alone = np.array([f"row {k} of a target" for k in range(len(text))], dtype=object)
    return np.where(missing, alone, text)


def _refuse(
    rows: Rows, column: str, role: str, wrong: NDArray[np.bool_], what: str, remedy: str
) -> None:
    if wrong.any():
        first = rows.where(int(np.flatnonzero(wrong)[0]))
        raise ValueError(
            f"column {column!r} (--{role}) is {what} in {counted(int(wrong.sum()), 'row')}, the "
            f"first being {first}: {remedy}"
        )
