"""What is kept of a site's rows: the encoder's sums over all of them, and some of the rows.

Sums add up, and which rows are kept depends on their positions alone: a site whose rows arrive in
parts, today and tomorrow, is known as well as one whose rows arrive at once. Memory is bounded.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.chunks import Chunks
from ..data.layout import Encoded, take
from ..model import Summary
from ..model.constants import SITE_ROWS
from .environment import no_rows, summarise
from .fitted import FittedModel


@dataclass(frozen=True)
class Evidence:
    """Rows of one site, in bounded memory.

    Attributes
    ----------
    n_rows : how many rows the site has.
    summary : the encoder's sums over all of them, per member.
    kept : at most `SITE_ROWS` of them, in the order of their arrival, without labels.
    position : which rows these are.
    labelled, labelled_position : the same of the rows whose label is known, with it.
    """

    n_rows: int
    summary: Summary
    kept: Encoded
    position: NDArray[np.int64]
    labelled: Encoded
    labelled_position: NDArray[np.int64]

    def sample(self, most: int) -> NDArray[np.intp]:
        """Which of the kept rows, at most so many, stand for all rows of the site."""
        if len(self.position) <= most:
            return np.arange(len(self.position))
        return np.sort(np.argsort(_priority(self.position), kind="stable")[:most])

    def rows(self, most: int) -> Encoded:
        """At most so many rows that stand for all rows of the site."""
        return take(self.kept, self.sample(most))


def gather(model: FittedModel, chunks: Chunks, y: NDArray | None = None) -> Evidence:
    """The evidence of all rows of a site; `y` [rows, label columns], NaN where it is not known."""
    return add_rows(model, _nothing(model), chunks, y)


def add_rows(
    model: FittedModel, before: Evidence, chunks: Chunks, y: NDArray | None = None
) -> Evidence:
    """The evidence with further rows of the same site."""
    uses = model.formulation.uses_environment
    more = summarise(model, chunks) if uses else no_rows(model)
    new = before.n_rows + np.arange(len(chunks.X))
    old, fresh = _kept(before.position, new)
    kept = _joined(take(before.kept, old), chunks.encoded(fresh))
    position = np.concatenate([before.position[old], new[fresh]])
    labelled, labelled_position = before.labelled, before.labelled_position
    if y is not None:
        known = np.flatnonzero(~np.isnan(y).any(1))
        old, some = _kept(labelled_position, new[known])
        fresh = known[some]
        more_labels = _with_label(model, chunks.encoded(fresh), y[fresh])
        labelled = _joined(take(labelled, old), more_labels)
        labelled_position = np.concatenate([labelled_position[old], new[fresh]])
    return Evidence(
        *(before.n_rows + len(new), before.summary + more),
        *(kept, position, labelled, labelled_position),
    )


def _kept(
    position: NDArray[np.int64], new: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the rows before and of the new ones are kept: those of the least priority."""
    every = np.concatenate([position, new])
    keep = np.arange(len(every))
    if len(every) > SITE_ROWS:
        keep = np.sort(np.argpartition(_priority(every), SITE_ROWS)[:SITE_ROWS])
    split = np.searchsorted(keep, len(position))
    return keep[:split], keep[split:] - len(position)


def _joined(one: Encoded, other: Encoded) -> Encoded:
    return Encoded(
        np.concatenate([one.values, other.values]), np.concatenate([one.observed, other.observed])
    )


def _with_label(model: FittedModel, data: Encoded, y: NDArray) -> Encoded:
    """The rows with the label's columns [rows, label columns] filled."""
    values, observed = data.values.copy(), data.observed.copy()
    first = values.shape[1] - model.sizes.label_columns
    values[:, first : first + y.shape[1]] = y
    observed[:, -1] = 1.0
    return Encoded(values, observed)


def _priority(position: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed pseudo-random number of each position (the mixing function of splitmix64)."""
    z = (position.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _nothing(model: FittedModel) -> Evidence:
    none = Encoded(
        np.zeros((0, model.sizes.columns), dtype=np.float32),
        np.zeros((0, model.sizes.variables), dtype=np.float32),
    )
    nowhere = np.zeros(0, dtype=np.int64)
    return Evidence(0, no_rows(model), none, nowhere, none, nowhere)
