"""Inference on the graph: the label's posterior from its parents and its children.

    log p(y | x) = log p(y | pa(y), E) + t Σ over children c of log p(x_c | pa(c), y, E, r_c) + …

At a new site the effects r_c of the site on each child's mechanism, and on the label's intercept,
are estimated from its unlabelled rows by EM under their distribution over the sources. The label
takes the values of a support: its classes, or a grid of numbers. Missing children drop out of the
sum. The temperature t ≤ 1 is the one with the least loss on left-out sources.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..model.constants import (
    EFFECT_FLOOR,
    EFFECT_INFLATION,
    EM_STEPS,
    EM_TOLERANCE,
    LEAST_NOISE,
)
from .site_effects import Effects, SlotRows, SourceEffects, fit_effects, log_prior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EffectPrior:
    """Mean and variance of the effects between sites, slot by slot; noise variance of numbers."""

    mean: Array  # [slots, inputs, width]
    variance: Array
    noise: Array  # [slots]

    @staticmethod
    def learn(sources: Sequence[Sequence[SourceEffects]]) -> "EffectPrior":
        """From the effects of every source, one list of slots each.

        The variance between sources is what their estimates vary more than by chance; one source
        alone says nothing about it.
        """
        effects = np.stack([[slot.effects for slot in one] for one in sources])
        chance = np.stack([[slot.variance for slot in one] for one in sources])
        noise = np.mean([[slot.noise for slot in one] for one in sources], axis=0)
        n = len(sources)
        spread = effects.var(0, ddof=1) if n > 1 else np.ones_like(effects[0])
        certainty = 1.0 / (chance + spread)
        mean = (certainty * effects).sum(0) / certainty.sum(0)
        between = np.maximum(spread - chance.mean(0), 0.0) + EFFECT_FLOOR**2
        return EffectPrior(mean, EFFECT_INFLATION * (1 + 1 / n) * between, noise)


@dataclass(frozen=True)
class LabelPosterior:
    """The label's posterior at the rows of a site, and what was learned about its mechanisms."""

    weights: Array  # [values of the label, rows]
    effects: tuple[Effects, ...]  # of every slot
    log_likelihood: float

    def mean(self, support: Array) -> Array:
        """Expected columns of the label: [rows, label columns]."""
        return np.asarray(self.weights.T @ support)

    def variance(self, support: Array) -> Array:
        """Variance of a number: [rows]."""
        return np.asarray(self.weights.T @ support[:, 0] ** 2 - self.mean(support)[:, 0] ** 2)


def infer_label(
    prior: EffectPrior,
    slots: Sequence[SlotRows],
    support: Array,
    temperature: float,
    reestimates: bool = True,
) -> LabelPosterior:
    """Posterior of the label at a site; the first slot is the label, the others its children.

    EM starts from the parents' prediction and from the sources' mechanisms; the start that leads
    to the highest posterior counts.
    """
    sources = tuple(
        Effects(mean, max(float(noise), LEAST_NOISE))
        for mean, noise in zip(prior.mean, prior.noise, strict=True)
    )
    first = expect(slots, support, sources, temperature)
    if not reestimates or temperature == 0 or len(slots) == 1:
        return first
    from_parents = expect(slots, support, sources, 0.0)
    runs = [_run(prior, slots, support, temperature, s) for s in (from_parents, first)]
    return max(runs, key=lambda found: found.log_likelihood)


def _run(
    prior: EffectPrior,
    slots: Sequence[SlotRows],
    support: Array,
    temperature: float,
    found: LabelPosterior,
) -> LabelPosterior:
    """EM from a posterior until the likelihood stands still."""
    last = -np.inf
    for _ in range(EM_STEPS):
        effects = _maximise(prior, slots, support, found)
        found = expect(slots, support, effects, temperature)
        penalty = sum(
            log_prior(e.effects, m, v)
            for e, m, v in zip(effects, prior.mean, prior.variance, strict=True)
        )
        found = replace(found, log_likelihood=found.log_likelihood + penalty)
        if abs(found.log_likelihood - last) < EM_TOLERANCE * found.weights.shape[1]:
            break
        last = found.log_likelihood
    return found


def _maximise(
    prior: EffectPrior, slots: Sequence[SlotRows], support: Array, found: LabelPosterior
) -> tuple[Effects, ...]:
    weights = found.weights
    label, *children = slots
    # The label's own slot is fitted to the posterior mean of the label in place of its values.
    expected = replace(label, values=found.mean(support), seen=np.ones(weights.shape[1]))
    own = np.ones((1, weights.shape[1]))
    out = []
    for k, (slot, w) in enumerate([(expected, own), *((c, weights) for c in children)]):
        about = prior.mean[k], prior.variance[k], float(prior.noise[k])
        start = found.effects[k]
        moved = fit_effects(slot, w, start, *about)
        # the spread of the label's posterior belongs to its noise
        out.append(replace(moved, noise=start.noise) if k == 0 else moved)
    return tuple(out)


def expect(
    slots: Sequence[SlotRows], support: Array, effects: Sequence[Effects], temperature: float
) -> LabelPosterior:
    """Posterior of the label given the effects of its site."""
    label, *children = slots
    total = _label_log_density(label, support, effects[0])
    if temperature > 0:
        for slot, own in zip(children, effects[1:], strict=True):
            total = total + temperature * slot.log_density(slot.moved(own.effects), own.noise)
    normaliser = _log_sum(total)
    return LabelPosterior(np.exp(total - normaliser), tuple(effects), float(normaliser.sum()))


def _label_log_density(label: SlotRows, support: Array, own: Effects) -> Array:
    """log p(value | parents of the label) for every value of its support: [values, rows]."""
    outputs = label.moved(own.effects)[0]  # [rows, width]
    if label.kind == "continuous":
        found = -0.5 * (support[:, :1] - outputs[:, 0]) ** 2 / own.noise
    elif label.kind == "binary":
        found = np.stack([np.zeros(len(outputs)), outputs[:, 0]])
    else:
        found = outputs.T
    return np.asarray(found - _log_sum(found))


def _log_sum(logarithms: Array) -> Array:
    """log Σ exp over the values of the label: [rows]. SciPy's takes longer for few rows than all
    else in a step of EM."""
    most = logarithms.max(0)
    return np.asarray(most + np.log(np.exp(logarithms - most).sum(0)))


def relative_effects(
    prior: EffectPrior, slots: Sequence[SlotRows], effects: Sequence[Effects]
) -> Array:
    """Effect of the label on each child at a site, relative to that by the sources' mechanisms.

    1 where it is the same, 0 where there is none, negative where it has turned round: the
    regression of the child's mean outputs by value of the label on those expected. NaN where the
    sources' mechanisms expect none.
    """
    out = np.full(len(slots) - 1, np.nan)
    for k, slot in enumerate(slots[1:], start=1):
        expected, found = (
            _by_value(slot.moved(own)) for own in (prior.mean[k], effects[k].effects)
        )
        square = (expected**2).sum()
        if square > 1e-12:
            out[k - 1] = (expected * found).sum() / square
    return out


def _by_value(outputs: Array) -> Array:
    """Mean outputs for each value of the label, less their mean over the values."""
    means = outputs.mean(1)
    return np.asarray(means - means.mean(0))


def class_support(n_columns: int) -> Array:
    """Values of the columns of a discrete label: 0 and 1, or one class each."""
    return np.array([[0.0], [1.0]]) if n_columns == 1 else np.eye(n_columns)


def interpolation(coarse: Array, fine: Array) -> Array:
    """Weights that interpolate linearly from a grid to values between: [fine, coarse].

    The identity where both are the values of a class.
    """
    if len(coarse) == len(fine):
        return np.eye(len(fine))
    at = np.clip(np.searchsorted(coarse, fine) - 1, 0, len(coarse) - 2)
    share = (fine - coarse[at]) / (coarse[at + 1] - coarse[at])
    weights = np.zeros((len(fine), len(coarse)))
    weights[np.arange(len(fine)), at] = 1 - share
    weights[np.arange(len(fine)), at + 1] += share
    return weights
