"""`EnvironmentFeatures`: any estimator becomes aware of sites."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from dapdag import DAPDAGRegressor, EnvironmentFeatures
from dapdag.baselines import registry
from dapdag.baselines.pooled.estimators import PracticeRegressor
from dapdag.baselines.site_aware import SiteAwareClassifier, SiteAwareRegressor

QUICK = {"max_epochs": 12, "hidden": 8, "n_predictors": 2, "n_members": 1, "n_draws": 4}


@pytest.fixture(scope="module")
def data():
    """Y = X + shift of the site; another column shows the shift."""
    rng = np.random.default_rng(0)
    parts = []
    for site in range(8):
        shift = rng.normal(0, 2)
        x = rng.normal(size=60)
        mark = rng.normal(shift, 2.0, 60)
        y = x + shift + rng.normal(0, 0.2, 60)
        parts.append(pd.DataFrame({"x": x, "mark": mark, "y": y, "site": f"s{site}"}))
    table = pd.concat(parts, ignore_index=True)
    return table[["x", "mark"]], table["y"], table["site"].to_numpy()


@pytest.fixture(scope="module")
def fitted(data):
    return EnvironmentFeatures(DAPDAGRegressor(**QUICK), columns=["mark"]).fit(*data)


def test_columns_of_the_site_stand_beside_the_rows(fitted, data):
    X, _, site = data
    found = fitted.transform(X, sample_domain=site)
    assert list(found) == ["x", "mark", "E1_mean", "E1_sd", "mark_site_mean"]
    assert list(found) == list(fitted.get_feature_names_out())
    pd.testing.assert_frame_equal(found[["x", "mark"]], X)
    means = X["mark"].groupby(site).transform("mean")
    np.testing.assert_allclose(found["mark_site_mean"], means)
    assert (found["E1_mean"].groupby(site).nunique() == 1).all()
    alone = fitted.transform(X[site == "s3"])
    np.testing.assert_allclose(alone["E1_mean"], found["E1_mean"][site == "s3"], rtol=1e-4)
    shuffled = np.random.default_rng(0).permutation(len(X))
    again = fitted.transform(X.iloc[shuffled], sample_domain=site[shuffled])
    np.testing.assert_allclose(again["E1_mean"], found["E1_mean"].iloc[shuffled], rtol=1e-4)


def test_a_linear_model_becomes_aware_of_sites(data):
    X, y, site = data
    new = np.isin(site, ["s6", "s7"])
    features = EnvironmentFeatures(DAPDAGRegressor(**QUICK), columns="all", keep=True)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(features, LinearRegression())
        pipe.fit(X[~new], y[~new], sample_domain=site[~new])
        aware = pipe.predict(X[new], sample_domain=site[new])
    plain = LinearRegression().fit(X[~new], y[~new]).predict(X[new])
    error = [np.mean((y[new] - p) ** 2) for p in (aware, plain)]
    assert error[0] < 0.5 * error[1]


def test_any_estimator_joined_with_the_environment(data):
    X, y, site = data
    new = np.isin(site, ["s6", "s7"])
    plain = LinearRegression().fit(X[~new], y[~new]).score(X[new], y[new])
    features = EnvironmentFeatures(DAPDAGRegressor(**QUICK), columns="all")
    for estimator in ("linear", LinearRegression()):
        joined = SiteAwareRegressor(estimator=estimator, features=features)
        joined.fit(X[~new], y[~new], sample_domain=site[~new])
        assert 1 - joined.score(X[new], y[new], sample_domain=site[new]) < 0.5 * (1 - plain)


class SiteMeans(BaseEstimator):
    """Means of each row's site; counts how often it was fitted."""

    fits = 0

    def fit(self, X, y, sample_domain=None):
        SiteMeans.fits += 1
        return self

    def transform(self, X, sample_domain=None):
        site = np.zeros(len(X)) if sample_domain is None else np.asarray(sample_domain)
        means = X.groupby(site).transform("mean").add_suffix("_mean")
        return pd.concat([X, means], axis=1)


def test_classes_by_any_estimator_and_features(data):
    X, y, site = data
    label = pd.Series(np.where(y > 0, "up", "down")).where(np.arange(len(y)) % 5 > 0)
    SiteMeans.fits = 0
    scores = {}
    for name in ("linear", LogisticRegression(), "boosting"):
        joined = SiteAwareClassifier(estimator=name, features=SiteMeans(), settings={})
        found = joined.fit(X, label, sample_domain=site).predict_proba(X, sample_domain=site)
        assert joined.classes_.tolist() == ["down", "up"]
        np.testing.assert_allclose(found.sum(1), 1)
        scores[str(name)] = ((found[:, 1] > 0.5) == (y > 0)).mean()
    assert min(scores.values()) > 0.8
    assert SiteMeans.fits == 1  # of one table: shared by methods that are compared
    codes = np.where(site == "s7", -1, pd.factorize(site)[0])
    without = [(label, codes), (label.where(codes >= 0), codes)]  # targets teach no label
    one, other = (
        SiteAwareClassifier(features=SiteMeans()).fit(X, *about).predict_proba(X, site)
        for about in without
    )
    np.testing.assert_array_equal(one, other)
    wide = SiteAwareClassifier(features=SiteMeans(), settings={"settings": {"C": 1e-6}})
    assert np.ptp(wide.fit(X, label, site).predict_proba(X, site)[:, 1]) < 0.05


def test_the_registry_has_estimators_with_the_environment():
    assert registry.available("regression", "site-aware") == [
        *("linear-env", "boosting-env", "lightgbm-env")
    ]
    unfitted = registry.make("linear-env", "classification", random_state=3)
    assert unfitted._unfitted_features().estimator.random_state == 3
    assert unfitted._unfitted().random_state == 3


def test_only_the_further_columns(fitted, data):
    alone = EnvironmentFeatures(fitted.estimator, keep=False)
    alone.estimator_, alone.mean_columns_ = fitted.estimator_, []
    assert list(alone.transform(data[0])) == ["E1_mean", "E1_sd"]
    assert list(alone.get_feature_names_out()) == ["E1_mean", "E1_sd"]


def test_what_is_refused(data):
    X = data[0]
    with pytest.raises(NotFittedError):
        EnvironmentFeatures(DAPDAGRegressor()).transform(X)
    frame = X.assign(ward=np.where(X["x"] > 0, "a", "b"))
    with pytest.raises(ValueError, match="'ward', which is no column of numbers"):
        EnvironmentFeatures(DAPDAGRegressor(), columns=["ward"])._chosen(frame)
    with pytest.raises(ValueError, match="'all' or None, not 'mark'"):
        EnvironmentFeatures(DAPDAGRegressor(), columns="mark")._chosen(frame)


def test_methods_that_know_of_sites_are_told_them(monkeypatch):
    """Random intercepts beside E need the site of every labelled row."""
    told = {}

    class Recorder(PracticeRegressor):
        def fit(self, X, y, sample_domain=None):
            told["site"] = np.asarray(sample_domain)
            return super().fit(X, y)

    class Features:
        def transform(self, X, sample_domain=None):
            return X.assign(E=0.0)

    monkeypatch.setattr(
        "dapdag.baselines.site_aware._fitted", lambda features, X, y, site: Features()
    )
    X = pd.DataFrame({"x": np.arange(6.0)})
    y = pd.Series([0.0, 1, np.nan, 3, 4, 5])
    site = np.array([0, 0, 0, 1, 1, -1])
    SiteAwareRegressor(estimator=Recorder(model="linear")).fit(X, y, site)
    assert told["site"].tolist() == [0, 0, 1, 1]
