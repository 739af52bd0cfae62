"""The data of one lane as padded arrays: one block per domain, training and validation apart."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from ..model.constants import MAX_BATCH_ROWS
from .layout import Encoded, padded_size

SMALLEST_BLOCK = 16


class Blocks(eqx.Module):
    """Rows of every domain, shuffled once, padded to common sizes.

    A training block repeats its first rows for one more batch, so that a window may start at any
    row and every row is drawn equally often. `n_rows` is 0 for domains that only pad.
    """

    values: Float[Array, "*lanes domains rows columns"]
    observed: Float[Array, "*lanes domains rows variables"]
    n_rows: Int[Array, "*lanes domains"]
    valid_values: Float[Array, "*lanes domains valid_rows columns"]
    valid_observed: Float[Array, "*lanes domains valid_rows variables"]
    valid_present: Float[Array, "*lanes domains valid_rows"]


def make_blocks(
    tables: Sequence[Encoded],
    domains: Sequence[NDArray[np.integer]],
    seeds: Sequence[int],
    valid_share: float,
) -> tuple[Blocks, int]:
    """One lane per table and seed: rows of every domain shuffled and split by that seed.

    Returns the blocks and the number of rows of a batch. A domain of fewer
    than five rows is validated on its training rows.
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
    """The given rows of each domain, the first `repeat` of them again, then padding."""
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
    """The paper's rule: training size / mean batch size, with domains drawn by size."""
    n = n_train[n_train > 0].astype(float)
    mean_batch = (np.minimum(n, batch_rows) * (1 + smallest) / 2 * n).sum() / n.sum()
    return max(1, round(n.sum() / mean_batch))
