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

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.dictionary import N_PAIR, NORMAL_TARGET, TARGET, Dictionary
from dapdag.structure.nesting import FULL_MODEL, included_terms, nested_models
from dapdag.structure.statistics import Array

N_TARGETS = 2
# Pseudo-rows that pull a site's noise variance towards that of all sites.
_NOISE_PRIOR_ROWS = 4.0
_EXCLUDED = 1e9


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


@dataclass(frozen=True, eq=False)
class Choice:
    """The model of each set with the highest evidence; all arrays have one entry per set."""

    value: Array
    level: NDArray[np.intp]  # see SITE_LEVELS
    target: NDArray[np.intp]  # 0 own scale, 1 normal scale
    model: NDArray[np.intp]  # which terms enter, see `nested_models`
    unequal_noise: NDArray[np.bool_]
    weight: Array  # [sets, sites]: noise precision relative to the mean
    noise: Array  # noise variance as a share of the target's variance
    relaxed: Array  # factor on the prior precision


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


def best_models(batch: Batch, normal_scale_gain: float) -> list[Choice]:
    """The most probable model of each parent set, for the target on its own and normal scale.

    `normal_scale_gain` is the log likelihood gained by the transform to normal scores, −inf where
    that scale is not to be tried.
    """
    gains = [0.0, normal_scale_gain][: 1 if normal_scale_gain == -np.inf else N_TARGETS]
    choices, least_noise = _choose(batch, np.ones(len(batch.gram)), gains)
    small = np.flatnonzero(least_noise < c.SMALL_NOISE)
    if len(small):
        relaxed = np.maximum(least_noise[small], c.NOISE_FLOOR)
        again, _ = _choose(batch.take(small), relaxed, gains)
        choices = [_merge(old, new, small) for old, new in zip(choices, again, strict=True)]
    return choices


def better_of(choices: list[Choice]) -> Choice:
    """The better choice for each set."""
    best = choices[0]
    for other in choices[1:]:
        best = _merge(best, other, np.arange(len(best.value)))
    return best


def level_evidence(batch: Batch, choice: Choice) -> Array:
    """Evidence of every level, with equal and unequal noise: [sets, levels, 2]."""
    out = np.full((len(batch.gram), len(c.SITE_LEVELS), 2), -np.inf)
    everyone = np.arange(len(batch.gram))
    for level in _levels(batch):
        fit = _fit(batch, level, None, choice.relaxed)
        out[:, level, 0] = fit.value[everyone, choice.target].max(axis=1)
        if len(batch.count) > 1:
            weight, gain = _noise_weights(batch, level, choice.relaxed, choice.target)
            fit = _fit(batch, level, weight, choice.relaxed)
            out[:, level, 1] = fit.value[everyone, choice.target].max(axis=1) + gain
    return out


def residual_coefficients(batch: Batch, choice: Choice) -> Array:
    """Coefficients of the terms in the residual y − Φβ − Φ_r b_m: [sets, sites, terms]."""
    out = np.zeros((len(batch.gram), len(batch.count), batch.gram.shape[-1]))
    for level in np.unique(choice.level):
        which = np.flatnonzero(choice.level == level)
        out[which] = _residual_terms(
            batch.take(which),
            int(level),
            choice.weight[which],
            choice.relaxed[which],
            choice.target[which],
            choice.model[which],
        )
    return out


@dataclass(frozen=True, eq=False)
class _Fit:
    value: Array  # [sets, targets, models]
    noise: Array  # the same: rss / n


def _choose(batch: Batch, relaxed: Array, gains: list[float]) -> tuple[list[Choice], Array]:
    """The best model of each set for each target, and the smallest noise under any model."""
    n_sets, n_sites = len(batch.gram), len(batch.count)
    equal = np.ones((n_sets, n_sites))
    best: list[Choice] = []
    tried = np.arange(n_sets)
    least_noise = np.ones(n_sets)
    for level in _levels(batch):
        fit = _fit(batch.take(tried), level, None, relaxed[tried])
        found = [
            _summary(fit, target, gain, level, equal[tried], relaxed[tried])
            for target, gain in enumerate(gains)
        ]
        best = [_merge(a, b, tried) for a, b in zip(best, found, strict=True)] if best else found
        least_noise[tried] = np.minimum(least_noise[tried], fit.noise.min(axis=(1, 2)))
        if level == c.LEVEL_FREE_SLOPES:
            close = [
                b.value >= a.value[tried] - c.LEVEL_MARGIN for a, b in zip(best, found, strict=True)
            ]
            tried = tried[np.any(close, axis=0)]
            if not len(tried):
                break
    if n_sites > 1:
        best = [
            _with_unequal_noise(batch, choice, target, gains[target])
            for target, choice in enumerate(best)
        ]
    return best, least_noise


def _with_unequal_noise(batch: Batch, best: Choice, target: int, gain: float) -> Choice:
    """Let the noise differ between sites where that is more probable."""
    for level in np.unique(best.level).tolist():
        which = np.flatnonzero(best.level == level)
        some, relaxed = batch.take(which), best.relaxed[which]
        weight, bonus = _noise_weights(some, level, relaxed, best.target[which])
        fit = _fit(some, level, weight, relaxed)
        found = _summary(fit, target, gain + bonus, level, weight, relaxed)
        best = _merge(best, replace(found, unequal_noise=np.ones(len(which), dtype=bool)), which)
    return best


def _levels(batch: Batch) -> range:
    if len(batch.count) == 1:
        return range(1)
    return range(len(c.SITE_LEVELS) if batch.n_parents else 2)


def _summary(
    fit: _Fit, target: int, gain: float | Array, level: int, weight: Array, relaxed: Array
) -> Choice:
    """The best of the models of one target."""
    value, noise = fit.value[:, target], fit.noise[:, target]  # [sets, models]
    n_sets = len(value)
    at = value.argmax(axis=1)
    every = np.arange(n_sets)
    return Choice(
        value=value[every, at] + gain,
        level=np.full(n_sets, level, dtype=np.intp),
        target=np.full(n_sets, target, dtype=np.intp),
        model=at,
        unequal_noise=np.zeros(n_sets, dtype=bool),
        weight=weight,
        noise=noise[every, at],
        relaxed=relaxed,
    )


def _merge(old: Choice, new: Choice, which: NDArray[np.intp]) -> Choice:
    """`new` holds the sets `which`; the better of both remains."""
    take = new.value > old.value[which]
    merged = {}
    for name, values in vars(old).items():
        values = values.copy()
        values[which[take]] = getattr(new, name)[take]
        merged[name] = values
    return Choice(**merged)


def _site_effects(batch: Batch, level: int) -> tuple[NDArray[np.intp], Array]:
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
        per_pair = N_PAIR if spec.along else 1
        for number in range(batch.n_parents * (batch.n_parents - 1) // 2):
            for t in range(per_pair):
                terms.append(batch.n_additive + number * N_PAIR + t)
                variances.append(spec.pairs)
    return np.array(terms), 1.0 / np.maximum(variances, 1e-12)


@dataclass(frozen=True, eq=False)
class _SiteFit:
    """What integrating the site effects out leaves, and what their posterior means need."""

    total: Array  # [sets, terms, terms]
    log_det: Array  # [sets]
    terms: NDArray[np.intp]
    inverse: Array  # [sets, sites, effects, effects]: L⁻¹ of K = Φ_rᵀΦ_r + V_r⁻¹ = L Lᵀ
    cross: Array  # [sets, sites, effects, terms]
    along: _SiteFit | None = None  # effects along the axis: one "site"


def _integrate_sites(batch: Batch, level: int, weight: Array | None, relaxed: Array) -> _SiteFit:
    """Gram matrix over all sites with the site effects integrated out."""
    sums = batch.equal_sums if weight is None else batch.weighted_sums(weight)
    total, n_sets = sums[:, 0], len(sums)
    terms, precision = _site_effects(batch, level)
    if level == 0:
        nothing = np.zeros((n_sets, len(batch.count), 0, total.shape[-1]))
        return _SiteFit(total.copy(), np.zeros(n_sets), terms[:0], nothing[..., :0], nothing)
    along = c.SITE_LEVELS[level].along
    free, shared = (terms[:1], terms[1:]) if along else (terms, terms[:0])
    prior = precision * relaxed[:, None]
    cross = batch.gram[:, :, free, :]
    if weight is not None:
        cross = cross * weight[:, :, None, None]
    first = _eliminate(total, cross, free, prior[:, : len(free)])
    if not along:
        return first
    # effects along the axis: what the sites' own intercepts leave of Σ e Φ_rᵀΦ and Σ e² Φ_rᵀΦ_r
    intercept = cross[:, :, 0]  # [sets, sites, terms]
    scaled = intercept * (first.inverse[..., 0, 0] ** 2 * batch.position)[..., None]
    rows = sums[:, 1][:, shared] - scaled[..., shared].mT @ intercept
    scaled = scaled[..., shared] * batch.position[:, None]
    own = sums[:, 2][:, shared[:, None], shared] - scaled.mT @ intercept[..., shared]
    second = _eliminate(first.total, rows[:, None], shared, prior[:, 1:], own[:, None])
    return replace(first, total=second.total, log_det=first.log_det + second.log_det, along=second)


def _eliminate(
    total: Array, cross: Array, terms: NDArray[np.intp], prior: Array, own: Array | None = None
) -> _SiteFit:
    """Integrate out effects with Gram rows `cross` [sets, sites, effects, terms]."""
    K = cross[:, :, :, terms] if own is None else own
    K[:, :, np.arange(len(terms)), np.arange(len(terms))] += prior[:, None, :]
    L = np.linalg.cholesky(K)
    log_diagonal = 2 * np.log(np.diagonal(L, axis1=2, axis2=3)) - np.log(prior)[:, None, :]
    inverse = np.linalg.inv(L)
    stacked = (inverse @ cross).reshape(len(total), -1, total.shape[-1])
    left = total - stacked.mT @ stacked
    return _SiteFit(left, log_diagonal.sum(axis=(1, 2)), terms, inverse, cross)


def _fit(batch: Batch, level: int, weight: Array | None, relaxed: Array) -> _Fit:
    """Evidence of both targets under all models, from one Cholesky factor per nesting."""
    sites = _integrate_sites(batch, level, weight, relaxed)
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
    for nesting in nested_models(batch.n_parents, batch.width):
        order = np.concatenate([nesting.order, diagonal[p:]])
        flat = order[:, None] * len(order) + order
        L = np.linalg.cholesky(np.take(total.reshape(len(total), -1), flat, axis=1))
        explained = np.cumsum(L[:, p:, :p] ** 2, axis=2)
        log_diagonal = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)[:, :p])
        penalty = np.cumsum(log_diagonal - np.log(prior)[:, nesting.order], axis=1)
        last = np.array(nesting.sizes) - 1
        rss = np.maximum(squares - explained[:, :, last], c.NOISE_FLOOR * n)
        cost = penalty[:, None, last] + sites.log_det[:, None, None]
        values.append(-0.5 * n * np.log(rss / n) - 0.5 * cost)
        noises.append(rss / n)
    return _Fit(np.concatenate(values, axis=2), np.concatenate(noises, axis=2))


def _noise_weights(
    batch: Batch, level: int, relaxed: Array, target: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Noise precision of each site relative to the mean, and what it adds to the evidence.

    One step from the fit with equal noise. The M − 1 free variances cost 1/2 log(n / M) each.
    """
    n_sites = len(batch.count)
    everything = np.full(len(batch.gram), FULL_MODEL)
    coefficients = _residual_terms(batch, level, None, relaxed, target, everything)
    rss = np.einsum("bmi,bmi->bm", coefficients, (batch.gram @ coefficients[..., None])[..., 0])
    rss = np.maximum(rss, c.NOISE_FLOOR * batch.count)
    n = batch.n_rows
    pooled = rss.sum(axis=1, keepdims=True) / n
    variance = (rss + _NOISE_PRIOR_ROWS * pooled) / (batch.count + _NOISE_PRIOR_ROWS)
    log_mean = (batch.count * np.log(variance)).sum(axis=1, keepdims=True) / n
    ratio = np.clip(variance / np.exp(log_mean), 1 / c.NOISE_RATIO, c.NOISE_RATIO)
    weight = 1.0 / ratio
    bonus = 0.5 * np.log(weight) @ batch.count - 0.5 * (n_sites - 1) * np.log(n / n_sites)
    return weight, bonus


def _residual_terms(
    batch: Batch,
    level: int,
    weight: Array | None,
    relaxed: Array,
    target: NDArray[np.intp],
    model: NDArray[np.intp],
) -> Array:
    """Posterior means as coefficients of the residual: [sets, sites, terms]."""
    sites = _integrate_sites(batch, level, weight, relaxed)
    total = sites.total
    n_sets, p = len(total), batch.n_terms
    every, y = np.arange(n_sets), p + target
    prior = batch.precision * relaxed[:, None]
    included = included_terms(batch.n_parents, batch.width)[model]  # [sets, terms]
    prior = np.where(included, prior, _EXCLUDED * batch.n_rows)
    H = total[:, :p, :p].copy()
    H[:, np.arange(p), np.arange(p)] += prior
    beta = np.linalg.solve(H, total[every, :p, y][..., None])[..., 0]
    pooled = np.zeros((n_sets, total.shape[-1]))
    pooled[:, :p] = -beta
    pooled[every, y] = 1.0
    out = np.repeat(pooled[:, None, :], len(batch.count), axis=1)  # [sets, sites, terms]
    if sites.along is not None:
        effects = _posterior_effects(sites.along, pooled[:, None, :])  # one for all sites
        out[:, :, sites.along.terms] -= effects * batch.position[:, None]
    if len(sites.terms):
        out[:, :, sites.terms] -= _posterior_effects(sites, out)
    return out


def _posterior_effects(sites: _SiteFit, residual: Array) -> Array:
    """Posterior means K⁻¹ Φ_rᵀ (y − Φβ) of site effects: [sets, sites, effects]."""
    right = sites.cross @ residual[..., None]
    return np.asarray((sites.inverse.mT @ (sites.inverse @ right))[..., 0])
