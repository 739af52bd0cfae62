"""Inference on the graph: Bayes' theorem on the label's parents and children, and EM at a site."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from dapdag.inference.graph_expert import (
    EffectPrior,
    _maximise,
    class_support,
    expect,
    infer_label,
    interpolation,
    relative_effects,
)
from dapdag.inference.site_effects import Effects, SlotRows, SourceEffects, log_prior
from dapdag.model.constants import NOISE_PRIOR_ROWS

GRID = np.linspace(-6, 6, 401)[:, None]
NOTHING = Effects(np.zeros((2, 1)), 1.0)


def label_slot(kind, outputs):
    """The label, whose mechanism has these outputs [rows, width]."""
    n = len(outputs)
    design = np.column_stack([np.ones(n), np.zeros(n)])
    seen, values = np.zeros(n), np.zeros_like(outputs)
    return SlotRows(kind, outputs[None], values, seen, design, np.zeros((1, 2)))


def child_slot(kind, outputs, values, support, seen=None):
    """A child whose mechanism has these outputs [values of the label, rows, width]."""
    n = len(values)
    design = np.column_stack([np.ones(n), np.zeros(n)])
    label = np.column_stack([np.zeros(len(support)), support[:, 0]])
    seen = np.ones(n) if seen is None else seen
    return SlotRows(kind, outputs, values, seen, design, label)


def along(support, slope, n):
    """Outputs slope · label, the same in all rows."""
    return np.repeat((slope * support)[:, None], n, axis=1)


def prior_of(n_slots, variance=1.0, noise=1.0, width=1):
    """No effect on average; the constant hardly varies, the label's slope by `variance`."""
    spread = np.full((n_slots, 2, width), variance)
    spread[:, 0] = 1e-4
    return EffectPrior(np.zeros((n_slots, 2, width)), spread, np.full(n_slots, noise))


def numbers(n=40, slope=2.0, noise=0.5, at=1.0, seed=0):
    """y ~ N(z, .64), x = slope · y + noise; the sources' slope is 2."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    y = z + 0.8 * rng.normal(size=(n, 1))
    x = slope * y + np.sqrt(noise) * rng.normal(size=(n, 1))
    slots = [label_slot("continuous", z), child_slot("continuous", along(GRID, 2.0, n), x, GRID)]
    return slots, y[:, 0], z[:, 0], x[:, 0]


def test_a_number_has_the_posterior_of_the_linear_gaussian_model():
    slots, _, z, x = numbers()
    found = expect(slots, GRID, [Effects(np.zeros((2, 1)), v) for v in (0.64, 0.5)], 1.0)
    precision = 1 / 0.64 + 2.0**2 / 0.5
    expected = (z / 0.64 + 2.0 * x / 0.5) / precision
    np.testing.assert_allclose(found.mean(GRID)[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(found.variance(GRID), 1 / precision, rtol=1e-3)
    np.testing.assert_allclose(found.weights.sum(0), 1.0)


def test_the_temperature_weighs_the_childrens_evidence():
    slots, _, z, x = numbers()
    own = [Effects(np.zeros((2, 1)), v) for v in (0.64, 0.5)]
    half = expect(slots, GRID, own, 0.5).mean(GRID)[:, 0]
    expected = (z / 0.64 + 0.5 * 2.0 * x / 0.5) / (1 / 0.64 + 0.5 * 2.0**2 / 0.5)
    np.testing.assert_allclose(half, expected, atol=1e-5)
    alone = expect(slots, GRID, own, 0.0)
    np.testing.assert_allclose(alone.mean(GRID)[:, 0], z, atol=1e-4)
    np.testing.assert_allclose(alone.variance(GRID), 0.64, rtol=1e-3)


def test_a_missing_child_drops_out_of_the_sum():
    slots, _, z, _ = numbers(6)
    seen = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    child = slots[1]
    holes = [
        slots[0],
        SlotRows(child.kind, child.outputs, child.values, seen, child.design, child.label),
    ]
    own = [Effects(np.zeros((2, 1)), v) for v in (0.64, 0.5)]
    whole, found = (expect(s, GRID, own, 1.0).mean(GRID)[:, 0] for s in (slots, holes))
    np.testing.assert_allclose(found[seen == 0], z[seen == 0], atol=1e-6)
    np.testing.assert_array_equal(found[seen == 1], whole[seen == 1])


@pytest.mark.parametrize("child_kind", ["binary", "categorical"])
def test_two_classes_have_the_posterior_of_bayes(child_kind):
    rng = np.random.default_rng(0)
    n, support = 30, class_support(1)
    parents = rng.normal(size=(n, 1))
    width = 1 if child_kind == "binary" else 3
    logits = rng.normal(size=(2, n, width))
    if child_kind == "binary":
        values = (rng.random((n, 1)) < 0.5).astype(float)
        p = expit(logits[..., 0])
        likelihood = np.where(values[:, 0] == 1, p, 1 - p)
    else:
        which = rng.integers(3, size=n)
        values = np.eye(3)[which]
        likelihood = softmax(logits, axis=-1)[:, np.arange(n), which]
    slots = [label_slot("binary", parents), child_slot(child_kind, logits, values, support)]
    own = [Effects(np.zeros((2, 1)), 1.0), Effects(np.zeros((2, width)), 1.0)]
    found = expect(slots, support, own, 1.0).mean(support)[:, 0]
    first = expit(parents[:, 0])
    joint = np.stack([(1 - first) * likelihood[0], first * likelihood[1]])
    np.testing.assert_allclose(found, joint[1] / joint.sum(0), rtol=1e-9)


def test_several_classes_have_the_posterior_of_bayes():
    rng = np.random.default_rng(1)
    n, support = 20, class_support(3)
    parents, x = rng.normal(size=(n, 3)), rng.normal(size=(n, 1))
    means = rng.normal(size=(3, n, 1))
    slots = [label_slot("categorical", parents), child_slot("continuous", means, x, support)]
    own = [Effects(np.zeros((2, 3)), 1.0), Effects(np.zeros((2, 1)), 0.3)]
    found = expect(slots, support, own, 1.0).mean(support)
    log_joint = log_softmax(parents, axis=1) - 0.5 * (x - means[..., 0].T) ** 2 / 0.3
    np.testing.assert_allclose(found, softmax(log_joint, axis=1), rtol=1e-9)


def test_em_recovers_a_reversed_slope_from_unlabelled_rows():
    slots, y, z, _ = numbers(400, slope=-2.0)
    prior = EffectPrior(*(prior_of(2).mean, prior_of(2).variance, np.array([0.64, 0.5])))
    found = infer_label(prior, slots, GRID, 1.0)
    assert found.effects[1].effects[1, 0] == pytest.approx(-4.0, abs=0.4)  # from 2 to −2
    error = np.mean((found.mean(GRID)[:, 0] - y) ** 2)
    assert error < 0.4 * np.mean((z - y) ** 2)
    kept = infer_label(prior, slots, GRID, 1.0, reestimates=False)
    assert np.mean((kept.mean(GRID)[:, 0] - y) ** 2) > 4 * np.mean((z - y) ** 2)


def test_em_leaves_mechanisms_that_did_not_change_as_they_are():
    slots, _, _, _ = numbers(400)
    prior = EffectPrior(*(prior_of(2).mean, prior_of(2).variance, np.array([0.64, 0.5])))
    found = infer_label(prior, slots, GRID, 1.0)
    assert abs(found.effects[1].effects[1, 0]) < 0.3


def binary_site(kind, slope, n=600, seed=0):
    """Two classes; a child whose logits, or mean, are slope · label at this site, +3 before."""
    rng = np.random.default_rng(seed)
    support = class_support(1)
    logit = 2.0 * rng.normal(size=(n, 1))
    y = (rng.random(n) < expit(logit[:, 0])).astype(float)
    if kind == "categorical":
        chance = softmax(np.stack([np.zeros(n), slope * (y - 0.5)], axis=1), axis=1)
        values = np.eye(2)[(rng.random(n) < chance[:, 1]).astype(int)]
        one = 3.0 * (support - 0.5)
        outputs = np.repeat(np.concatenate([0 * one, one], axis=1)[:, None], n, axis=1)
    else:
        signal = slope * (y - 0.5)
        values = signal + 0.5 * rng.normal(size=n)
        if kind == "binary":
            values = (rng.random(n) < expit(signal)).astype(float)
        values = values[:, None]
        outputs = np.repeat(3.0 * (support - 0.5)[:, None], n, axis=1)
    child = child_slot(kind, outputs, values, support)
    return [label_slot("binary", logit), child], support, y, expit(logit[:, 0])


@pytest.mark.parametrize("kind", ["continuous", "binary", "categorical"])
def test_em_reverses_children_of_every_type(kind):
    slots, support, y, alone = binary_site(kind, slope=-3.0)
    width = slots[1].outputs.shape[-1]
    prior = prior_of(2, variance=4.0, noise=0.25, width=width)
    prior = EffectPrior(prior.mean, np.where(prior.variance < 1, 4.0, prior.variance), prior.noise)
    slots[0] = label_slot("binary", np.repeat(slots[0].outputs[0], width, axis=1))
    p = infer_label(prior, slots, support, 1.0).mean(support)[:, 0]
    kept = infer_label(prior, slots, support, 1.0, reestimates=False).mean(support)[:, 0]

    def loss(p):
        p = np.clip(p, 1e-6, 1 - 1e-6)
        return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))

    assert loss(p) < loss(alone) < loss(kept)


@pytest.mark.parametrize("kind", ["number", "continuous", "binary", "categorical"])
def test_the_posterior_of_the_effects_does_not_fall_during_em(kind):
    if kind == "number":
        (slots, *_), support = numbers(200, slope=-1.0), GRID
    else:
        slots, support, _, _ = binary_site(kind, slope=-1.0, n=200)
    width = slots[1].outputs.shape[-1]
    prior = prior_of(2, variance=2.0, noise=0.5, width=width)
    slots[0] = label_slot(slots[0].kind, np.repeat(slots[0].outputs[0], width, axis=1))
    effects = tuple(Effects(m, n) for m, n in zip(prior.mean, prior.noise, strict=True))
    found = expect(slots, support, effects, 1.0)

    def log_posterior(found):
        total = found.log_likelihood
        parts = zip(found.effects, prior.mean, prior.variance, prior.noise, slots, strict=True)
        for k, (own, mean, variance, noise, slot) in enumerate(parts):
            total += log_prior(own.effects, mean, variance)
            if k and slot.kind == "continuous":
                total -= 0.5 * NOISE_PRIOR_ROWS * (np.log(own.noise) + noise / own.noise)
        return total

    path = [log_posterior(found)]
    for _ in range(20):
        found = expect(slots, support, _maximise(prior, slots, support, found), 1.0)
        path.append(log_posterior(found))
    assert (np.diff(path) > -1e-6 * abs(path[-1])).all()
    assert path[-1] > path[0] + 1


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_give_finite_posteriors(n):
    slots, *_ = numbers(max(n, 1))
    slots = [
        SlotRows(s.kind, s.outputs[:, :n], s.values[:n], s.seen[:n], s.design[:n], s.label)
        for s in slots
    ]
    found = infer_label(prior_of(2), slots, GRID, 1.0)
    assert found.weights.shape == (len(GRID), n)
    assert np.isfinite(found.weights).all()
    assert all(np.isfinite(e.effects).all() and e.noise > 0 for e in found.effects)


def test_a_label_without_children_has_its_parents_posterior():
    slots, _, z, _ = numbers()
    found = infer_label(prior_of(1), slots[:1], GRID, 1.0)
    np.testing.assert_allclose(found.mean(GRID)[:, 0], z, atol=1e-3)


def sources(effects, chance, noise=0.5):
    """One slot with one effect at each source."""
    return [
        [SourceEffects(np.array([[e]]), np.array([[chance]]), noise)] for e in np.ravel(effects)
    ]


def test_the_variance_between_sources_is_what_exceeds_chance():
    rng = np.random.default_rng(0)
    true = rng.normal(1.0, 0.7, size=4000)
    seen = true + 0.5 * rng.normal(size=4000)
    found = EffectPrior.learn(sources(seen, 0.25))
    assert found.mean[0, 0, 0] == pytest.approx(1.0, abs=0.05)
    chance_only = EffectPrior.learn(sources(1.0 + 0.5 * rng.normal(size=4000), 0.25))
    assert chance_only.variance[0, 0, 0] < 0.1 * found.variance[0, 0, 0]
    wide = EffectPrior.learn(sources(1.0 + 2 * (seen - 1.0), 1.0))
    assert wide.variance[0, 0, 0] == pytest.approx(4 * found.variance[0, 0, 0], rel=0.05)


def test_one_source_says_nothing_about_the_variance_between_sources():
    found = EffectPrior.learn(sources([0.3], 0.01))
    assert found.mean[0, 0, 0] == pytest.approx(0.3)
    assert found.variance[0, 0, 0] > 1.0


def test_outputs_are_interpolated_linearly():
    coarse, fine = np.linspace(-2, 2, 5), np.linspace(-2, 2, 41)
    outputs = np.stack([3 * coarse + 1, np.abs(coarse)], axis=1)
    found = interpolation(coarse, fine) @ outputs
    np.testing.assert_allclose(found, np.stack([3 * fine + 1, np.abs(fine)], axis=1), atol=1e-12)
    np.testing.assert_array_equal(interpolation(coarse, coarse), np.eye(5))


@pytest.mark.parametrize(("slope", "relative"), [(0.0, 1.0), (-2.0, 0.0), (-4.0, -1.0)])
def test_the_effect_of_a_site_is_told_relative_to_the_sources(slope, relative):
    slots, *_ = numbers()
    effects = [NOTHING, Effects(np.array([[0.7], [slope]]), 1.0)]
    np.testing.assert_allclose(relative_effects(prior_of(2), slots, effects), [relative], atol=1e-9)


def test_there_is_no_relative_effect_where_the_sources_have_none():
    slots, *_ = numbers()
    idle = child_slot("continuous", along(GRID, 0.0, 40), slots[1].values, GRID)
    found = relative_effects(prior_of(2), [slots[0], idle], [NOTHING, NOTHING])
    assert np.isnan(found).all()
