"""Effects of a site on a mechanism: ridge and logistic regression, and their heavy-tailed prior."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import t
from sklearn.linear_model import LogisticRegression, Ridge

from dapdag.inference.site_effects import (
    Effects,
    SlotRows,
    effects_of_source,
    fit_effects,
    log_prior,
)
from dapdag.model.constants import EFFECT_DOF, EFFECT_RIDGE, LEAST_NOISE

N = 400
TRUE = np.array([0.5, -1.0, 0.8])


def slot(kind, values, outputs=None, seen=None, seed=0):
    """A slot with a known label; its design is a constant and two inputs."""
    design = design_of(seed)
    width = values.shape[1]
    outputs = np.zeros((1, N, width)) if outputs is None else outputs
    seen = np.ones(N) if seen is None else seen
    return SlotRows(kind, outputs, values, seen, design, np.zeros((1, 3)))


def design_of(seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.ones(N), rng.normal(size=(N, 2))])


def numbers(noise=0.3, seed=1):
    rng = np.random.default_rng(seed)
    return (design_of() @ TRUE + noise * rng.normal(size=N))[:, None]


def test_effects_of_a_labelled_source_are_ridge_regression_on_the_residuals():
    outputs = np.random.default_rng(2).normal(size=(1, N, 1))
    found = effects_of_source(slot("continuous", numbers() + outputs[0], outputs))
    ridge = Ridge(alpha=EFFECT_RIDGE, fit_intercept=False).fit(design_of(), numbers()[:, 0])
    # the second step weighs the prior by a better estimate of the noise
    np.testing.assert_allclose(found.effects[:, 0], ridge.coef_, atol=0.01)
    assert found.noise == pytest.approx(0.3**2, rel=0.5)
    assert (found.variance[:, 0] < 4 * 0.3**2 / N * 2).all()


def test_effects_on_logits_are_penalised_logistic_regression():
    rng = np.random.default_rng(3)
    y = (rng.random(N) < expit(design_of() @ TRUE)).astype(float)
    found = effects_of_source(slot("binary", y[:, None]))
    exact = LogisticRegression(C=1 / EFFECT_RIDGE, fit_intercept=False, tol=1e-8)
    np.testing.assert_allclose(found.effects[:, 0], exact.fit(design_of(), y).coef_[0], atol=1e-3)


def test_effects_on_the_logits_of_several_levels_are_penalised_logistic_regression():
    rng = np.random.default_rng(4)
    true = np.stack([TRUE, -TRUE, 0 * TRUE], axis=1)
    chance = softmax(design_of() @ true, axis=1)
    which = (rng.random((N, 1)) > chance.cumsum(1)).sum(1)
    found = effects_of_source(slot("categorical", np.eye(3)[which]))
    exact = LogisticRegression(C=1 / EFFECT_RIDGE, fit_intercept=False, tol=1e-8)
    # so many steps end near the mode, which is well below the standard error of .1
    np.testing.assert_allclose(found.effects.T, exact.fit(design_of(), which).coef_, atol=0.02)


def test_the_stated_variance_is_that_of_the_estimates_over_samples():
    estimates = [effects_of_source(slot("continuous", numbers(seed=s))) for s in range(5, 65)]
    spread = np.var([e.effects[:, 0] for e in estimates], axis=0)
    stated = np.mean([e.variance[:, 0] for e in estimates], axis=0)
    # pseudo-rows of the weak prior widen it
    assert (stated > 0.5 * spread).all() and (stated < 4 * spread).all()


@pytest.mark.parametrize("kind", ["continuous", "binary", "categorical"])
def test_missing_cells_do_not_count(kind):
    rng = np.random.default_rng(6)
    values = {
        "continuous": numbers(),
        "binary": (rng.random((N, 1)) < 0.3).astype(float),
        "categorical": np.eye(3)[rng.integers(3, size=N)],
    }[kind]
    seen = (rng.random(N) < 0.7).astype(float)
    other = np.where(seen[:, None] == 1, values, 7.0)
    a, b = (effects_of_source(slot(kind, v, seen=seen)) for v in (values, other))
    np.testing.assert_allclose(a.effects, b.effects, rtol=1e-9)
    np.testing.assert_allclose(a.variance, b.variance, rtol=1e-9)


@pytest.mark.parametrize("kind", ["continuous", "binary", "categorical"])
def test_a_source_without_any_cell_has_no_effects_and_says_that_it_does_not_know(kind):
    width = 3 if kind == "categorical" else 1
    found = effects_of_source(slot(kind, np.zeros((N, width)), seen=np.zeros(N)))
    np.testing.assert_array_equal(found.effects, 0.0)
    assert np.isfinite(found.variance).all() and (found.variance > 0).all()
    if kind != "continuous":
        np.testing.assert_allclose(found.variance, 1 / EFFECT_RIDGE)


def test_one_class_only_gives_finite_effects():
    found = effects_of_source(slot("binary", np.ones((N, 1))))
    assert np.isfinite(found.effects).all() and found.effects[0, 0] > 1


def test_heavy_tails_let_a_distant_effect_be():
    rows = slot("continuous", numbers(noise=1.0)[:, :1] + 5.0 * design_of()[:, 1:2])
    few = SlotRows(
        "continuous",
        rows.outputs[:, :20],
        rows.values[:20],
        np.ones(20),
        rows.design[:20],
        rows.label,
    )
    mean, variance = np.zeros((3, 1)), np.full((3, 1), 0.05)

    def mode(heavy):
        found = Effects(mean, 1.0)
        for _ in range(50):
            found = fit_effects(few, np.ones((1, 20)), found, mean, variance, 1.0, heavy)
        return found.effects[1, 0]

    assert mode(True) == pytest.approx(4.0, abs=0.7)
    assert mode(False) < mode(True) - 0.3


def test_the_prior_is_students_t():
    effects, mean, variance = np.array([[0.3], [-2.0]]), np.array([[0.1], [0.2]]), 0.5
    exact = t.logpdf(effects, EFFECT_DOF, mean, np.sqrt(variance)).sum()
    at_mean = t.logpdf(mean, EFFECT_DOF, mean, np.sqrt(variance)).sum()
    found = log_prior(effects, mean, np.full((2, 1), variance))
    assert found == pytest.approx(exact - at_mean)


def test_noise_of_a_number_without_residuals_stays_positive():
    values = (design_of() @ TRUE)[:, None]
    assert effects_of_source(slot("continuous", values)).noise >= LEAST_NOISE


def test_values_of_an_unknown_label_count_by_their_weights():
    """With all weight on the true value the effects are those of the known label."""
    rng = np.random.default_rng(7)
    y = rng.integers(2, size=N)
    support = np.array([0.0, 1.0])
    x = (1.5 * y + 0.3 * rng.normal(size=N))[:, None]
    ones = np.ones((N, 1))
    mean, variance, start = np.zeros((2, 1)), np.ones((2, 1)), Effects(np.zeros((2, 1)), 0.1)
    known = SlotRows(
        "continuous",
        np.zeros((1, N, 1)),
        x,
        np.ones(N),
        np.column_stack([ones, y]),
        np.zeros((1, 2)),
    )
    asked = SlotRows(
        "continuous",
        np.zeros((2, N, 1)),
        x,
        np.ones(N),
        np.column_stack([ones, 0 * y]),
        np.column_stack([0 * support, support]),
    )
    certain = np.eye(2)[y].T
    a = fit_effects(known, np.ones((1, N)), start, mean, variance, 0.1)
    b = fit_effects(asked, certain, start, mean, variance, 0.1)
    np.testing.assert_allclose(a.effects, b.effects, rtol=1e-9)
    assert a.noise == pytest.approx(b.noise)
