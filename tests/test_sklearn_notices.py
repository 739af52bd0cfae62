"""Labels of any size, and new tables that are unlike the sources in their levels."""

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGRegressor
from dapdag.warnings import (
    DataWarning,
    MissingFeatureWarning,
    OutsideWarning,
    UnknownLevelWarning,
)

TINY = {"n_members": 1, "hidden": 4, "max_epochs": 3}
N = 120


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "sex": rng.choice(["f", "m"], N),
            "code": rng.choice([0, 1], N),
        }
    )
    return X, (X["x"] + rng.normal(size=N)).to_numpy(), np.repeat([0, 1, 2], N // 3)


@pytest.fixture(scope="module")
def model():
    X, y, site = table()
    return DAPDAGRegressor(**TINY).fit(X, y, sample_domain=site)


@pytest.mark.parametrize("scale", [1e300, 1e-299])
def test_labels_of_any_unit_give_the_same_predictions(model, scale):
    X, y, site = table()
    other = DAPDAGRegressor(**TINY).fit(X, y * scale, sample_domain=site)
    np.testing.assert_allclose(other.predict(X) / scale, model.predict(X), rtol=1e-5, atol=1e-6)
    interval = other.predict_interval(X) / scale
    np.testing.assert_allclose(interval, model.predict_interval(X), rtol=1e-5, atol=1e-6)
    assert np.isfinite(other.record_.sources[0].label).all()


@pytest.mark.parametrize(
    "y, said", [(3.0, "all labels are 3"), (1e306, "too large"), (1e-303, "too small")]
)
def test_labels_that_cannot_be_computed_with_are_refused(y, said):
    X, noise, site = table()
    given = np.full(N, y) if y == 3.0 else noise * y
    with pytest.raises(ValueError, match=said):
        DAPDAGRegressor(**TINY).fit(X, given, sample_domain=site)


def test_levels_that_no_source_has_count_as_unlike_and_are_named(model):
    X = table(1)[0]
    coded = X.assign(sex=X["sex"].map({"f": "female", "m": "male"}), code=X["code"] + 3)
    with (
        pytest.warns(UnknownLevelWarning, match=r"'sex': 120 .* 'male'.*known: 'f', 'm'.*missing"),
        pytest.warns(UnknownLevelWarning, match=r"'code': 120 .* 3.*known: 0, 1"),
        pytest.warns(OutsideWarning, match="out of distribution in '(sex|code)', '(sex|code)'"),
    ):
        found = model.environment(coded)
    assert found["outside"].all()
    with pytest.warns(UnknownLevelWarning):
        unlike = model.unexplained(coded).iloc[0]
    assert unlike["sex"] > 1 and unlike["code"] > 1 and unlike["x"] < 1


def test_a_few_unknown_levels_do_not_make_a_site_unlike(model):
    X = table(1)[0]
    some = X.assign(sex=X["sex"].mask(np.arange(N) < 3, "unknown"))
    with pytest.warns(UnknownLevelWarning, match="3 cell"):
        assert (model.unexplained(some).iloc[0].dropna() < 1).all()


def test_python_warns_of_a_site_outside_when_it_predicts(model):
    far = table(1)[0].assign(x=lambda t: 1000 + t["x"])
    with pytest.warns(OutsideWarning):
        model.predict(far)


def test_columns_with_several_levels_of_names_are_refused_with_what_to_do():
    X, y, site = table()
    X.columns = pd.MultiIndex.from_product([["first"], X.columns])
    with pytest.raises(ValueError, match=r"2 levels of names.*map\('_'.join\)"):
        DAPDAGRegressor(**TINY).fit(X, y, sample_domain=site)


def test_a_negative_number_as_text_is_pointed_out():
    X, y, _ = table()
    site = np.repeat(["-4", "1", "2"], N // 3)
    with pytest.warns(DataWarning, match="text '-4', which counts as a source"):
        DAPDAGRegressor(**{**TINY, "max_epochs": 1}).fit(X, y, sample_domain=site)


def test_tables_of_other_libraries_keep_their_names(model):
    polars = pytest.importorskip("polars")
    X, y, site = table()
    frame, label = polars.from_pandas(X), polars.Series("outcome", y)
    other = DAPDAGRegressor(**TINY).fit(frame, label, sample_domain=polars.Series(site))
    assert list(other.graph_) == ["x", "sex", "code", "outcome"]
    np.testing.assert_array_equal(other.predict(frame), model.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        other.predict(frame.rename({"x": "z"}))


def test_a_column_that_was_never_measured_is_named_when_it_is_filled_in(model):
    X = table(1)[0]
    with pytest.warns(MissingFeatureWarning, match="no row of the domain 'new' has a value of 'x'"):
        assert model.impute(X.assign(x=np.nan))["x"].notna().all()
    some = X.assign(x=X["x"].mask(np.arange(N) < 5))
    assert model.impute(some)["x"].notna().all()
