"""Sums over the rows of every site: all that the evidence needs to know of numeric columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dapdag.structure.constants import CHUNK_ROWS

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SiteMoments:
    """Row counts and Gram matrices Φₘᵀ Φₘ of every site m.

    Moments of disjoint sets of rows add up.
    """

    count: Array  # [sites]
    gram: Array  # [sites, features, features]

    @classmethod
    def of(cls, features: Array, site: NDArray[np.intp], n_sites: int) -> SiteMoments:
        """Moments of rows in any order; `site` numbers the site of each row."""
        width = features.shape[1]
        gram = np.zeros((n_sites, width, width))
        for m in np.unique(site):
            rows = features[site == m]
            gram[m] = rows.T @ rows
        return cls(np.bincount(site, minlength=n_sites).astype(float), gram)

    def __add__(self, other: SiteMoments) -> SiteMoments:
        return SiteMoments(self.count + other.count, self.gram + other.gram)

    @property
    def n_rows(self) -> float:
        """Rows of all sites together."""
        return float(self.count.sum())


def chunks(bounds: NDArray[np.intp], size: int = CHUNK_ROWS) -> Iterable[tuple[int, slice]]:
    """Site and rows of each chunk, for rows that are sorted by site; `bounds` are [sites + 1]."""
    for m, (start, stop) in enumerate(pairwise(bounds.tolist())):
        for at in range(start, stop, size):
            yield m, slice(at, min(at + size, stop))
