"""The pooled MLP: DAPDAG with pieces taken out, and nothing else changed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dapdag import baselines
from dapdag.baselines import MLPClassifier, MLPRegressor
from dapdag.model.parameters import unravel

N = 600


def table(seed: int = 0) -> pd.DataFrame:
    values = np.random.default_rng(seed).normal(size=(N, 3))
    return pd.DataFrame(values, columns=["a", "b", "c"])


def curve(X: pd.DataFrame) -> pd.Series:
    return (np.sin(1.5 * X["a"]) + 0.5 * X["b"] ** 2).rename("y")


SITES = np.repeat(["north", "south", "east"], N // 3)


@pytest.fixture(scope="module")
def regressor() -> MLPRegressor:
    X = table()
    return MLPRegressor().fit(X, curve(X), sample_domain=SITES)


def quick(**settings: Any) -> MLPRegressor:
    return MLPRegressor(**{"max_epochs": 10} | settings)


def test_learns_a_nonlinear_function(regressor: MLPRegressor) -> None:
    X = table(seed=1)
    assert regressor.score(X, curve(X)) > 0.9


def test_intervals_cover_as_they_say() -> None:
    X, X_new = table(), table(seed=1)
    noise = 0.5 * np.random.default_rng(2).normal(size=(2, N))
    model = MLPRegressor().fit(X, curve(X) + noise[0])
    low, high = model.predict_interval(X_new, 0.9).T
    y_new = curve(X_new) + noise[1]
    assert 0.82 < ((low < y_new) & (y_new < high)).mean() < 0.96


def test_prediction_ignores_the_domain(regressor: MLPRegressor) -> None:
    X = table(seed=1)
    alone = regressor.predict(X)
    assert_allclose(regressor.predict(X, sample_domain=SITES), alone, atol=1e-5)
    assert_allclose(regressor.predict(X, sample_domain=np.arange(N) % 2), alone, atol=1e-5)


def test_training_ignores_which_source_a_row_comes_from() -> None:
    X = table()
    apart = quick().fit(X, curve(X), sample_domain=SITES)
    together = quick().fit(X, curve(X))
    assert_array_equal(apart.predict(X), together.predict(X))


def test_training_leaves_targets_out() -> None:
    X = table()
    domain = np.where(np.arange(N) < 200, -1, 3)
    y = curve(X).where(domain > 0)
    with_targets = quick().fit(X, y, sample_domain=domain)
    without = quick().fit(X[200:], y[200:])
    assert_array_equal(with_targets.predict(X), without.predict(X))


def test_only_the_label_networks_are_trained() -> None:
    X = table()
    start, end = (
        unravel(model.sizes, jnp.asarray(model.vectors[0]))
        for model in (quick(max_epochs=n).fit(X, curve(X)).fitted_.model for n in (1, 10))
    )
    jax.tree.map(assert_array_equal, (start.encoder, start.decoder), (end.encoder, end.decoder))
    assert not np.allclose(start.label.filters, end.label.filters)


def test_has_neither_environments_nor_a_graph(regressor: MLPRegressor) -> None:
    for name in ("environment", "sample_environment", "source_environments_"):
        assert not hasattr(regressor, name)
    for name in ("graph_", "adjacency_", "reconstruct"):
        assert not hasattr(regressor, name)


@pytest.mark.parametrize("kind", [MLPRegressor, MLPClassifier])
def test_parameters_are_those_that_mean_something(kind: type) -> None:
    model = kind(hidden=8, n_members=2, learning_rate=0.01, random_state=3)
    parameters = model.get_params()
    assert set(parameters) == {
        "hidden",
        "n_predictors",
        "n_members",
        "max_epochs",
        "patience",
        "learning_rate",
        "weight_decay",
        "validation_fraction",
        "categorical_features",
        "random_state",
        "verbose",
    }
    assert clone(model).get_params() == parameters
    assert type(clone(model)) is kind


def test_wrong_setting_is_named() -> None:
    X = table()
    with pytest.raises(ValueError, match="hidden must be"):
        MLPRegressor(hidden=0).fit(X, curve(X))


def test_classifier_learns() -> None:
    X, X_new = table(), table(seed=1)
    model = MLPClassifier().fit(X, curve(X) > 0.5, sample_domain=SITES)
    assert model.score(X_new, curve(X_new) > 0.5) > 0.9
    assert_allclose(model.predict_proba(X_new).sum(1), 1.0)
    assert_array_equal(model.classes_, [False, True])


def test_names_load_when_used() -> None:
    code = "import sys, dapdag.baselines; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert set(baselines.__all__) <= set(dir(baselines))
    with pytest.raises(AttributeError, match="no attribute 'MPL'"):
        baselines.MPL  # noqa: B018
