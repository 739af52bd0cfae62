"""MissForest: better than means, its stopping rule, and labels as missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dapdag.baselines.missforest import imputer as missforest
from dapdag.baselines.missforest.estimators import MissForestClassifier, MissForestRegressor
from dapdag.baselines.missforest.imputer import MissForestImputer

N = 300


def mixed(seed: int = 0) -> pd.DataFrame:
    """Four columns of four types that one hidden number drives."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=N)
    noise = 0.3 * rng.normal(size=(3, N))
    return pd.DataFrame(
        {
            "dose": 1000 + 100 * (z + noise[0]),
            "square": z**2 + noise[1],
            "grade": pd.Categorical(
                np.array(["low", "mid", "high"])[np.digitize(z + noise[2], [-0.5, 0.5])]
            ),
            "smokes": z > 0,
        }
    ).astype({"smokes": object})


def with_holes(table: pd.DataFrame, share: float = 0.2, seed: int = 1) -> pd.DataFrame:
    holes = np.random.default_rng(seed).random(table.shape) < share
    return table.mask(holes)


@pytest.fixture(scope="module")
def imputer() -> MissForestImputer:
    return MissForestImputer(n_estimators=30).fit(with_holes(mixed()))


def test_beats_mean_and_mode() -> None:
    true, holes = mixed(), with_holes(mixed())
    filled = MissForestImputer(n_estimators=30).fit_transform(holes)
    for name, share in (("dose", 0.5), ("square", 0.8)):
        missing = holes[name].isna()
        error = ((filled[name] - true[name])[missing] ** 2).mean()
        by_mean = ((holes[name].mean() - true[name])[missing] ** 2).mean()
        assert error < share * by_mean
    for name in ("grade", "smokes"):
        missing = holes[name].isna()
        right = (filled[name] == true[name])[missing].mean()
        by_mode = (true[name][missing] == holes[name].mode()[0]).mean()
        assert right > by_mode + 0.15


def test_table_keeps_its_form() -> None:
    holes = with_holes(mixed())
    filled = MissForestImputer(n_estimators=5, max_iter=2).fit_transform(holes)
    assert not filled.isna().any().any()
    assert list(filled) == list(holes) and filled.index.equals(holes.index)
    assert filled["grade"].dtype == holes["grade"].dtype
    assert set(filled["smokes"]) == {True, False}
    observed = holes.notna()
    assert filled.where(observed).equals(holes.where(observed))


def test_two_numbers_and_declared_ones_are_levels() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=60), "flag": rng.integers(0, 2, 60), "site": rng.integers(1, 4, 60)}
    ).astype(float)
    holes = with_holes(table)
    filled = MissForestImputer(n_estimators=5, categorical_features=["site"]).fit_transform(holes)
    assert set(filled["flag"]) == {0.0, 1.0} and set(filled["site"]) == {1.0, 2.0, 3.0}


def test_stops_when_the_change_grows_and_keeps_the_table_before() -> None:
    """Sweeps that change the one missing number by 4, 2, 3, …: the third is thrown away."""
    columns = missforest.learn_columns(pd.DataFrame({"a": [0.0, 2.0, 1.0]}), ())
    missing = np.array([[False], [False], [True]])
    start = np.array([[0.0], [2.0], [1.0]])
    tables = [start + missing * total for total in (4.0, 6.0, 9.0, 9.5)]
    kept = missforest._until_it_grows(lambda _, k: tables[k - 1], start, missing, columns, 10)
    assert kept.n_sweeps == 2
    assert_array_equal(kept.table, tables[1])
    assert len(kept.differences) == 3


def test_goes_on_while_either_kind_of_column_still_settles() -> None:
    """Numbers change by more and more, categories by less and less: no reason to stop."""
    frame = pd.DataFrame({"a": [0.0, 2.0, 1.0, 5.0], "b": ["x", "y", "x", "y"]})
    columns = missforest.learn_columns(frame, ())
    missing = np.array([[True, True]] * 3 + [[False, False]])
    tables = [
        np.array([[1.0, 1], [1, 1], [1, 1], [5, 1]]),
        np.array([[3.0, 0], [3, 0], [3, 1], [5, 1]]),
        np.array([[9.0, 1], [9, 0], [9, 1], [5, 1]]),
        np.array([[20.0, 0], [30, 1], [40, 0], [5, 1]]),
    ]
    start = np.zeros((4, 2))
    kept = missforest._until_it_grows(lambda _, k: tables[k - 1], start, missing, columns, 10)
    assert kept.n_sweeps == 3
    assert_array_equal(kept.table, tables[2])


def test_record_of_the_sweeps_agrees_with_the_rule(imputer: MissForestImputer) -> None:
    changes = imputer.differences_.to_numpy()
    assert (changes[1 : imputer.n_iter_] < changes[: imputer.n_iter_ - 1]).any(axis=1).all()
    if imputer.n_iter_ < imputer.max_iter:
        assert len(changes) == imputer.n_iter_ + 1
        assert (changes[-1] >= changes[-2]).all()


def test_units_make_no_difference() -> None:
    holes = with_holes(mixed())
    small = holes.assign(dose=holes["dose"] / 1024)
    one, other = (MissForestImputer(n_estimators=5).fit(t) for t in (holes, small))
    assert one.n_iter_ == other.n_iter_
    assert_allclose(one.completed_[:, 0], 1024 * other.completed_[:, 0], rtol=1e-9)


def test_other_rows_are_filled_too(imputer: MissForestImputer) -> None:
    true = mixed(seed=5)
    filled = imputer.transform(with_holes(true, seed=6))
    missing = with_holes(true, seed=6)["dose"].isna()
    error = ((filled["dose"] - true["dose"])[missing] ** 2).mean()
    assert not filled.isna().any().any()
    assert error < 0.5 * true["dose"].var()


def test_a_column_complete_at_fit_may_have_holes_later() -> None:
    table = mixed()
    imputer = MissForestImputer(n_estimators=20).fit(table)
    assert imputer.n_iter_ == 0
    holes = table.assign(dose=table["dose"].where(np.arange(N) % 2 == 0))
    error = (imputer.transform(holes)["dose"] - table["dose"])[1::2]
    assert (error**2).mean() < 0.5 * table["dose"].var()


def test_empty_column_is_named() -> None:
    with pytest.raises(ValueError, match="'dose' has no value in any row: drop it"):
        MissForestImputer().fit(mixed().assign(dose=np.nan))


def test_unseen_level_is_told(imputer: MissForestImputer) -> None:
    rows = mixed().head(3).assign(grade=["low", "huge", "mid"])
    with pytest.warns(UserWarning, match="'grade': 1 cell"):
        filled = imputer.transform(rows)
    assert set(filled["grade"]) <= {"low", "mid", "high"}


def test_one_seed_gives_one_result() -> None:
    holes = with_holes(mixed())
    one, other = (MissForestImputer(n_estimators=5).fit_transform(holes) for _ in range(2))
    pd.testing.assert_frame_equal(one, other)


SITES = np.where(np.arange(N) < 200, np.arange(N) % 4, -1)


@pytest.fixture(scope="module")
def regressor() -> MissForestRegressor:
    table = with_holes(mixed(), 0.1)
    y = mixed()["dose"].where(SITES >= 0, 1e9)  # what stands at the target's rows is ignored
    return MissForestRegressor(n_estimators=30).fit(table.drop(columns="dose"), y, SITES)


def test_labels_of_the_target_are_imputed(regressor: MissForestRegressor) -> None:
    X, y = with_holes(mixed(), 0.1).drop(columns="dose"), mixed()["dose"]
    target = SITES < 0
    predicted = regressor.predict(X[target])
    assert ((predicted - y[target]) ** 2).mean() < 0.5 * y[target].var()
    completed = regressor.imputer_.completed_[-target.sum() :]  # targets follow the sources
    columns = regressor.imputer_.columns_
    inputs = missforest.other_columns(columns, completed, len(columns) - 1)
    imputed = regressor._label_forest_.predict(inputs)  # in an order that content decides
    assert_array_equal(np.sort(predicted), np.sort(imputed))
    assert_array_equal(
        regressor.predict(X[target][::-1], sample_domain=[-1] * 100), predicted[::-1]
    )


def test_other_targets_are_completed_by_the_fitted_forests(regressor: MissForestRegressor) -> None:
    new = with_holes(mixed(seed=9), 0.1).drop(columns="dose")
    y = mixed(seed=9)["dose"]
    before = regressor.imputer_.completed_.copy()
    assert regressor.score(new, y) > 0.5
    assert_array_equal(regressor.imputer_.completed_, before)


def test_without_targets_the_sources_teach() -> None:
    X, y = mixed().drop(columns="dose"), mixed()["dose"]
    model = MissForestRegressor(n_estimators=20).fit(X, y)
    assert model.score(mixed(seed=9).drop(columns="dose"), mixed(seed=9)["dose"]) > 0.5


def test_classes() -> None:
    table = with_holes(mixed(), 0.1)
    X, y = table.drop(columns="grade"), mixed()["grade"].astype(object)
    y[SITES < 0] = None
    model = clone(MissForestClassifier(n_estimators=30)).fit(X, y, sample_domain=SITES)
    target = SITES < 0
    probability = model.predict_proba(X[target])
    assert_allclose(probability.sum(axis=1), 1.0)
    assert_array_equal(model.classes_, ["high", "low", "mid"])
    truth = mixed()["grade"][target]
    assert (model.predict(X[target]) == truth).mean() > truth.value_counts(
        normalize=True
    ).max() + 0.1
    assert model.needs_target


def test_empty_feature_is_left_out_of_a_prediction() -> None:
    X, y = mixed().drop(columns="dose").assign(nothing=np.nan), mixed()["dose"]
    with pytest.warns(UserWarning, match="left out: 'nothing'"):
        model = MissForestRegressor(n_estimators=10).fit(X, y)
    assert model.score(X, y) > 0.5


def test_rare_levels_come_back_by_name() -> None:
    table = pd.DataFrame({"x": np.arange(80.0), "v": ["common"] * 78 + ["rare", None]})
    filled = MissForestImputer(n_estimators=40).fit_transform(table)
    assert set(filled["v"]) == {"common", "rare"}
