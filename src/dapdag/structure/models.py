"""The most probable model of each parent set: level of site effects, terms, noise and scale."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.batch import N_TARGETS, Batch
from dapdag.structure.evidence import Fit, fit_models, noise_bonus, noise_weights, residual_terms
from dapdag.structure.statistics import Array


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
    density: Array  # part of the value that is due to the density of the residuals

    def take(self, which: NDArray[np.intp]) -> Choice:
        """Some of the sets."""
        return Choice(**{name: values[which] for name, values in vars(self).items()})

    def with_density(self, gain: Array) -> Choice:
        """The same models with a density of the residuals that is worth `gain` nats."""
        return replace(self, value=self.value + gain, density=gain)


def stack(choices: list[Choice]) -> Choice:
    """Choices of several batches in one."""
    return Choice(
        **{name: np.concatenate([vars(k)[name] for k in choices]) for name in vars(choices[0])}
    )


def best_models(batch: Batch, normal_scale_gain: float) -> list[Choice]:
    """The most probable model of each parent set, for the target on its own and normal scale.

    Noise is the same at all sites: `with_unequal_noise` lets it differ.
    `normal_scale_gain` is the log likelihood gained by the transform to normal scores, −inf where
    that scale is not to be tried.
    """
    gains = [0.0, normal_scale_gain][: 1 if normal_scale_gain == -np.inf else N_TARGETS]
    choices, least_noise = _choose(batch, np.ones(batch.n_sets), gains)
    small = np.flatnonzero(least_noise < c.SMALL_NOISE)
    if len(small):
        relaxed = np.maximum(least_noise[small], c.NOISE_FLOOR)
        again, _ = _choose(batch.take(small), relaxed, gains)
        choices = [better_of(old, new, small) for old, new in zip(choices, again, strict=True)]
    return choices


def extended_models(
    batch: Batch, subset: Choice, levels: list[set[int]], normal_scale_gain: float
) -> Choice:
    """The best terms of each set, with all else as in the model of one of its subsets.

    Besides the subset's level of site effects, `levels` are tried.
    """
    gains = np.array([0.0, normal_scale_gain])
    best = replace(subset, value=np.full(batch.n_sets, -np.inf))
    for level in sorted(set().union(*levels)):
        for unequal in (False, True):
            which = np.flatnonzero(
                [level in own for own in levels] & (subset.unequal_noise == unequal)
            )
            if not len(which):
                continue
            some, old = batch.take(which), subset.take(which)
            weight = old.weight if unequal else None
            fit = fit_models(some, level, weight, old.relaxed)
            every = np.arange(len(which))
            value, noise = fit.value[every, old.target], fit.noise[every, old.target]
            at = value.argmax(axis=1)
            total = value[every, at] + gains[old.target] + old.density
            if unequal:
                total = total + noise_bonus(old.weight, batch.count)
            found = replace(
                old,
                value=total,
                level=np.full(len(which), level, dtype=np.intp),
                model=at,
                noise=noise[every, at],
            )
            best = better_of(best, found, which)
    return best


def contenders(own: Choice, other: Choice, density: Array) -> NDArray[np.intp]:
    """Sets for which another scale may be better than the target's own, both with equal noise.

    It may where the residuals on the own scale are not normal: `density` is what their density
    adds.
    """
    margin = np.minimum(c.SCALE_MARGIN, c.NORMAL_SCALE_MARGIN + 2 * density)
    return np.flatnonzero(other.value > own.value - margin)


def level_evidence(batch: Batch, choice: Choice) -> Array:
    """Evidence of every level, with equal and unequal noise: [sets, levels, 2]."""
    out = np.full((batch.n_sets, len(c.SITE_LEVELS), 2), -np.inf)
    everyone = np.arange(batch.n_sets)
    for level in _levels(batch):
        fit = fit_models(batch, level, None, choice.relaxed)
        out[:, level, 0] = fit.value[everyone, choice.target].max(axis=1)
        if len(batch.count) > 1:
            weight, _ = noise_weights(batch, level, choice.relaxed, choice.target)
            fit = fit_models(batch, level, weight, choice.relaxed)
            bonus = noise_bonus(weight, batch.count)
            out[:, level, 1] = fit.value[everyone, choice.target].max(axis=1) + bonus
    return out


def residual_coefficients(batch: Batch, choice: Choice) -> Array:
    """Coefficients of the terms in the residual y − Φβ − Φ_r b_m: [sets, sites, terms]."""
    out = np.zeros((batch.n_sets, len(batch.count), batch.gram.shape[-1]))
    for level in np.unique(choice.level):
        which = np.flatnonzero(choice.level == level)
        out[which] = residual_terms(
            batch.take(which),
            int(level),
            choice.weight[which],
            choice.relaxed[which],
            choice.target[which],
            choice.model[which],
        )
    return out


def _choose(batch: Batch, relaxed: Array, gains: list[float]) -> tuple[list[Choice], Array]:
    """The best model of each set for each target, and the smallest noise under any model."""
    n_sets = batch.n_sets
    equal = np.ones((n_sets, len(batch.count)))
    best: list[Choice] = []
    everyone = np.arange(n_sets)
    least_noise = np.ones(n_sets)
    for level in _levels(batch):
        fit = fit_models(batch, level, None, relaxed)
        found = [
            _summary(fit, target, gain, level, equal, relaxed) for target, gain in enumerate(gains)
        ]
        best = (
            [better_of(a, b, everyone) for a, b in zip(best, found, strict=True)] if best else found
        )
        least_noise = np.minimum(least_noise, fit.noise.min(axis=(1, 2)))
    return best, least_noise


def with_unequal_noise(batch: Batch, best: Choice, normal_scale_gain: float) -> Choice:
    """Let the noise differ between sites where that is more probable, all on one scale."""
    target = int(best.target[0])
    gain = normal_scale_gain if target else 0.0
    if len(batch.count) == 1:
        return best
    for level in np.unique(best.level).tolist():
        which = np.flatnonzero(best.level == level)
        some = batch.take(which)
        weight, expected = noise_weights(some, level, best.relaxed[which], best.target[which])
        likely = np.flatnonzero(expected > -c.NOISE_MARGIN)
        if not len(likely):
            continue
        some, weight, which = some.take(likely), weight[likely], which[likely]
        relaxed = best.relaxed[which]
        fit = fit_models(some, level, weight, relaxed)
        bonus = noise_bonus(weight, batch.count)
        found = _summary(fit, target, gain + bonus, level, weight, relaxed)
        best = better_of(best, replace(found, unequal_noise=np.ones(len(which), dtype=bool)), which)
    return best


def _levels(batch: Batch) -> range:
    if len(batch.count) == 1:
        return range(1)
    return range(len(c.SITE_LEVELS) if batch.n_parents else 2)


def _summary(
    fit: Fit, target: int, gain: float | Array, level: int, weight: Array, relaxed: Array
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
        density=np.zeros(n_sets),
    )


def better_of(old: Choice, new: Choice, which: NDArray[np.intp]) -> Choice:
    """The better of two choices for each set; `new` holds the sets `which` only."""
    take = new.value > old.value[which]
    merged = {}
    for name, values in vars(old).items():
        values = values.copy()
        values[which[take]] = getattr(new, name)[take]
        merged[name] = values
    return Choice(**merged)
