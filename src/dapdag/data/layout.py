"""Where the variables of a table lie in padded columns, and rows encoded so."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import Layout
from .columns import Variable
from .table import Table


@dataclass(frozen=True)
class Encoded:
    """A table as arrays: padded columns, padded variables, the label last."""

    values: NDArray[np.float32]  # [rows, columns]
    observed: NDArray[np.float32]  # [rows, variables]


def take(data: Encoded, rows: NDArray[np.intp] | slice) -> Encoded:
    """Some of the rows."""
    return Encoded(data.values[rows], data.observed[rows])


def sizes_of(table: Table) -> tuple[int, int, int]:
    """Padded numbers of columns and variables, and the label's columns."""
    label_columns = 1 if table.label.width == 1 else padded_size(table.label.width)
    columns = padded_size(table.feature_width + label_columns)
    variables = padded_size(len(table.features) + 1)
    return columns, variables, label_columns


def layout_of(
    table: Table, indicators: bool = False, kinds: Collection[str] | None = None
) -> Layout:
    """Where the table's variables lie in the padded columns.

    `kinds` is given when several tables share a program: all types that occur in any of them.
    """
    columns, variables, label_columns = sizes_of(table)
    owner = np.full(columns, -1)
    owner[: columns - label_columns] = column_owner(table.features, columns - label_columns)
    first_label = columns - label_columns
    owner[first_label : first_label + table.label.width] = variables - 1
    one_hot = (owner[:, None] == np.arange(variables)).astype(np.float32)
    kind_of = np.array(["none"] * variables, dtype=object)
    center, scale = np.zeros(columns), np.zeros(columns)

    def place(variable: Variable, v: int) -> None:
        at = owner == v
        kind_of[v] = variable.kind
        center[at], scale[at] = variable.center, variable.scale
        if not any(variable.scale):
            kind_of[v] = "none"  # a constant carries no information and has no parents

    for v, variable in enumerate(table.features):
        place(variable, v)
    place(table.label, variables - 1)
    kind_is: dict[str, Any] = {
        k: (kind_of == k).astype(np.float32) for k in ("continuous", "binary", "categorical")
    }
    live = (kind_of != "none").astype(np.float32)
    arrays: dict[str, Any] = {
        "owner": one_hot * live,
        "center": center.astype(np.float32),
        "scale": scale.astype(np.float32),
    }
    return Layout(
        **arrays,
        **kind_is,
        kinds=tuple(sorted(kinds_of(table) if kinds is None else kinds)),
        label_kind=table.label.kind,
        indicators=indicators,
    )


def kinds_of(table: Table) -> set[str]:
    """The types of variables that occur in a table."""
    return {v.kind for v in (*table.features, table.label)}


def encode(table: Table, values: NDArray, observed: NDArray, label: NDArray | None) -> Encoded:
    """Pad encoded features, and put the label's columns (if known) at the end."""
    columns, variables, label_columns = sizes_of(table)
    n = len(values)
    out_values = np.zeros((n, columns), dtype=np.float32)
    out_observed = np.zeros((n, variables), dtype=np.float32)
    out_values[:, : values.shape[1]] = values
    out_observed[:, : observed.shape[1]] = observed
    if label is not None:
        known = ~np.isnan(label).any(1)
        first = columns - label_columns
        out_values[:, first : first + label.shape[1]] = np.where(known[:, None], label, 0.0)
        out_observed[:, -1] = known
    return Encoded(out_values, out_observed)


def padded_size(n: int, smallest: int = 4) -> int:
    """The next of few sizes (2ᵏ and 3·2ᵏ): tables of similar size share compiled programs."""
    size = smallest
    while size < n:
        half = size + size // 2
        if half >= n and size >= 8:
            return half
        size *= 2
    return size


def column_owner(variables: Sequence[Variable], columns: int) -> NDArray[np.int64]:
    """For each column the index of its variable, −1 for padding."""
    owner = np.full(columns, -1)
    start = 0
    for v, variable in enumerate(variables):
        owner[start : start + variable.width] = v
        start += variable.width
    return owner
