"""Tables as they are: codes, rare and unknown categories, missing cells, features a site lacks."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGClassifier, DAPDAGRegressor, load

SMALL = {"n_members": 1, "hidden": 8, "max_epochs": 40, "n_predictors": 2}
SITES = ("a", "b", "c")


def make_table(rows=120, seed=0):
    """Two sites' worth of correlated numbers, a code with three levels, a useless constant."""
    rng = np.random.default_rng(seed)
    parts = []
    for k, site in enumerate(SITES):
        x = rng.normal(0.5 * k, 1.0, rows)
        code = rng.choice([1, 2, 7], rows)
        twin = x + rng.normal(0, 0.2, rows)
        label = 1.5 * (code == 7) + x + rng.normal(0, 0.3, rows)
        parts.append(
            pd.DataFrame(
                {"x": x, "twin": twin, "code": code, "flat": 3.0, "y": label, "site": site}
            )
        )
    table = pd.concat(parts, ignore_index=True)
    table.loc[rng.random(len(table)) < 0.15, "twin"] = np.nan
    return table


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def features(table):
    return table.drop(columns=["y", "site"])


@pytest.fixture(scope="module")
def fitted(table, features):
    labels = table["y"].mask(np.arange(len(table)) % 10 == 0)  # some rows have no label
    est = DAPDAGRegressor(**SMALL, categorical_features=["code"])
    return est.fit(features, labels, sample_domain=table["site"])


@pytest.fixture(scope="module")
def new():
    return make_table(60, seed=1).query("site == 'b'").reset_index(drop=True)


def test_declared_codes_are_categories_and_constants_are_reported(fitted):
    schema = fitted.schema_
    assert schema["kind"].to_dict() == {
        "x": "continuous",
        "twin": "continuous",
        "code": "categorical",
        "flat": "constant",
    }
    assert schema.loc["code", "values"] == "1, 2, 7"
    assert "not used" in schema.loc["flat", "note"]
    assert schema.loc["twin", "missing"] == pytest.approx(0.15, abs=0.05)


@pytest.mark.parametrize(
    "given, message",
    [
        ("code", r"\['code'\]"),
        (["kode"], "'kode'"),
        ([True, False], "mask of 2"),
        ([9], "9"),
    ],
)
def test_wrong_categorical_features_are_named(table, features, given, message):
    est = DAPDAGRegressor(**SMALL, categorical_features=given)
    with pytest.raises(ValueError, match=message):
        est.fit(features, table["y"], sample_domain=table["site"])


def test_rows_without_a_label_are_used_and_predicted(fitted, new):
    predicted = fitted.predict(new[["x", "twin", "code", "flat"]])
    assert np.corrcoef(predicted, new["y"])[0, 1] > 0.9


def test_a_saved_model_keeps_codes_and_costs(fitted, new, tmp_path):
    fitted.save(tmp_path / "m.dapdag")
    again = load(tmp_path / "m.dapdag")
    X = new[["x", "twin", "code", "flat"]]
    np.testing.assert_array_equal(fitted.predict(X), again.predict(X))
    assert again.categorical_features == ["code"]
    pd.testing.assert_frame_equal(again.schema_, fitted.schema_)


def test_a_feature_that_a_site_lacks_widens_the_intervals(fitted, new):
    X = new[["x", "twin", "code", "flat"]]
    _, std = fitted.predict(X, return_std=True)
    with pytest.warns(UserWarning, match=r"'code' has no value .* by [1-9]\d*%"):
        blind, wider = fitted.predict(X.assign(code=np.nan), return_std=True)
    assert np.isfinite(blind).all()
    assert (wider > 1.2 * std).all()
    # One cell alone widens that row and no other.
    _, one = fitted.predict(
        X.assign(code=X["code"].astype(float).where(X.index != 3)), return_std=True
    )
    assert one[3] > 1.3 * std[3]
    np.testing.assert_allclose(np.delete(one, 3), np.delete(std, 3), rtol=0.05)


def test_a_feature_that_nearly_all_rows_lack_is_named_if_it_matters(fitted, new):
    X = new[["x", "twin", "code", "flat"]]
    few = X["code"].astype(float).where(np.arange(len(X)) < 0.05 * len(X))
    with pytest.warns(UserWarning, match=f"'code' has a value in only {few.count()} of {len(X)}"):
        fitted.predict(X.assign(code=few))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.predict(with_gaps(X))
    assert not any("'code'" in str(w.message) for w in caught)


def with_gaps(X):
    """Every fourth row lacks the code."""
    return X.assign(code=X["code"].astype(float).where(np.arange(len(X)) % 4 > 0))


def test_missing_cells_are_no_contradiction_between_experts(fitted, new):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(with_gaps(new[["x", "twin", "code", "flat"]]))


@pytest.mark.parametrize(
    ("importance", "said"),
    [(0.001, "does not raise the RMSE"), (np.nan, "too few held-out rows")],
)
def test_an_unknown_importance_is_not_claimed(fitted, new, monkeypatch, importance, said):
    model = fitted.fitted_.model
    effects = model.missing._replace(importance=np.full(4, importance))
    other = replace(model, missing=effects)
    monkeypatch.setattr(fitted, "fitted_", replace(fitted.fitted_, model=other))
    X = new[["x", "twin", "code", "flat"]]
    with pytest.warns(UserWarning, match=f"'code' has no value .* {said}"):
        fitted.predict(X.assign(code=np.nan))


def test_a_classifier_that_lacks_a_feature_is_less_sure(table, features):
    hot = table["y"] > table["y"].median()
    est = DAPDAGClassifier(**SMALL, categorical_features=["code"])
    est.fit(features, hot, sample_domain=table["site"])
    sure = np.abs(est.predict_proba(features)[:, 1] - 0.5).mean()
    with pytest.warns(UserWarning, match="has no value .* log-loss on held-out source rows"):
        blind = est.predict_proba(features.assign(x=np.nan, twin=np.nan))[:, 1]
    assert np.isfinite(blind).all()
    assert np.abs(blind - 0.5).mean() < 0.8 * sure


def test_imputation_fills_what_is_missing_and_touches_nothing_else(fitted, new):
    X = new[["x", "twin", "code", "flat"]].astype({"code": float})
    truth = X["x"].copy()
    holes = np.arange(len(X)) % 4 == 0
    X.loc[holes, "x"] = np.nan
    X.loc[1, "code"] = np.nan
    full = fitted.impute(X)
    assert not full.isna().to_numpy().any()
    assert full.dtypes.to_dict() == X.dtypes.to_dict()
    pd.testing.assert_frame_equal(full.where(X.notna()), X)
    assert full.loc[1, "code"] in (1, 2, 7)
    has_twin = holes & X["twin"].notna()
    error = (full["x"] - truth)[has_twin].std()
    assert error < 0.6 * truth[has_twin].std()


def test_missingness_itself_informs():
    """A cell that is missing whenever the label is high says so, though it has no value."""
    rng = np.random.default_rng(0)
    n = 300
    y = rng.normal(size=n)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X.loc[y > 0, "b"] = np.nan
    est = DAPDAGRegressor(**SMALL).fit(X, y, sample_domain=np.repeat([0, 1, 2], n // 3))
    assert est.score(X, y) > 0.5


def test_rare_and_unknown_categories_share_a_level():
    rng = np.random.default_rng(0)
    n = 200
    kind = np.where(np.arange(n) % 50 == 0, [f"rare{i}" for i in range(n)], "common")
    kind = np.where(np.arange(n) % 3 == 0, "usual", kind)
    X = pd.DataFrame({"kind": kind, "x": rng.normal(size=n)})
    est = DAPDAGRegressor(**{**SMALL, "max_epochs": 3})
    est.fit(X, (X["x"] + (kind == "usual")).to_numpy(), sample_domain=np.arange(n) % 2)
    assert est.schema_.loc["kind", "values"] == "common, usual, (other)"
    with pytest.warns(
        UserWarning, match=r"1 cell\(s\) hold 'never seen'.*known: 'common', 'usual'.*'\(other\)'"
    ):
        est.predict(pd.DataFrame({"kind": ["never seen", "usual"], "x": [0.0, 0.0]}))


def test_empty_and_repeated_columns_are_reported(table, features):
    odd = features.assign(nothing=np.nan, again=features["x"])
    est = DAPDAGRegressor(**{**SMALL, "max_epochs": 2})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        est.fit(odd, table["y"], sample_domain=table["site"])
    texts = [str(w.message) for w in found]
    assert any("'nothing'" in t and "no value in any source" in t for t in texts)
    assert any("'x' and 'again'" in t for t in texts)
    assert np.isfinite(est.predict(odd)).all()
    assert "no value in any source" in est.schema_.loc["nothing", "note"]


def test_a_column_missing_in_one_source_is_masked_there(table, features):
    partly = features.assign(twin=features["twin"].mask(table["site"] == "a"))
    est = DAPDAGRegressor(**{**SMALL, "max_epochs": 3})
    est.fit(partly, table["y"], sample_domain=table["site"])
    assert est.schema_.loc["twin", "note"] == "no value in a"
    with pytest.warns(UserWarning, match="'twin' has no value in the domain 'new'"):
        predicted = est.predict(partly[table["site"] == "a"])
    assert np.isfinite(predicted).all()


def test_too_many_columns_are_refused():
    X = pd.DataFrame(np.zeros((4, 10_000)))
    X.columns = X.columns.astype(str)
    with pytest.raises(ValueError, match="10000 columns"):
        DAPDAGRegressor().fit(X, np.arange(4.0))
