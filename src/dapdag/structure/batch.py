"""Moments of parent sets of one size, gathered from a dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dapdag.structure.dictionary import NORMAL_TARGET, TARGET, Dictionary, Layout
from dapdag.structure.statistics import Array

N_TARGETS = 2
_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Batch:
    """Parent sets of one size; what of their moments is needed is gathered when it is.

    Terms are the constant, the parents' own features, their products, and the target on both
    scales, in this order.
    """

    dictionary: Dictionary
    columns: NDArray[np.intp]  # [sets, terms]: positions in the dictionary
    n_parents: int

    @property
    def layout(self) -> Layout:
        return self.dictionary.layout

    @property
    def width(self) -> int:
        return self.layout.width

    @property
    def count(self) -> Array:
        """Rows of each site."""
        return self.dictionary.moments.count

    @property
    def position(self) -> Array:
        """Place of each site on the main axis of the sites."""
        return self.dictionary.features.position

    @cached_property
    def precision(self) -> Array:
        """Prior precision of the terms, in units of the noise: [sets, terms - 2]."""
        return self.dictionary.prior_precision[self.columns[:, :-N_TARGETS]]

    @property
    def n_sets(self) -> int:
        return len(self.columns)

    @property
    def n_additive(self) -> int:
        return 1 + self.n_parents * self.width

    @property
    def n_terms(self) -> int:
        return int(self.columns.shape[1]) - N_TARGETS

    @property
    def n_rows(self) -> float:
        return float(self.count.sum())

    @cached_property
    def _flat(self) -> NDArray[np.intp]:
        """Positions of the terms' products in a Gram matrix: [sets, terms, terms]."""
        size = self.layout.size
        return np.asarray(self.columns[:, :, None] * size + self.columns[:, None, :])

    @cached_property
    def gram(self) -> Array:
        """Gram matrix of every site: [sets, sites, terms, terms]."""
        moments = self.dictionary.moments.gram
        out = np.empty((self.n_sets, len(moments), *self._flat.shape[1:]))
        for m, whole in enumerate(moments):
            out[:, m] = np.take(whole, self._flat)
        return out

    def site_rows(self, terms: NDArray[np.intp], weight: Array | None) -> Array:
        """Rows of the sites' Gram matrices, times a weight: [sets, sites, rows, terms]."""
        if weight is not None or "gram" in vars(self):
            rows = self.gram[:, :, terms]
            return rows if weight is None else rows * weight[:, :, None, None]
        flat = self._flat[:, terms]
        out = np.empty((self.n_sets, len(self.count), *flat.shape[1:]))
        for m, whole in enumerate(self.dictionary.moments.gram):
            out[:, m] = np.take(whole, flat)
        return out

    def total(
        self,
        weight: Array | None,
        power: int = 0,
        rows: NDArray[np.intp] | slice = _ALL,
        columns: NDArray[np.intp] | slice = _ALL,
    ) -> Array:
        """Σ w e^power G over sites at positions e, or a block of it: [sets, rows, columns]."""
        if weight is None:
            flat = self._flat[:, rows][:, :, columns]
            return np.take(self.dictionary.site_sums[power], flat)
        block = self.gram[:, :, rows][..., columns]
        n_sets, n_sites, *shape = block.shape
        scaled = (weight * self.position**power)[:, None, :]
        return np.asarray((scaled @ block.reshape(n_sets, n_sites, -1)).reshape(n_sets, *shape))

    def take(self, which: NDArray[np.intp]) -> Batch:
        """Some of the sets."""
        if len(which) == self.n_sets:
            return self
        some = Batch(self.dictionary, self.columns[which], self.n_parents)
        if "gram" in vars(self):
            vars(some)["gram"] = self.gram[which]
        return some


def make_batch(dictionary: Dictionary, parent_sets: list[tuple[int, ...]]) -> Batch:
    """Gather the moments of parent sets of one size (positions among the candidates)."""
    layout = dictionary.layout
    columns = np.array(
        [[*layout.additive(s), *layout.products(s), TARGET, NORMAL_TARGET] for s in parent_sets],
        dtype=np.intp,
    )
    return Batch(dictionary, columns, len(parent_sets[0]))
