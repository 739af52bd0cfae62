"""Effects of the sites on a mechanism, integrated out.

With K = Φ_rᵀΦ_r + V_r⁻¹ at a site, integrating its effects out of a Gram matrix leaves
ΦᵀΦ − ΦᵀΦ_r K⁻¹ Φ_rᵀΦ and costs 1/2 log |K V_r|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.batch import Batch
from dapdag.structure.statistics import Array


def site_terms(batch: Batch, level: int) -> tuple[NDArray[np.intp], Array]:
    """Terms whose coefficients differ between sites at a level, and their prior precisions.

    The intercept comes first.
    """
    spec = c.SITE_LEVELS[level]
    terms, variances = [0], [spec.intercept]
    for parent in range(batch.n_parents):
        for k in range(min(spec.n_main, batch.width)):
            terms.append(1 + parent * batch.width + k)
            variances.append(spec.main * spec.decay**k)
    if spec.pairs:
        n_pair = batch.layout.n_pair
        for number in range(batch.n_parents * (batch.n_parents - 1) // 2):
            for t in range(n_pair if spec.along else 1):
                terms.append(batch.n_additive + number * n_pair + t)
                variances.append(spec.pairs)
    return np.array(terms), 1.0 / np.maximum(variances, 1e-12)


@dataclass(frozen=True, eq=False)
class SiteFit:
    """What integrating the site effects out leaves, and what their posterior means need."""

    total: Array  # [sets, terms, terms]
    log_det: Array  # [sets]
    terms: NDArray[np.intp]
    factor: Array  # [sets, sites, effects, effects]: L of K = Φ_rᵀΦ_r + V_r⁻¹ = L Lᵀ
    cross: Array  # [sets, sites, effects, terms]
    along: SiteFit | None = None  # effects along the axis: one "site"

    @cached_property
    def inverse(self) -> Array:
        """L⁻¹, of the shape of L."""
        return _inverse(self.factor)


def integrate_sites(batch: Batch, level: int, weight: Array | None, relaxed: Array) -> SiteFit:
    """Gram matrix over all sites with the site effects integrated out."""
    total, n_sets = batch.total(weight), batch.n_sets
    terms, precision = site_terms(batch, level)
    if level == 0:
        nothing = np.zeros((n_sets, len(batch.count), 0, total.shape[-1]))
        return SiteFit(total, np.zeros(n_sets), terms[:0], nothing[..., :0], nothing)
    along = c.SITE_LEVELS[level].along
    free, shared = (terms[:1], terms[1:]) if along else (terms, terms[:0])
    prior = precision * relaxed[:, None]
    cross = batch.site_rows(free, weight)
    first = _eliminate(total, cross, free, prior[:, : len(free)])
    if not along:
        return first
    # effects along the axis: what the sites' own intercepts leave of Σ e Φ_rᵀΦ and Σ e² Φ_rᵀΦ_r
    intercept = cross[:, :, 0]  # [sets, sites, terms]
    scaled = intercept[..., shared] * (batch.position / first.factor[..., 0, 0] ** 2)[..., None]
    rows = batch.total(weight, 1, shared) - scaled.mT @ intercept
    scaled = scaled * batch.position[:, None]
    own = batch.total(weight, 2, shared, shared) - scaled.mT @ intercept[..., shared]
    second = _eliminate(first.total, rows[:, None], shared, prior[:, 1:], own[:, None])
    return replace(first, total=second.total, log_det=first.log_det + second.log_det, along=second)


def _eliminate(
    total: Array, cross: Array, terms: NDArray[np.intp], prior: Array, own: Array | None = None
) -> SiteFit:
    """Integrate out effects with Gram rows `cross` [sets, sites, effects, terms]."""
    K = cross[:, :, :, terms] if own is None else own
    diagonal = np.arange(len(terms))
    K[:, :, diagonal, diagonal] += prior[:, None, :]
    if own is None:
        L = np.asarray(np.linalg.cholesky(K) if len(terms) > 1 else np.sqrt(K))
        stacked = _inverse(L) @ cross
    else:
        L, stacked = _factor_with(K, cross, 2 * np.trace(total, axis1=1, axis2=2) + 1)
    log_diagonal = 2 * np.log(np.diagonal(L, axis1=2, axis2=3)) - np.log(prior)[:, None, :]
    stacked = stacked.reshape(len(total), -1, total.shape[-1])
    left = total - stacked.mT @ stacked
    return SiteFit(left, log_diagonal.sum(axis=(1, 2)), terms, L, cross)


def _inverse(L: Array) -> Array:
    return np.asarray(np.linalg.inv(L) if L.shape[-1] > 1 else 1 / L)


def _factor_with(K: Array, cross: Array, bound: Array) -> tuple[Array, Array]:
    """L and L⁻¹ cross by one factor of a larger matrix, which is faster for many effects.

    The eigenvalues of crossᵀ K⁻¹ cross are below `bound` [sets].
    """
    n, size = K.shape[-1], K.shape[-1] + cross.shape[-1]
    joint = np.zeros((*K.shape[:-2], size, size))
    joint[..., :n, :n] = K
    joint[..., n:, :n] = cross.mT
    # only L left of this diagonal is read, which is the same for any above the bound
    rest = np.arange(n, size)
    joint[..., rest, rest] = bound[:, None, None]
    L = np.linalg.cholesky(joint)
    return L[..., :n, :n], L[..., n:, :n].mT


def posterior_effects(sites: SiteFit, residual: Array) -> Array:
    """Posterior means K⁻¹ Φ_rᵀ (y − Φβ) of site effects: [sets, sites, effects]."""
    right = sites.cross @ residual[..., None]
    return np.asarray((sites.inverse.mT @ (sites.inverse @ right))[..., 0])
