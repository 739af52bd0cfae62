"""Rows → one padded block per domain, shuffled and split for each lane."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import Layout
from .table import Table, Variable, column_owner, padded_size
from .training.blocks import Blocks

MAX_BATCH_ROWS = 128
SMALLEST_BLOCK = 16


@dataclass(frozen=True)
class Encoded:
    """A table as arrays: padded columns, padded variables, the label last."""

    values: NDArray[np.float32]  # [rows, columns]
    observed: NDArray[np.float32]  # [rows, variables]


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


def make_blocks(
    tables: Sequence[Encoded],
    domains: Sequence[NDArray[np.integer]],
    seeds: Sequence[int],
    valid_share: float,
) -> tuple[Blocks, int]:
    """One lane per table and seed: rows of every domain shuffled and split by that seed.

    Returns the blocks and the number of rows of a batch. A domain too small to spare a validation
    row is validated on its training rows.
    """
    lanes = []
    for data, domain in zip(tables, domains, strict=True):
        rows_of = [np.flatnonzero(domain == d) for d in range(int(domain.max()) + 1)]
        for seed in seeds:
            lanes.append((data, *_split(rows_of, np.random.default_rng(seed), valid_share)))
    n_domains = padded_size(max(len(train) for _, train, _ in lanes), smallest=1)
    n_rows = padded_size(max(len(t) for _, train, _ in lanes for t in train), SMALLEST_BLOCK)
    n_valid = padded_size(max(len(v) for _, _, valid in lanes for v in valid), SMALLEST_BLOCK)
    batch_rows = min(n_rows, MAX_BATCH_ROWS)

    train = [
        _gather(data, rows, n_domains, n_rows + batch_rows, batch_rows) for data, rows, _ in lanes
    ]
    valid = [_gather(data, rows, n_domains, n_valid, 0) for data, _, rows in lanes]
    train_values, train_observed, n_train = map(np.stack, zip(*train, strict=True))
    valid_values, valid_observed, n_valid_rows = map(np.stack, zip(*valid, strict=True))
    present = (np.arange(n_valid) < n_valid_rows[..., None]).astype(np.float32)
    arrays: Any = (train_values, train_observed, n_train, valid_values, valid_observed, present)
    return Blocks(*arrays), batch_rows


def _gather(
    data: Encoded, rows_of: list[NDArray], n_domains: int, length: int, repeat: int
) -> tuple[NDArray, NDArray, NDArray]:
    """The given rows of each domain, going on with the first `repeat` rows again, then padding."""
    values = np.zeros((n_domains, length, data.values.shape[1]), dtype=np.float32)
    observed = np.zeros((n_domains, length, data.observed.shape[1]), dtype=np.float32)
    counts = np.zeros(n_domains, dtype=np.int32)
    for d, rows in enumerate(rows_of):
        again = np.resize(rows, len(rows) + repeat)
        values[d, : len(again)] = data.values[again]
        observed[d, : len(again)] = data.observed[again]
        counts[d] = len(rows)
    return values, observed, counts


def _split(
    rows_of: list[NDArray], rng: np.random.Generator, valid_share: float
) -> tuple[list[NDArray], list[NDArray]]:
    train, valid = [], []
    for rows in rows_of:
        shuffled = rng.permutation(rows)
        wanted = round(valid_share * len(rows)) if len(rows) >= 5 else 0
        n_valid = min(wanted, len(rows) - 1)
        valid.append(shuffled[:n_valid] if n_valid else shuffled)
        train.append(shuffled[n_valid:])
    return train, valid


def steps_per_epoch(n_train: NDArray[np.integer], batch_rows: int, smallest: float) -> int:
    """The caption's rule: training size / mean batch size (domains are drawn by size)."""
    n = n_train[n_train > 0].astype(float)
    mean_batch = (np.minimum(n, batch_rows) * (1 + smallest) / 2 * n).sum() / n.sum()
    return max(1, round(n.sum() / mean_batch))
