"""BRM: an environment that helps to predict the label, and no graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import log_loss

from dapdag import load
from dapdag.baselines import BRMClassifier, BRMRegressor, MLPClassifier, MLPRegressor

QUICK = {"hidden": 8, "n_members": 1, "n_predictors": 2, "max_epochs": 60}
SOURCES = np.linspace(-2.0, 2.0, 8)
TARGETS = np.array([-1.3, 0.4, 1.1])
ROWS = 60


def sites(env: np.ndarray, seed: int) -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """E shifts the feature b, and the label given all features; one row says little about E."""
    rng = np.random.default_rng(seed)
    e = np.repeat(env, ROWS)
    a, noise_b, c, noise_y = rng.normal(size=(4, len(e)))
    X = pd.DataFrame({"a": a, "b": e + noise_b, "c": c})
    y = pd.Series(a + 1.5 * e + 0.3 * noise_y, name="y")
    return X, y, np.repeat(np.arange(len(env)), ROWS)


@pytest.fixture(scope="module")
def brm() -> BRMRegressor:
    X, y, site = sites(SOURCES, seed=0)
    return BRMRegressor(**QUICK).fit(X, y, sample_domain=site)


def test_recovers_the_environments(brm: BRMRegressor) -> None:
    X, _, site = sites(TARGETS, seed=1)
    found = brm.source_environments_["E1_mean"]
    assert abs(np.corrcoef(found, SOURCES)[0, 1]) > 0.95
    new = brm.environment(X, sample_domain=site)["E1_mean"]
    line = np.polyfit(found, SOURCES, 1)
    np.testing.assert_allclose(np.polyval(line, new), TARGETS, atol=0.5)


def test_beats_the_pooled_network_where_the_label_depends_on_the_site(brm: BRMRegressor) -> None:
    X, y, site = sites(SOURCES, seed=0)
    X_new, y_new, new = sites(TARGETS, seed=1)
    pooled = MLPRegressor(**QUICK).fit(X, y, sample_domain=site)
    assert brm.score(X_new, y_new, sample_domain=new) > 0.9
    assert pooled.score(X_new, y_new) < 0.75


def test_classifier_beats_the_pooled_network_as_well() -> None:
    X, y, site = sites(SOURCES, seed=0)
    X_new, y_new, new = sites(TARGETS, seed=1)
    longer = QUICK | {"max_epochs": 120}
    brm = BRMClassifier(**longer).fit(X, y > 0, sample_domain=site)
    pooled = MLPClassifier(**longer).fit(X, y > 0)
    loss = log_loss(y_new > 0, brm.predict_proba(X_new, new))
    assert loss < 0.8 * log_loss(y_new > 0, pooled.predict_proba(X_new))


def test_has_no_graph(brm: BRMRegressor) -> None:
    for name in ("graph_", "adjacency_", "reconstruct"):
        assert not hasattr(brm, name)
    assert list(brm.history_) == ["prediction", "environment", "total", "validation"]


def test_targets_are_left_out() -> None:
    X, y, site = sites(SOURCES, seed=0)
    short = QUICK | {"max_epochs": 5}
    with_targets = BRMRegressor(**short).fit(X, y, np.where(site == 7, -1, site))
    without = BRMRegressor(**short).fit(X[site < 7], y[site < 7], site[site < 7])
    assert_array_equal(with_targets.predict(X), without.predict(X))
    assert list(with_targets.source_environments_.index) == list(range(7))


def test_a_saved_model_knows_the_environments(brm: BRMRegressor, tmp_path: Path) -> None:
    brm.save(tmp_path / "brm")
    again = load(tmp_path / "brm")
    X, _, site = sites(TARGETS, seed=1)
    assert_array_equal(again.predict(X, site), brm.predict(X, site))
    pd.testing.assert_frame_equal(again.environment(X, site), brm.environment(X, site))
    pd.testing.assert_frame_equal(again.source_environments_, brm.source_environments_)
    assert not hasattr(again, "graph_")
