"""What is kept of a site's rows: the encoder's sums over all of them, and some of the rows.

Sums add up, and which rows are kept depends on their contents alone: a site whose rows arrive in
another order, or in parts, today and tomorrow, is known as well as one whose rows arrive at once.
Memory is bounded.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.chunks import Chunks
from ..data.layout import Encoded, take
from ..model import Summary
from ..model.constants import MOST_EQUAL, SITE_ROWS
from .environment import no_rows, summarise_piece
from .fitted import FittedModel
from .unknown_levels import level_counts


@dataclass(frozen=True)
class Rows:
    """Some rows of a site, at most `SITE_ROWS`, in the order of their keys.

    Keys are `sampling_keys`: every row of the site is kept with the same probability. While none
    was left out, or no two rows are equal, they depend on the set of rows alone, and not on how it
    was divided.
    """

    data: Encoded
    key: NDArray[np.uint64]

    @staticmethod
    def of(data: Encoded) -> "Rows":
        return _smallest(data, sampling_keys(data))

    def __add__(self, other: "Rows") -> "Rows":
        """Those of both with the smallest keys: a sample of all rows that both stand for."""
        if not len(self.key):
            return other
        both = Encoded(
            np.concatenate([self.data.values, other.data.values]),
            np.concatenate([self.data.observed, other.data.observed]),
        )
        if len(both.values) < SITE_ROWS:
            return Rows.of(both)
        keys = [r.key if len(r.key) == SITE_ROWS else _of_part(r.data) for r in (self, other)]
        return _smallest(both, np.concatenate(keys))

    def head(self, most: int) -> Encoded:
        """At most so many, which stand for all of them."""
        return take(self.data, slice(0, most))


@dataclass(frozen=True)
class Evidence:
    """Rows of one site, in bounded memory.

    Attributes
    ----------
    n_rows : how many rows the site has.
    summary : the encoder's sums over all of them, per member.
    kept : some of them, without labels.
    labelled : some of those whose label is known, with it.
    levels : cells of discrete features, and those of unknown levels, see `level_counts`.
    """

    n_rows: int
    summary: Summary
    kept: Rows
    labelled: Rows
    levels: NDArray[np.int64]  # [2, features]

    def __add__(self, other: "Evidence") -> "Evidence":
        """The evidence of both sets of rows of one site."""
        return Evidence(
            self.n_rows + other.n_rows,
            self.summary + other.summary,
            self.kept + other.kept,
            self.labelled + other.labelled,
            self.levels + other.levels,
        )


def gather(model: FittedModel, chunks: Chunks, y: NDArray | None = None) -> Evidence:
    """The evidence of all rows of a site; `y` [rows, label columns], NaN where it is not known."""
    return add_rows(model, no_evidence(model), chunks, y)


def add_rows(
    model: FittedModel, before: Evidence, chunks: Chunks, y: NDArray | None = None
) -> Evidence:
    """The evidence with further rows of the same site."""

    def part(data: Encoded, present: NDArray[np.float32]) -> tuple[Summary, Encoded]:
        some = take(data, slice(0, int(present.sum())))
        return summarise_piece(model, data, present), some

    summary, kept, labelled = before.summary, before.kept, before.labelled
    for rows, (more, data) in chunks.map(part):
        summary, kept = summary + more, kept + Rows.of(data)
        if y is not None:
            known = np.flatnonzero(~np.isnan(y[rows]).any(1))
            labelled += Rows.of(_with_label(model, take(data, known), y[rows][known]))
    levels = before.levels + level_counts(model.table, chunks.X)
    return Evidence(before.n_rows + len(chunks.X), summary, kept, labelled, levels)


def sampling_keys(data: Encoded) -> NDArray[np.uint64]:
    """The keys by which rows are kept: those of a part, once some rows will be left out."""
    return row_keys(data) if len(data.values) < SITE_ROWS else _of_part(data)


def _of_part(data: Encoded) -> NDArray[np.uint64]:
    """Keys of rows that are a part of a large site.

    Equal rows of two parts have equal `row_keys`, and would be kept or left out together: the
    sample of a site with few distinct rows, in many parts, would be one of few rows. So where rows
    of a part are equal to others their keys depend on the whole part.
    """
    key, content = row_keys(data), _content_keys(data)
    if len(key) - len(np.unique(content)) <= MOST_EQUAL * len(key):
        return key
    return _mixed(key ^ _mixed(content.sum(keepdims=True)))


def row_keys(data: Encoded) -> NDArray[np.uint64]:
    """A pseudo-random number of each row's cells; equal rows have different ones, the first of
    them, the second and so on."""
    content = _content_keys(data)
    order = np.argsort(content)  # which of equal rows is the first is no matter
    ranked = content[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)])
    counts = np.diff(np.append(starts, len(ranked)))
    which = np.arange(len(ranked)) - np.repeat(starts, counts)
    key = np.empty_like(content)
    key[order] = _mixed(ranked + which.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return key


def _content_keys(data: Encoded) -> NDArray[np.uint64]:
    """A number of each row's cells."""
    cells = np.concatenate([data.values + np.float32(0.0), data.observed], axis=1)
    key = np.zeros(len(cells), dtype=np.uint64)
    for column in cells.view(np.uint32).T:  # + 0.0 has made -0.0 the same number as 0.0
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finishing steps of splitmix64."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def _smallest(data: Encoded, key: NDArray[np.uint64]) -> Rows:
    """The rows with the smallest keys, sorted by them."""
    some = np.arange(len(key))
    if len(key) > SITE_ROWS:
        some = np.argpartition(key, SITE_ROWS)[:SITE_ROWS]
    order = some[np.argsort(key[some])]
    return Rows(take(data, order), key[order])


def _with_label(model: FittedModel, data: Encoded, y: NDArray) -> Encoded:
    """The rows with the label's columns [rows, label columns] filled."""
    values, observed = data.values.copy(), data.observed.copy()
    first = values.shape[1] - model.sizes.label_columns
    values[:, first : first + y.shape[1]] = y
    observed[:, -1] = 1.0
    return Encoded(values, observed)


def no_evidence(model: FittedModel) -> Evidence:
    """The evidence of a site without rows."""
    none = Encoded(
        np.zeros((0, model.sizes.columns), dtype=np.float32),
        np.zeros((0, model.sizes.variables), dtype=np.float32),
    )
    nothing = Rows(none, np.zeros(0, dtype=np.uint64))
    levels = np.zeros((2, len(model.table.features)), dtype=np.int64)
    return Evidence(0, no_rows(model), nothing, nothing, levels)
