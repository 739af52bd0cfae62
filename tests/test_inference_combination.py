"""Weights of the experts from left-out sources, and what a contradiction at a new site does."""

import numpy as np
import pytest

from dapdag.inference.combination import (
    Combination,
    LeftOutSite,
    combine,
    correlation,
    simplex_grid,
)
from dapdag.inference.parts import Parts
from dapdag.model.constants import STACK_STEPS, TEMPERATURES

ROWS = 200
ALIKE = (1.0,) * len(TEMPERATURES)
FREE = Parts(source_cap=False)


def site(errors, seed=0, at=ALIKE, truth=None):
    """A left-out source; the experts err by noise of these sizes, f2 by `at` times its own."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(ROWS, 1)) if truth is None else truth
    noise = rng.normal(size=(3, ROWS, 1))
    pooled, environment = (truth + e * n for e, n in zip(errors[:2], noise[:2], strict=True))
    graph = np.stack([truth + errors[2] * t * noise[2] for t in at])
    variance = np.full((len(at), ROWS), float(errors[2]) ** 2)
    return LeftOutSite(truth, pooled, environment, graph, variance)


def sites(*errors, n=6, **more):
    return [site(errors, seed, **more) for seed in range(n)]


def test_the_grid_covers_the_simplex():
    grid = simplex_grid(10)
    assert len(grid) == 66 and (grid >= 0).all()
    np.testing.assert_allclose(grid.sum(1), 1.0)
    assert {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)} <= set(map(tuple, grid))


@pytest.mark.parametrize("best", [0, 1, 2])
def test_an_expert_that_is_much_better_gets_the_weight(best):
    errors = [3.0, 3.0, 3.0]
    errors[best] = 0.1
    weights = combine(sites(*errors), "continuous").weights
    assert weights.argmax() == best and weights[best] >= 0.9
    assert weights.sum() == pytest.approx(1)


def test_independent_errors_of_one_size_are_averaged():
    weights = combine(sites(1.0, 1.0, 1.0), "continuous").weights
    np.testing.assert_allclose(weights, 1 / 3, atol=0.15)


def test_the_weights_have_the_least_mean_loss_over_sources():
    found = combine(given := sites(1.0, 0.8, 1.5), "continuous", FREE)

    def loss(w):
        stacked = [w[0] * s.pooled + w[1] * s.environment + w[2] * s.graph[0] for s in given]
        return np.mean(
            [np.log(np.mean((s.truth - p) ** 2)) for s, p in zip(given, stacked, strict=True)]
        )

    losses = [loss(w) for w in simplex_grid(STACK_STEPS)]
    assert loss(found.weights) == pytest.approx(min(losses))


def test_the_temperature_is_the_one_with_the_least_loss():
    found = combine(sites(3.0, 3.0, 1.0, at=(1.0, 0.1, 1.0, 2.0)), "continuous", FREE)
    assert found.temperature == 1
    unused = combine(sites(0.01, 3.0, 3.0, at=(1.0, 1.0, 0.5, 1.0)), "continuous", FREE)
    assert unused.weights[2] == 0 and unused.temperature == 2


def test_the_loss_difference_of_one_source_is_capped():
    most = [site((1.0, 0.7, 9.0), seed) for seed in range(7)]
    lost = site((0.01, 9.0, 9.0), 7)  # one source at which E misleads
    capped = combine([*most, lost], "continuous").weights
    free = combine([*most, lost], "continuous", FREE).weights
    assert capped[1] > free[1]


def test_switches_fix_weights():
    given = sites(0.5, 1.0, 0.1)
    assert combine(given, "continuous", Parts(graph_inference=False)).weights[2] == 0
    assert combine(given, "continuous", Parts(pooled_networks=False)).weights[0] == 0
    fixed = combine(given, "continuous", Parts(stacking_weight=False)).weights
    np.testing.assert_allclose(fixed, [0.5, 0.5, 0.0])


def test_without_left_out_sources_the_networks_share_the_prediction():
    np.testing.assert_allclose(combine([], "continuous").weights, [0.5, 0.5, 0.0])
    only = combine([], "continuous", Parts(pooled_networks=False))
    np.testing.assert_allclose(only.weights, [0.0, 1.0, 0.0])


def classes(share, confidence, seed=0):
    rng = np.random.default_rng(seed)
    truth = (rng.random((ROWS, 1)) < share).astype(float)
    right = np.where(rng.random((ROWS, 1)) < 0.9, truth, 1 - truth)
    return truth, np.where(right == 1, confidence, 1 - confidence)


@pytest.mark.parametrize("kind", ["binary", "categorical"])
def test_classes_are_weighted_by_their_log_loss(kind):
    given = []
    for seed in range(6):
        truth, good = classes(0.4, 0.9, seed)
        bad = np.full_like(good, 0.5)
        if kind == "categorical":
            truth, good, bad = (np.concatenate([1 - p, p], axis=1) for p in (truth, good, bad))
        variance = np.zeros((2, ROWS))
        given.append(LeftOutSite(truth, bad, bad, np.stack([good, bad]), variance))
    found = combine(given, kind)
    np.testing.assert_allclose(found.weights, [0.0, 0.0, 1.0])
    assert found.temperature == 0


def test_probabilities_are_correlated_as_log_odds():
    p = np.random.default_rng(0).uniform(0.05, 0.95, size=(50, 1))
    odds = p / (1 - p)
    squared = odds**2 / (1 + odds**2)
    assert correlation(p, squared) == pytest.approx(1.0, abs=1e-3)
    assert correlation(p, 1 - p) == pytest.approx(-1.0, abs=1e-6)
    assert correlation(p, np.full_like(p, 0.3)) == 1.0


@pytest.fixture
def usual():
    """Experts that agree at left-out sources; all three have weight."""
    return Combination(np.array([0.3, 0.3, 0.4]), 0, np.array([0.98, 0.98]))


def signal(seed=0):
    return np.random.default_rng(seed).normal(size=(ROWS, 1))


def test_experts_that_agree_keep_their_weights(usual):
    x = signal()
    near = x + 0.05 * signal(1)
    np.testing.assert_array_equal(usual.at_site(x, near, x, x), usual.weights)


def test_an_expert_that_contradicts_the_labels_parents_gets_no_weight(usual):
    x = signal()
    np.testing.assert_allclose(usual.at_site(-x, -x, x, x), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(usual.at_site(x, x, -x, x), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(usual.at_site(-x, x, x, x), [0.0, 3 / 7, 4 / 7])


def test_where_all_with_weight_are_contradicted_those_without_predict():
    networks = Combination(np.array([0.5, 0.5, 0.0]), 0, np.array([0.98, 0.98]))
    x = signal()
    np.testing.assert_allclose(networks.at_site(-x, -x, x, x), [0.0, 0.0, 1.0])


def test_disagreement_that_left_out_sources_have_too_says_nothing():
    loose = Combination(np.array([0.3, 0.3, 0.4]), 0, np.array([0.3, 0.3]))
    x, y = signal(), signal(1)
    np.testing.assert_array_equal(loose.at_site(y, y, x, x), loose.weights)


def test_without_parents_of_the_label_there_is_no_referee(usual):
    x = signal()
    constant = np.full_like(x, 0.2)
    np.testing.assert_array_equal(usual.at_site(-x, x, x, constant), usual.weights)
