"""Moments of parent sets of one size, gathered from a dictionary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dapdag.structure.dictionary import NORMAL_TARGET, TARGET, Dictionary
from dapdag.structure.statistics import Array

N_TARGETS = 2


@dataclass(frozen=True, eq=False)
class Batch:
    """Moments of parent sets of one size.

    Terms are the constant, the parents' own features, their products, and the target on both
    scales, in this order.
    """

    gram: Array  # [sets, sites, terms, terms]
    count: Array  # [sites]
    position: Array  # [sites]: on the main axis of the sites
    precision: Array  # [sets, terms - 2]: prior, in units of the noise
    columns: NDArray[np.intp]  # [sets, terms]: positions in the dictionary
    n_parents: int
    width: int

    @property
    def n_additive(self) -> int:
        return 1 + self.n_parents * self.width

    @property
    def n_terms(self) -> int:
        return int(self.precision.shape[1])

    @property
    def n_rows(self) -> float:
        return float(self.count.sum())

    def weighted_sums(self, weight: Array) -> Array:
        """Σ w G, Σ w e G and Σ w e² G over sites at positions e: [sets, 3, terms, terms]."""
        n_sets, n_sites, n_all, _ = self.gram.shape
        e = self.position
        weights = weight[:, None, :] * np.stack([np.ones(n_sites), e, e**2])
        sums = weights @ self.gram.reshape(n_sets, n_sites, n_all**2)
        return np.asarray(sums.reshape(n_sets, 3, n_all, n_all))

    @cached_property
    def equal_sums(self) -> Array:
        """The same for equal weights."""
        return self.weighted_sums(np.ones((len(self.gram), len(self.count))))

    def take(self, which: NDArray[np.intp]) -> Batch:
        """Some of the sets."""
        if len(which) == len(self.gram):
            return self
        some = replace(
            self,
            gram=self.gram[which],
            precision=self.precision[which],
            columns=self.columns[which],
        )
        # a sum over many sites is worth keeping
        vars(some)["equal_sums"] = self.equal_sums[which]
        return some


def make_batch(dictionary: Dictionary, parent_sets: list[tuple[int, ...]]) -> Batch:
    """Gather the moments of parent sets of one size (positions among the candidates)."""
    layout = dictionary.layout
    columns = np.array(
        [[*layout.additive(s), *layout.products(s), TARGET, NORMAL_TARGET] for s in parent_sets],
        dtype=np.intp,
    )
    moments = dictionary.moments.gram
    n_terms = columns.shape[1]
    flat = columns[:, :, None] * layout.size + columns[:, None, :]
    gram = np.empty((len(columns), len(moments), n_terms, n_terms))
    for m, whole in enumerate(moments):
        gram[:, m] = np.take(whole.ravel(), flat)
    return Batch(
        gram=gram,
        count=dictionary.moments.count,
        position=dictionary.features.position,
        precision=dictionary.prior_precision[columns[:, :-N_TARGETS]],
        columns=columns,
        n_parents=len(parent_sets[0]),
        width=layout.width,
    )
