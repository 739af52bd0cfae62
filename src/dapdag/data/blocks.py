"""The data of one lane as padded arrays, training and validation apart.

Training rows lie one domain after the other, so that padding does not grow with the number of
domains or with how unequal they are. Validation rows are one block per domain, of bounded size.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8
from numpy.typing import NDArray

from ..model.constants import FEWEST_VALID_ROWS, MAX_BATCH_ROWS, MOST_CELLS, MOST_VALID_ROWS
from .domains import rows_by_domain
from .layout import Encoded, padded_size

SMALLEST_BLOCK = 16
# Rows that are encoded at once: what a lane takes from a large table goes through in pieces.
PIECE_ROWS = 65536

Rows = NDArray[np.intp]


class Blocks(eqx.Module):
    """Rows of every domain, shuffled once. `n_rows` is 0 for domains that only pad."""

    values: Float[Array, "*lanes rows columns"]
    observed: UInt8[Array, "*lanes rows variables"]
    first: Int[Array, "*lanes domains"]  # where the training rows of each domain begin
    n_rows: Int[Array, "*lanes domains"]
    mass: Float[Array, "*lanes domains"]  # how much each domain counts: rows, or their weights
    valid_values: Float[Array, "*lanes valid_domains valid_rows columns"]
    valid_observed: Float[Array, "*lanes valid_domains valid_rows variables"]
    valid_present: Float[Array, "*lanes valid_domains valid_rows"]  # weights, 0 for padding
    valid_domain: Int[Array, "*lanes valid_domains"]  # the domain of each block
    valid_weight: Float[Array, "*lanes valid_domains"]  # rows that each of its rows stands for
    weight: Float[Array, "*lanes rows"] | None = None  # None where all rows count alike

    def window(
        self,
        domain: Int[Array, ""],
        start: Int[Array, ""] | int,
        rows: int,
        size: Int[Array, ""] | None = None,
    ) -> tuple[Float[Array, "rows columns"], Float[Array, "rows variables"], Float[Array, " rows"]]:
        """Values, observed cells and weights of training rows of a domain, from any row on.

        After the last row comes the first again, so that every row is drawn equally often. Rows
        beyond the first `size`, or beyond the domain's number, have weight 0.
        """
        n = self.n_rows[domain]
        at = self.first[domain] + (start + jnp.arange(rows)) % jnp.maximum(n, 1)
        present = (jnp.arange(rows) < (n if size is None else size)).astype(jnp.float32)
        if self.weight is not None:
            present = present * self.weight[at]
        return self.values[at], self.observed[at].astype(jnp.float32), present


def make_blocks(
    encoders: Sequence[Callable[[Rows], Encoded]],
    domains: Sequence[NDArray[np.integer]],
    seeds: Sequence[int],
    valid_share: float,
    most_rows: int | None = None,
    weights: Sequence[NDArray | None] | None = None,
    groups: Sequence[NDArray | None] | None = None,
) -> tuple[Blocks, int]:
    """One lane per table and seed: rows of every domain shuffled and split by that seed.

    An encoder gives the rows of its table at some positions. Of a table with more than `most_rows`
    training rows a lane takes an equal share of every domain. Returns the blocks and the number of
    rows of a batch. A domain of fewer than five rows is validated on its training rows. Rows of one
    of the `groups` of a table are all on one side of its split, whatever their domains.
    """
    weights = [None] * len(encoders) if weights is None else weights
    groups = [None] * len(encoders) if groups is None else groups
    lanes = []
    for encode, domain, group in zip(encoders, domains, groups, strict=True):
        rows_of = rows_by_domain(domain)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            if group is None:
                lanes.append((encode, *_split(rows_of, rng, valid_share)))
            else:
                lanes.append((encode, *split_by_group(rows_of, group, rng, valid_share)))
    n_domains = padded_size(max(len(train) for _, train, _ in lanes), smallest=1)
    largest = padded_size(max(len(t) for _, train, _ in lanes for t in train), SMALLEST_BLOCK)
    batch_rows = min(largest, MAX_BATCH_ROWS)
    columns = encoders[0](np.zeros(1, dtype=np.intp)).values.shape[1]
    most = MOST_CELLS // columns
    most = most if most_rows is None else min(most, most_rows)
    of_lane = [weight for weight in weights for _ in seeds]
    trained, spared, weighed = [], [], []
    for (encode, train, valid), weight in zip(lanes, of_lane, strict=True):
        kept = _share(train, most)
        trained.append((*_gather(encode, kept, n_domains), _mass(kept, weight, n_domains)))
        spared.append(_validation(encode, valid, weight, n_domains))
        rows = np.concatenate(kept)
        weighed.append((np.ones(len(rows)) if weight is None else weight[rows],))
    blocks = Blocks(*_stacked(trained), *_stacked(spared))
    if any(weight is not None for weight in weights):
        (own,) = _stacked(weighed)
        padding = blocks.values.shape[1] - own.shape[1]
        own = np.pad(own, ((0, 0), (0, padding))).astype(np.float32)
        blocks = eqx.tree_at(lambda b: b.weight, blocks, own, is_leaf=lambda leaf: leaf is None)
    return blocks, batch_rows


def _share(rows_of: list[Rows], most: int) -> list[Rows]:
    """The first rows of every domain: an equal share of each, and `most` or a few more in all."""
    total = sum(map(len, rows_of))
    if total <= most:
        return rows_of
    return [rows[: max(len(rows) * most // total, SMALLEST_BLOCK)] for rows in rows_of]


def _gather(
    encode: Callable[[Rows], Encoded], rows_of: list[Rows], n_domains: int
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """The given rows, domain after domain, then padding; where each begins, and its length."""
    counts = np.zeros(n_domains, dtype=np.int32)
    counts[: len(rows_of)] = [len(rows) for rows in rows_of]
    rows = np.concatenate(rows_of)
    length = padded_size(len(rows), SMALLEST_BLOCK)
    for start in range(0, len(rows), PIECE_ROWS):
        piece = encode(rows[start : start + PIECE_ROWS])
        if start == 0:
            values = np.zeros((length, piece.values.shape[1]), dtype=np.float32)
            observed = np.zeros((length, piece.observed.shape[1]), dtype=np.uint8)
        end = start + len(piece.values)
        values[start:end], observed[start:end] = piece.values, piece.observed
    return values, observed, (np.cumsum(counts) - counts).astype(np.int32), counts


def _mass(rows_of: list[Rows], weight: NDArray | None, n_domains: int) -> NDArray[np.float32]:
    """Rows of every domain, or the sums of their weights."""
    mass = np.zeros(n_domains, dtype=np.float32)
    mass[: len(rows_of)] = [_total(rows, weight) for rows in rows_of]
    return mass


def _total(rows: Rows, weight: NDArray | None) -> float:
    return len(rows) if weight is None else float(weight[rows].sum())


def _validation(
    encode: Callable[[Rows], Encoded],
    rows_of: list[Rows],
    weight: NDArray | None,
    n_domains: int,
) -> tuple[NDArray, ...]:
    """Validation rows in one block per domain.

    Blocks hold `MOST_VALID_ROWS` in all. Where domains are so many that fewer than
    `FEWEST_VALID_ROWS` each would be left, some domains stand for the others.
    """
    most_domains = MOST_VALID_ROWS // FEWEST_VALID_ROWS
    chosen = np.arange(len(rows_of))
    if n_domains > most_domains:
        n_domains = most_domains
        chosen = np.linspace(0, len(rows_of) - 1, most_domains).astype(int)
    longest = padded_size(max(len(rows_of[d]) for d in chosen), SMALLEST_BLOCK)
    length = min(longest, largest_size(MOST_VALID_ROWS // n_domains))
    kept = [rows_of[d][:length] for d in chosen]
    data = encode(np.concatenate(kept))
    values = np.zeros((n_domains, length, data.values.shape[1]), dtype=np.float32)
    observed = np.zeros((n_domains, length, data.observed.shape[1]), dtype=np.float32)
    present = np.zeros((n_domains, length), dtype=np.float32)
    domain = np.zeros(n_domains, dtype=np.int32)
    stands_for = np.ones(n_domains, dtype=np.float32)
    start = 0
    for block, (d, rows) in enumerate(zip(chosen, kept, strict=True)):
        own = slice(start, start + len(rows))
        values[block, : len(rows)] = data.values[own]
        observed[block, : len(rows)] = data.observed[own]
        present[block, : len(rows)] = 1.0 if weight is None else weight[rows]
        domain[block] = d
        stands_for[block] = _total(rows_of[d], weight) / _total(rows, weight)
        start = own.stop
    return values, observed, present, domain, stands_for


def largest_size(most: int) -> int:
    """The largest of the padded sizes up to `most`."""
    size = SMALLEST_BLOCK
    while padded_size(size + 1, SMALLEST_BLOCK) <= most:
        size = padded_size(size + 1, SMALLEST_BLOCK)
    return size


def _stacked(lanes: Sequence[tuple[NDArray, ...]]) -> list[Any]:
    """Arrays of all lanes with a leading axis; shorter ones are padded with zeros."""
    out = []
    for arrays in zip(*lanes, strict=True):
        shape = np.max([a.shape for a in arrays], axis=0)
        if all((a.shape == shape).all() for a in arrays) and len(arrays) == 1:
            out.append(arrays[0][None])
            continue
        whole = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
        for lane, array in enumerate(arrays):
            whole[lane][tuple(map(slice, array.shape))] = array
        out.append(whole)
    return out


def _split(
    rows_of: list[Rows], rng: np.random.Generator, valid_share: float
) -> tuple[list[Rows], list[Rows]]:
    train, valid = [], []
    for rows in rows_of:
        shuffled = rng.permutation(rows)
        n_valid = _wanted(len(rows), valid_share)
        valid.append(shuffled[:n_valid] if n_valid else shuffled)
        train.append(shuffled[n_valid:])
    return train, valid


def _wanted(n_rows: int, valid_share: float) -> int:
    """Validation rows of a domain of this size."""
    return min(round(valid_share * n_rows) if n_rows >= 5 else 0, n_rows - 1)


def split_by_group(
    rows_of: list[NDArray],
    group: NDArray[np.integer],
    rng: np.random.Generator,
    valid_share: float,
) -> tuple[list[NDArray], list[NDArray]]:
    """Training and validation rows of every domain, no group in both.

    Groups are taken in random order for validation, as long as no domain gets more rows than
    wanted. A domain whose groups are all too large gives its smallest one, unless that would leave
    a domain without training rows; then it is validated on its training rows.
    """
    codes = np.unique(group, return_inverse=True)[1]
    sizes = np.zeros((int(codes.max()) + 1, len(rows_of)), dtype=int)  # [groups, domains]
    for d, rows in enumerate(rows_of):
        np.add.at(sizes[:, d], codes[rows], 1)
    wanted = np.array([_wanted(len(rows), valid_share) for rows in rows_of])
    total, taken = sizes.sum(0), np.zeros(len(rows_of), dtype=int)
    chosen = np.zeros(len(sizes), dtype=bool)
    order = rng.permutation(len(sizes))
    for g in order:
        if (taken + sizes[g] <= wanted)[sizes[g] > 0].all():
            chosen[g], taken = True, taken + sizes[g]
    for d in np.flatnonzero((wanted > 0) & (taken == 0)).tolist():
        own = order[(sizes[order, d] > 0) & ~chosen[order]]
        fits = [g for g in own if (taken + sizes[g] < total)[sizes[g] > 0].all()]
        if taken[d] == 0 and fits:
            g = min(fits, key=lambda g: int(sizes[g].sum()))
            chosen[g], taken = True, taken + sizes[g]
    train, valid = [], []
    for rows in rows_of:
        shuffled = rng.permutation(rows)
        out = chosen[codes[shuffled]]
        train.append(shuffled[~out])
        valid.append(shuffled[out] if out.any() else shuffled)
    return train, valid


def steps_per_epoch(n_train: NDArray[np.integer], batch_rows: int, smallest: float) -> int:
    """The paper's rule: training size / mean batch size, with domains drawn by size."""
    n = n_train[n_train > 0].astype(float)
    mean_batch = (np.minimum(n, batch_rows) * (1 + smallest) / 2 * n).sum() / n.sum()
    return max(1, round(n.sum() / mean_batch))
