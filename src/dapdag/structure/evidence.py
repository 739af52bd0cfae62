"""Marginal likelihood of a numeric variable given parents and sites, in closed form.

The model of a target y at site m with features Φ of the parents is

    y = Φ β + Φ_r b_m + ε,   ε ~ N(0, σ² / w_m),   β ~ N(0, σ² V),   b_m ~ N(0, σ² V_r),

where Φ_r are the features whose coefficients may differ between sites. β and all b_m are
integrated out; σ² takes its maximum-likelihood value. With the Gram matrices of the sites,

    log p(y | parents) = −n/2 log(rss / n) − 1/2 log |I + V ΦᵀΦ| − 1/2 Σ_m log |I + V_r Φ_rᵀΦ_r|

up to a constant, where the second Gram matrix is what remains after the b_m are integrated out.
Which features may differ (the level), which terms enter (see `nested_models`), whether noise
differs between sites, and whether y is on its own or on the normal scale are chosen by the
evidence itself.

Functions work on batches of parent sets of one size: axes are [sets, sites, terms, terms].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.batch import Batch
from dapdag.structure.nesting import FULL_MODEL, included_terms, nested_models
from dapdag.structure.site_effects import integrate_sites, posterior_effects
from dapdag.structure.statistics import Array

# Prior precision of terms that are left out, per row.
_EXCLUDED = 1e9


@dataclass(frozen=True, eq=False)
class Fit:
    value: Array  # [sets, targets, models]
    noise: Array  # the same: rss / n


def fit_models(batch: Batch, level: int, weight: Array | None, relaxed: Array) -> Fit:
    """Evidence of both targets under all models, from one Cholesky factor per nesting."""
    sites = integrate_sites(batch, level, weight, relaxed)
    total = sites.total
    p, n = batch.n_terms, batch.n_rows
    squares = np.diagonal(total, axis1=1, axis2=2)[:, p:, None].copy()  # [sets, targets, 1]
    prior = batch.precision * relaxed[:, None]
    diagonal = np.arange(total.shape[-1])
    total[:, diagonal[:p], diagonal[:p]] += prior
    # Only the rows of the targets left of the diagonal are read, which a larger diagonal leaves
    # as they are.
    total[:, diagonal[p:], diagonal[p:]] += 1e3 * n
    values, noises = [], []
    for nesting in nested_models(batch.n_parents, batch.layout):
        q = nesting.sizes[-1]
        order = np.concatenate([nesting.order[:q], diagonal[p:]])
        flat = order[:, None] * len(diagonal) + order
        L = np.linalg.cholesky(np.take(total.reshape(len(total), -1), flat, axis=1))
        explained = np.cumsum(L[:, q:, :q] ** 2, axis=2)
        log_diagonal = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)[:, :q])
        penalty = np.cumsum(log_diagonal - np.log(prior)[:, order[:q]], axis=1)
        last = np.array(nesting.sizes) - 1
        rss = np.maximum(squares - explained[:, :, last], c.NOISE_FLOOR * n)
        cost = penalty[:, None, last] + sites.log_det[:, None, None]
        values.append(-0.5 * n * np.log(rss / n) - 0.5 * cost)
        noises.append(rss / n)
    return Fit(np.concatenate(values, axis=2), np.concatenate(noises, axis=2))


def noise_weights(
    batch: Batch, level: int, relaxed: Array, target: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Noise precision of each site relative to the mean, and what it should gain.

    One step from the fit with equal noise. The M − 1 free variances cost 1/2 log(n / M) each.
    """
    everything = np.full(batch.n_sets, FULL_MODEL)
    coefficients = residual_terms(batch, level, None, relaxed, target, everything)
    rss = np.einsum("bmi,bmi->bm", coefficients, (batch.gram @ coefficients[..., None])[..., 0])
    rss = np.maximum(rss, c.NOISE_FLOOR * batch.count)
    n = batch.n_rows
    pooled = rss.sum(axis=1, keepdims=True) / n
    variance = (rss + c.NOISE_PRIOR_ROWS * pooled) / (batch.count + c.NOISE_PRIOR_ROWS)
    log_mean = (batch.count * np.log(variance)).sum(axis=1, keepdims=True) / n
    ratio = np.clip(variance / np.exp(log_mean), 1 / c.NOISE_RATIO, c.NOISE_RATIO)
    weight = 1.0 / ratio
    gain = 0.5 * n * (np.log(pooled) - log_mean)[:, 0] + noise_bonus(weight, batch.count)
    return weight, gain


def noise_bonus(weight: Array, count: Array) -> Array:
    """What noise precisions [sets, sites] add to the evidence, less the cost of M − 1 of them."""
    n, n_sites = count.sum(), len(count)
    return np.asarray(0.5 * np.log(weight) @ count - 0.5 * (n_sites - 1) * np.log(n / n_sites))


def residual_terms(
    batch: Batch,
    level: int,
    weight: Array | None,
    relaxed: Array,
    target: NDArray[np.intp],
    model: NDArray[np.intp],
) -> Array:
    """Posterior means as coefficients of the residual: [sets, sites, terms]."""
    sites = integrate_sites(batch, level, weight, relaxed)
    total = sites.total
    n_sets, p = len(total), batch.n_terms
    every, y = np.arange(n_sets), p + target
    prior = batch.precision * relaxed[:, None]
    included = included_terms(batch.n_parents, batch.layout)[model]  # [sets, terms]
    prior = np.where(included, prior, _EXCLUDED * batch.n_rows)
    H = total[:, :p, :p].copy()
    H[:, np.arange(p), np.arange(p)] += prior
    beta = np.linalg.solve(H, total[every, :p, y][..., None])[..., 0]
    pooled = np.zeros((n_sets, total.shape[-1]))
    pooled[:, :p] = -beta
    pooled[every, y] = 1.0
    out = np.repeat(pooled[:, None, :], len(batch.count), axis=1)  # [sets, sites, terms]
    if sites.along is not None:
        effects = posterior_effects(sites.along, pooled[:, None, :])  # one for all sites
        out[:, :, sites.along.terms] -= effects * batch.position[:, None]
    if len(sites.terms):
        out[:, :, sites.terms] -= posterior_effects(sites, out)
    return out
