"""A site that is known: inferred once, asked as often as one likes."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.utils.validation import check_is_fitted

import dapdag
from dapdag import DAPDAGClassifier, DAPDAGRegressor, SiteModel
from dapdag.data.rows import RowEncoder
from dapdag.datasets import make_regression_domains
from dapdag.inference import evidence

QUICK = {"max_epochs": 12, "hidden": 8, "n_predictors": 2, "n_members": 2, "n_draws": 4}
ROWS = 120


def mixed_rows(seed, n=ROWS, shift=0.0):
    """Numbers, categories, truth values and missing cells, and two classes."""
    rng = np.random.default_rng(seed)
    age = rng.normal(shift, 1.0, n)
    y = (age + rng.normal(size=n) > shift / 2).astype(int)
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "ward": pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["a", "b", "c"]),
            "smokes": rng.random(n) < 0.3 + 0.4 * y,
            "dose": rng.exponential(size=n) + y,
        }
    )
    return X, pd.Series(y, name="died")


@pytest.fixture(scope="module")
def numbers():
    """A regression whose graph takes part in the prediction, and a new site."""
    data = make_regression_domains(n_domains=5, n_samples=ROWS, random_state=1)
    split = data.leave_out(4)
    est = DAPDAGRegressor(**QUICK).fit(split.X, split.y, sample_domain=split.sample_domain)
    return est, split.X_target, split.y_target


@pytest.fixture(scope="module")
def classes():
    parts = [mixed_rows(seed, shift=shift) for seed, shift in enumerate((-0.5, 0.0, 0.5, 1.0))]
    X, y = (pd.concat([p[k] for p in parts], ignore_index=True) for k in (0, 1))
    est = DAPDAGClassifier(**QUICK).fit(X, y, sample_domain=np.repeat([0, 1, 2, 3], ROWS))
    return est, *mixed_rows(9, shift=0.8)


@pytest.fixture(scope="module", params=["numbers", "classes"])
def case(request):
    return request.getfixturevalue(request.param)


def answers(estimator, X):
    proba = getattr(estimator, "predict_proba", None)
    return estimator.predict(X) if proba is None else proba(X)[:, 1]


def test_rows_of_a_site_are_scored_as_predict_does(case):
    est, X, _ = case
    site = est.at(X)
    assert isinstance(site, SiteModel)
    assert_array_equal(answers(site, X), answers(est, X))
    assert site.n_rows_ == len(X)
    pd.testing.assert_frame_equal(site.environment_, est.environment(X))


def test_one_row_at_a_time_is_the_same_as_all_at_once(case):
    est, X, _ = case
    site, whole = est.at(X), answers(est, X)
    one = np.concatenate([answers(site, X.iloc[[i]]) for i in range(40)])
    assert_allclose(one, whole[:40], rtol=1e-4, atol=1e-5)


def test_rows_that_are_asked_about_do_not_move_the_site(case):
    est, X, _ = case
    site = est.at(X)
    before, environment = answers(site, X[:5]), site.environment_
    moved = X.assign(**{X.columns[0]: 3.0})
    answers(site, moved)
    assert_array_equal(answers(site, X[:5]), before)
    pd.testing.assert_frame_equal(site.environment_, environment)
    # the estimator, in contrast, reads E off the rows that it is given
    assert not np.allclose(answers(est, moved)[:5], answers(site, moved)[:5], atol=1e-4)


def test_intervals_at_a_site_hold_the_prediction(numbers):
    est, X, _ = numbers
    site = est.at(X)
    mean, std = site.predict(X, return_std=True)
    low, high = site.predict_interval(X, coverage=0.8).T
    assert_allclose((low + high) / 2, mean)
    width = est.fitted_.model.calibration.row_noise.width(0.8)
    assert_allclose(high - low, 2 * width * 1.2816 * std, rtol=1e-4)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, not 1.5"):
        site.predict_interval(X, coverage=1.5)


@pytest.mark.parametrize("kept", [10_000, 50])
def test_yesterday_and_today_make_both(case, kept, monkeypatch):
    est, X, _ = case
    for module in (evidence, dapdag.inference.site):
        monkeypatch.setattr(module, "SITE_ROWS", kept)
    monkeypatch.setattr(dapdag.inference.prediction, "EFFECT_ROWS", 40)
    whole = est.at(X)
    parts = est.at(X[:13]).update(X[13:50]).update(X[50:])
    assert parts.n_rows_ == len(X)
    assert len(parts.known_.evidence.kept.key) == min(kept, len(X))
    assert_array_equal(parts.known_.evidence.kept.key, whole.known_.evidence.kept.key)
    assert_allclose(parts.environment_.iloc[0, :2], whole.environment_.iloc[0, :2], rtol=1e-4)
    assert_allclose(answers(parts, X), answers(whole, X), rtol=1e-3, atol=1e-4)


def test_mechanisms_of_the_label_and_its_children(numbers):
    est, X, _ = numbers
    found = est.at(X).mechanisms_
    children = list(est.graph_.successors("Y"))
    assert found.index[0] == "Y" and set(found.index[1:]) == set(children)
    assert list(found["role"]) == ["label", *["child"] * len(children)]
    assert (found["shift_sd"] > 0).all() and np.isfinite(found["shift"]).all()
    assert np.isfinite(found.loc[children, ["effect", "effect_sd"]].to_numpy()).all()


def test_an_effect_that_turned_round_is_seen():
    rng = np.random.default_rng(0)

    def site(effect, n=300):
        cause = rng.normal(rng.normal(), 1.0, n)
        y = 2 * cause + rng.normal(0, 0.5, n)
        child = effect * y + rng.normal(0, 0.3, n)
        return pd.DataFrame({"cause": cause, "child": child}), y

    parts = [site(1.0) for _ in range(5)]
    X = pd.concat([p[0] for p in parts], ignore_index=True)
    y = pd.Series(np.concatenate([p[1] for p in parts]), name="Y")
    graph = nx.DiGraph([("cause", "Y"), ("Y", "child")])
    est = DAPDAGRegressor(structure=graph, **QUICK | {"max_epochs": 40})
    est.fit(X, y, sample_domain=np.repeat(range(5), 300))
    usual = est.at(site(1.0)[0]).mechanisms_.loc["child"]
    with pytest.warns(UserWarning, match="the label's effect differs on 'child'"):
        turned = est.at(site(-1.0)[0]).mechanisms_.loc["child"]
    assert not usual["turned"] and abs(usual["effect"] - 1) < 0.3
    assert turned["turned"] and turned["effect"] < 0


def test_it_is_a_fitted_estimator(case):
    est, X, y = case
    site = est.at(X)
    check_is_fitted(site)
    assert site.score(X, y) == pytest.approx(est.score(X, y))
    again = clone(site)
    assert again.estimator is est
    with pytest.raises(NotFittedError):
        answers(again, X)
    assert_array_equal(answers(again.fit(X), X), answers(site, X))
    answers(site, X[:1])
    assert_array_equal(answers(pickle.loads(pickle.dumps(site)), X[:1]), answers(site, X[:1]))


def test_partial_dependence_leaves_the_site_as_it_is(case):
    est, X, _ = case
    site, feature = est.at(X), X.columns[-1]
    found = partial_dependence(site, X, [feature], grid_resolution=5)
    grid = found["grid_values"][0]
    expected = [answers(site, X.assign(**{feature: value})).mean() for value in grid]
    assert_allclose(found["average"][0], expected, rtol=1e-5)


def test_permutation_importance_is_that_of_the_site(case):
    est, X, y = case
    site = est.at(X)
    found = permutation_importance(site, X, y, n_repeats=2, random_state=0)
    again = permutation_importance(site, X, y, n_repeats=2, random_state=0)
    assert_array_equal(found.importances, again.importances)
    # the order of rows tells nothing about a site, so a feature permuted in all rows moves the
    # prediction by that feature alone
    assert found.importances_mean.max() > 0


def test_shapley_values_add_up(numbers):
    # not in the dev extra: with numba and llvmlite it takes 212 MB
    shap = pytest.importorskip("shap")
    est, X, _ = numbers
    site = est.at(X)
    explainer = shap.PermutationExplainer(site.predict, X[:10], seed=0)
    found = explainer(X[10:13])
    total = found.values.sum(1) + found.base_values
    assert_allclose(total, site.predict(X[10:13]), rtol=1e-4, atol=1e-4)
    # Without random permutations a row's values do not depend on the rows beside it.
    exact = shap.ExactExplainer(site.predict, X[:10])
    several, alone = exact(X[10:13]), exact(X[10:11])
    assert_allclose(alone.values[0], several.values[0], rtol=1e-4, atol=1e-4)
    assert np.ptp(several.values, axis=0).max() > 0.01


@pytest.mark.parametrize("few", [False, True])
def test_a_saved_site_predicts_to_the_bit(case, tmp_path, few):
    est, X, _ = case
    site = est.at(X)
    site.save(tmp_path / "site.dapdag")
    again = dapdag.load(tmp_path / "site.dapdag")
    rows = X[:1] if few else X
    assert type(again) is type(site)
    assert_array_equal(answers(again, rows), answers(site, rows))
    pd.testing.assert_frame_equal(again.environment_, site.environment_)
    pd.testing.assert_series_equal(again.expert_weights_, site.expert_weights_)
    pd.testing.assert_frame_equal(again.mechanisms_, site.mechanisms_)
    more, both = again.update(X[:30]), site.update(X[:30])
    assert_array_equal(answers(more, rows), answers(both, rows))


def test_a_damaged_site_file_is_refused(numbers, tmp_path):
    est, X, _ = numbers
    est.at(X).save(tmp_path / "site.dapdag")
    data = bytearray((tmp_path / "site.dapdag").read_bytes())
    data[-3] ^= 1
    (tmp_path / "damaged.dapdag").write_bytes(data)
    with pytest.raises(ValueError, match="damaged.dapdag.*it is damaged"):
        dapdag.load(tmp_path / "damaged.dapdag")


def test_a_site_of_another_model_is_refused(numbers, classes, tmp_path):
    from dapdag import persistence

    mixed = numbers[0]._site_model()
    mixed.known_ = classes[0].at(classes[1]).known_
    persistence.save(mixed, tmp_path / "mixed.dapdag")
    with pytest.raises(ValueError, match="its site does not go with its model"):
        dapdag.load(tmp_path / "mixed.dapdag")


def test_other_columns_are_refused(case):
    est, X, _ = case
    site = est.at(X)
    for ask in (site.update, site.predict):
        with pytest.raises(ValueError, match="feature names"):
            ask(X.rename(columns={X.columns[0]: "other"}))
        with pytest.raises(ValueError, match="0 sample"):
            ask(X[:0])


def test_one_row_is_encoded_as_a_table_is(classes):
    est, X, _ = classes
    table = est.fitted_.model.table
    encode = RowEncoder(table, est.feature_names_in_)
    for i in range(len(X)):
        row = X.iloc[[i]]
        values, observed = table.encode(row)
        found = encode(row)
        assert_array_equal(found.values[:, : values.shape[1]], values)
        assert_array_equal(found.observed[:, : observed.shape[1]], observed)


@pytest.mark.parametrize(
    ("column", "value"),
    [("ward", "never seen"), ("ward", 1), ("age", "old"), ("smokes", "no"), ("dose", np.inf)],
)
def test_an_unusual_row_takes_the_long_way(classes, column, value):
    est, X, _ = classes
    row = X.iloc[[0]].astype(object)
    row.loc[row.index[0], column] = value
    assert RowEncoder(est.fitted_.model.table, est.feature_names_in_)(row) is None


def test_what_a_known_site_keeps_is_bounded(numbers, monkeypatch):
    est, X, _ = numbers
    monkeypatch.setattr(evidence, "SITE_ROWS", 30)
    site = est.at(X)
    kept = site.known_.evidence
    assert kept.n_rows == len(X) and len(kept.kept.data.values) == 30
