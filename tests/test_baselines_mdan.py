"""MDAN: features that are alike in the sources and in the target."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dapdag.baselines import MDANClassifier, MDANRegressor
from dapdag.baselines.mdan.network import Bound, Critics, domain_losses

QUICK = {"hidden": 8, "n_members": 1, "n_predictors": 2, "max_epochs": 60}
ROWS, SHIFT = 100, 2.0


def sites(shifts: list[float], seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Two views of the label: a sharp one that may be shifted, and a blurred one that is not."""
    rng = np.random.default_rng(seed)
    n = ROWS * len(shifts)
    y, noise, blur, c = rng.normal(size=(4, n))
    shift = np.repeat(shifts, ROWS)
    X = pd.DataFrame({"sharp": y + 0.2 * noise + shift, "blurred": y + 0.6 * blur, "c": c})
    return X, y, np.repeat(np.arange(len(shifts)), ROWS)


X, Y, SITE = sites([0.0, 0.0, 0.0, SHIFT], seed=0)
DOMAIN = np.where(SITE == 3, -1, SITE)
X_SAME, Y_SAME, _ = sites([0.0], seed=1)
X_NEW, Y_NEW, _ = sites([SHIFT], seed=2)


def fitted(**settings: Any) -> MDANRegressor:
    masked = np.where(DOMAIN < 0, np.nan, Y)
    return MDANRegressor(**QUICK | settings).fit(X, masked, sample_domain=DOMAIN)


@pytest.fixture(scope="module")
def aligned() -> MDANRegressor:
    return fitted(mu=3.0)


@pytest.fixture(scope="module")
def unaligned() -> MDANRegressor:
    return fitted(mu=0.0)


def gap(model: MDANRegressor) -> float:
    """How far the features' means in source and target are apart, in standard deviations."""
    here, there = model.features(X_SAME), model.features(X_NEW)
    spread = np.sqrt((here.var(0) + there.var(0)) / 2)
    return float(np.mean(np.abs(here.mean(0) - there.mean(0)) / spread))


def test_a_shift_of_the_features_is_aligned(
    aligned: MDANRegressor, unaligned: MDANRegressor
) -> None:
    assert gap(unaligned) > 1.0
    assert gap(aligned) < 0.5 * gap(unaligned)
    # log 2 is the loss of a classifier that can only guess.
    assert unaligned.history_["domain"].iloc[-1] < 0.3
    assert aligned.history_["domain"].iloc[-1] > 0.5


def test_alignment_predicts_the_target(aligned: MDANRegressor, unaligned: MDANRegressor) -> None:
    assert unaligned.score(X_NEW, Y_NEW) < 0
    assert aligned.score(X_NEW, Y_NEW) > 0.4
    assert unaligned.score(X_SAME, Y_SAME) > aligned.score(X_SAME, Y_SAME) > 0.7


def test_classes_of_a_shifted_target_are_predicted() -> None:
    names = np.array(["low", "mid", "top"])
    y, y_new = (names[np.digitize(values, [-0.5, 0.5])] for values in (Y, Y_NEW))
    y = np.where(DOMAIN < 0, "unknown", y)
    accuracy = {}
    for mu in (0.0, 3.0):
        model = MDANClassifier(**QUICK, mu=mu).fit(X, y, sample_domain=DOMAIN)
        assert list(model.classes_) == list(names)
        assert_allclose(model.predict_proba(X_NEW).sum(1), 1.0)
        accuracy[mu] = model.score(X_NEW, y_new)
    assert accuracy[0.0] < 0.45
    assert accuracy[3.0] > 0.6


def test_labels_of_the_target_are_not_looked_at(aligned: MDANRegressor) -> None:
    poisoned = np.where(DOMAIN < 0, 1e6, Y)
    again = clone(aligned).fit(X, poisoned, sample_domain=DOMAIN)
    assert_array_equal(again.predict(X_NEW), aligned.predict(X_NEW))


def test_several_targets_count_as_one(aligned: MDANRegressor) -> None:
    halves = np.where(DOMAIN < 0, -1 - np.arange(len(X)) % 2, DOMAIN)
    again = clone(aligned).fit(X, Y, sample_domain=halves)
    assert_array_equal(again.predict(X_NEW), aligned.predict(X_NEW))


def test_hard_and_dynamic_differ(aligned: MDANRegressor) -> None:
    hard = fitted(mu=3.0, mode="hard")
    assert hard.score(X_NEW, Y_NEW) > 0
    assert not np.allclose(hard.predict(X_NEW), aligned.predict(X_NEW), atol=1e-3)


def bound(mu: float = 0.5, gamma: float = 10.0, hard: float = 0.0) -> Bound:
    return Bound(jnp.float32(mu), jnp.float32(gamma), jnp.float32(hard))


def test_the_worst_source_counts_most() -> None:
    bounds = jnp.array([[0.1, 0.5, 0.4]])
    assert_array_equal(bound(hard=1.0).weights(bounds), [[0.0, 1.0, 0.0]])
    assert bound(hard=1.0).total(bounds) == 0.5
    dynamic = bound()
    assert_allclose(dynamic.weights(bounds), jax.grad(dynamic.total)(bounds), rtol=1e-5)
    assert_allclose(bound(gamma=1e-6).weights(bounds), np.full((1, 3), 1 / 3), rtol=1e-5)


def test_a_source_that_is_easily_told_apart_is_worse() -> None:
    bounds = bound().of_sources(jnp.array([[0.4, 0.4]]), jnp.array([[0.1, 0.6]]))
    assert_allclose(bounds, [[0.35, 0.1]], rtol=1e-5)


def test_the_gradient_of_the_features_is_reversed() -> None:
    rng = np.random.default_rng(0)
    critics = jax.tree.map(lambda a: rng.normal(size=a.shape), Critics.zeros(1, 2, 3))
    features = rng.normal(size=(1, 3, 5, 3))
    present = np.ones((3, 5))
    present[0, 3:] = 0.0

    @jax.jit
    def losses(reversal: Any) -> Any:
        def loss(c: Critics, f: Any) -> Any:
            return domain_losses(c, f, present, jnp.full((1, 2), reversal)).sum()

        return jax.value_and_grad(loss, argnums=(0, 1))(critics, features)

    value, (for_critics, for_features) = losses(0.5)
    plain_value, (plain_critics, plain_features) = losses(-1.0)
    assert_allclose(value, plain_value, rtol=1e-5)
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-4), for_critics, plain_critics)
    assert_allclose(for_features, -0.5 * plain_features, rtol=1e-4, atol=1e-7)
    assert np.abs(plain_features).max() > 0.01
    assert_array_equal(plain_features[0, 0, 3:], 0.0)


@pytest.mark.parametrize("domain", [None, SITE], ids=["none", "only sources"])
def test_a_missing_target_is_said_in_words(domain: Any) -> None:
    with pytest.raises(ValueError, match="MDANRegressor adapts to a target.*negative integer"):
        MDANRegressor(**QUICK).fit(X, Y, sample_domain=domain)


@pytest.mark.parametrize("setting", [{"mode": "soft"}, {"mu": -1.0}, {"gamma": 0.0}])
def test_a_bad_setting_is_named(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        fitted(**setting)
