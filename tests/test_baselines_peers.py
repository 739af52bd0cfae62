"""Boosting with random effects, or with the moments of a row's site as columns."""

import numpy as np
import pandas as pd
import pytest

from dapdag.baselines import registry
from dapdag.baselines.peers.estimators import PeerClassifier, PeerRegressor
from dapdag.baselines.peers.moments import with_site_moments

MODELS = ("lightgbm", "catboost", "gpboost")


def sites(n_sites=6, rows=60, seed=0):
    """The label depends on x and on how far x lies from its site's mean; sites have intercepts."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(n_sites), rows)
    centre = rng.normal(0, 2, n_sites)[site]
    X = pd.DataFrame(
        {"x": centre + rng.normal(size=len(site)), "kind": rng.choice(["a", "b"], len(site))}
    )
    y = 2 * (X["x"] - centre) + (X["kind"] == "a") + 0.3 * rng.normal(size=len(site))
    return X, y.rename("y"), site


def test_moments_are_those_of_the_site():
    Z = np.array([[1.0, np.nan], [3.0, np.nan], [10.0, 5.0], [10.0, np.nan]])
    found = with_site_moments(Z, np.array(["a", "a", "b", "b"]))
    np.testing.assert_array_equal(found[:, 2], [2, 2, 10, 10])
    np.testing.assert_array_equal(found[:, 4], [1, 1, 0, 0])
    np.testing.assert_array_equal(found[:, 3], [np.nan, np.nan, 5, 5])


@pytest.mark.parametrize("model", ["lightgbm", "catboost"])
def test_site_moments_tell_what_one_row_cannot(model):
    """Not so for GPBoost, whose random intercepts explain what is constant at a site."""
    pytest.importorskip(model)
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(40), 30)
    centre = rng.uniform(-2, 2, 40)[site]
    X = pd.DataFrame({"x": centre + 3 * rng.normal(size=len(site))})
    y = centre + 0.3 * rng.normal(size=len(site))
    new = site >= 36
    errors = {}
    for moments in (False, True):
        fitted = PeerRegressor(model=model, site_moments=moments).fit(X[~new], y[~new], site[~new])
        found = fitted.predict(X[new], sample_domain=site[new])
        errors[moments] = float(np.mean((found - y[new]) ** 2))
    assert errors[True] < 0.75 * errors[False]


@pytest.mark.parametrize("model", MODELS)
def test_probabilities(model):
    pytest.importorskip(model)
    X, y, site = sites()
    label = np.where(y > y.median(), "high", "low")
    fitted = PeerClassifier(model=model).fit(X, label, site)
    found = fitted.predict_proba(X)
    assert fitted.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (fitted.predict(X) == label).mean() > 0.6
    again = PeerClassifier(model=model).fit(X, label, site).predict_proba(X)
    np.testing.assert_array_equal(found, again)


def test_random_effects_are_of_sites():
    pytest.importorskip("gpboost")
    X, y, site = sites(n_sites=12)
    shifted = y + np.random.default_rng(1).normal(0, 4, 12)[site]
    fitted = PeerRegressor(model="gpboost").fit(X, shifted, site)
    variance = fitted.booster_._booster.gp_model.get_cov_pars()
    # Shares of the label's variance: error, then the sites' intercepts.
    assert np.ravel(variance)[1] > 0.3


@pytest.mark.parametrize("model", MODELS)
def test_units_of_the_label_do_not_matter(model):
    pytest.importorskip(model)
    X, y, site = sites()
    small = PeerRegressor(model=model).fit(X, y, site).predict(X)
    large = PeerRegressor(model=model).fit(X, 1000 * y, site).predict(X)
    assert np.corrcoef(small, y)[0, 1] > 0.5
    assert np.corrcoef(small, large)[0, 1] > 0.99


def test_several_new_sites_have_moments_of_their_own():
    pytest.importorskip("lightgbm")
    X, y, site = sites()
    fitted = PeerRegressor(model="lightgbm", site_moments=True).fit(X, y, site)
    together = fitted.predict(X, sample_domain=site)
    alone = np.concatenate([fitted.predict(X[site == k]) for k in range(6)])
    np.testing.assert_allclose(together, alone)


def test_what_cannot_be_done_is_said(monkeypatch):
    import sys

    X, y, site = sites()
    with pytest.raises(ValueError, match="must be one of lightgbm, catboost, gpboost"):
        PeerRegressor(model="xgboost").fit(X, y, site)
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(ValueError, match=r"pip install 'dapdag\[boosting\]'"):
        PeerRegressor(model="catboost").fit(X, y, site)
    assert registry.METHODS["gpboost-sites"].packages == ("gpboost",)


def test_more_than_two_classes_are_not_for_random_effects():
    pytest.importorskip("gpboost")
    X, y, site = sites()
    with pytest.raises(ValueError, match="two classes"):
        PeerClassifier(model="gpboost").fit(
            X, pd.cut(y, 3, labels=["a", "b", "c"]).astype(str), site
        )
