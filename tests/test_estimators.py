"""The public contract of the two estimators."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import make_classification_domains, make_regression_domains

QUICK = {"max_epochs": 12, "hidden": 8, "n_predictors": 2, "n_members": 1}


@pytest.fixture(scope="module")
def data():
    return make_regression_domains(n_domains=4, n_samples=60, random_state=1)


@pytest.fixture(scope="module")
def split(data):
    return data.leave_out(3)


@pytest.fixture(scope="module")
def fitted(split):
    return DAPDAGRegressor(**QUICK).fit(split.X, split.y, sample_domain=split.sample_domain)


def test_learned_attributes_carry_the_tables_names(fitted, split):
    names = [*split.X.columns, "Y"]
    assert list(fitted.graph_) == names
    assert nx.is_directed_acyclic_graph(fitted.graph_)
    assert all("weight" in edge for _, _, edge in fitted.graph_.edges(data=True))
    assert list(fitted.adjacency_.index) == list(fitted.adjacency_.columns) == names
    assert list(fitted.source_environments_.index) == [0, 1, 2]
    assert {
        "prediction",
        "reconstruction",
        "environment",
        "acyclicity",
        "sparsity",
        "total",
    } <= set(fitted.history_)
    assert len(fitted.history_) == fitted.n_epochs_


def test_weights_of_edges_are_the_filter_norms(fitted):
    for parent, child, edge in fitted.graph_.edges(data=True):
        assert edge["weight"] == pytest.approx(fitted.adjacency_.loc[parent, child])


def test_environment_has_one_row_per_domain(fitted, split):
    alone = fitted.environment(split.X_target)
    assert list(alone.columns) == ["E1_mean", "E1_sd", "outside"]
    labels = np.repeat(["b", "a"], 30)
    both = fitted.environment(split.X_target, sample_domain=labels)
    assert list(both.index) == ["b", "a"]
    first = fitted.environment(split.X_target[:30])
    assert both.loc["b", "E1_mean"] == pytest.approx(first["E1_mean"].iloc[0])


def test_draws_of_the_environment_follow_its_posterior(fitted, split):
    posterior = fitted.environment(split.X_target).iloc[0]
    draws = fitted.sample_environment(split.X_target, 4000)
    assert draws.shape == (4000, 1)
    assert draws.mean() == pytest.approx(posterior["E1_mean"], abs=5 * posterior["E1_sd"] / 63)
    assert draws.std() == pytest.approx(posterior["E1_sd"], rel=0.1)


def test_several_domains_in_one_call_are_predicted_as_if_alone(fitted, split):
    labels = np.tile(["north", "south", "south"], 20)
    together, std = fitted.predict(split.X_target, sample_domain=labels, return_std=True)
    for label in ("north", "south"):
        mine = labels == label
        mean, alone = fitted.predict(split.X_target[mine], return_std=True)
        np.testing.assert_allclose(together[mine], mean, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(std[mine], alone, rtol=1e-5)


def test_sites_that_share_rows_are_put_in_one_order():
    # whole numbers of few values: every site holds each row, with other labels and numbers of it
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (400, 3)), columns=list("abc"))
    y, site = rng.integers(0, 2, 400), rng.integers(0, 5, 400)
    plain = DAPDAGClassifier()._training_sample(X, y, site)
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(400)
        sample = DAPDAGClassifier()._training_sample(X.iloc[rows], y[rows], site[rows])
        pd.testing.assert_frame_equal(sample.X, plain.X)
        assert (sample.y == plain.y).all()
        assert (sample.domain == plain.domain).all()
        assert sample.domain_labels == plain.domain_labels


def test_prediction_does_not_depend_on_the_order_of_rows(fitted, split):
    order = np.random.default_rng(0).permutation(len(split.X_target))
    shuffled = fitted.predict(split.X_target.iloc[order])
    np.testing.assert_allclose(
        shuffled, fitted.predict(split.X_target)[order], rtol=1e-4, atol=1e-5
    )


def test_an_interval_widens_with_its_coverage(fitted, split):
    narrow = fitted.predict_interval(split.X_target, coverage=0.5)
    wide = fitted.predict_interval(split.X_target, coverage=0.95)
    assert (wide[:, 0] < narrow[:, 0]).all() and (wide[:, 1] > narrow[:, 1]).all()
    with pytest.raises(ValueError, match="coverage"):
        fitted.predict_interval(split.X_target, coverage=1.5)


def test_one_random_state_gives_one_result_to_the_bit(fitted, split):
    again = clone(fitted).fit(split.X, split.y, sample_domain=split.sample_domain)
    assert np.array_equal(again.predict(split.X_target), fitted.predict(split.X_target))
    other = clone(fitted).set_params(random_state=7)
    other.fit(split.X, split.y, sample_domain=split.sample_domain)
    assert not np.array_equal(other.predict(split.X_target), fitted.predict(split.X_target))


def test_names_of_domains_do_not_matter(fitted, split):
    names = np.array(["Zurich", "Bern", "Basel"])[split.sample_domain]
    named = clone(fitted).fit(split.X, split.y, sample_domain=names)
    assert list(named.source_environments_.index) == ["Basel", "Bern", "Zurich"]
    assert np.array_equal(named.predict(split.X_target), fitted.predict(split.X_target))


def test_rows_of_negative_domains_help_without_their_label(data, split):
    domain = np.where(data.sample_domain == 3, -1, data.sample_domain)
    masked = data.y.where(domain >= 0)
    poisoned = data.y.where(domain >= 0, 1e6)
    model = DAPDAGRegressor(**QUICK).fit(data.X, masked, sample_domain=domain)
    same = DAPDAGRegressor(**QUICK).fit(data.X, poisoned, sample_domain=domain)
    assert list(model.source_environments_.index) == [0, 1, 2]
    assert np.array_equal(model.predict(split.X_target), same.predict(split.X_target))
    without = DAPDAGRegressor(**QUICK).fit(split.X, split.y, sample_domain=split.sample_domain)
    assert not np.array_equal(model.predict(split.X_target), without.predict(split.X_target))


def test_classes_may_be_strings_and_more_than_two():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(180, 3)), columns=["a", "b", "c"])
    y = np.array(["low", "mid", "top"])[np.digitize(X["a"], [-0.5, 0.5])]
    model = DAPDAGClassifier(**{**QUICK, "max_epochs": 40})
    model.fit(X, y, sample_domain=np.repeat(["s", "t", "u"], 60))
    probability = model.predict_proba(X)
    assert list(model.classes_) == ["low", "mid", "top"]
    np.testing.assert_allclose(probability.sum(1), 1.0)
    assert model.score(X, y) > 0.8
    assert set(model.graph_) == {"a", "b", "c", "y"}


def test_categories_are_one_node_and_an_unseen_one_is_survived():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], size=120)
    X = pd.DataFrame({"colour": colour, "size": rng.normal(size=120)})
    y = (colour == "red") * 2.0 + X["size"].to_numpy()
    model = DAPDAGRegressor(**QUICK).fit(X, y, sample_domain=np.repeat([0, 1], 60))
    assert list(model.graph_) == ["colour", "size", "y"]
    unseen = X.assign(colour="black")
    with pytest.warns(UserWarning, match="'colour': 120 cell"):
        assert np.isfinite(model.predict(unseen)).all()


def test_text_where_numbers_were_is_named(fitted, split):
    with pytest.raises(ValueError, match="column 'X3' held numbers"):
        fitted.predict(split.X_target.assign(X3="many"))


def test_missing_cells_never_give_a_missing_prediction(fitted, split):
    holes = split.X_target.mask(np.random.default_rng(0).random(split.X_target.shape) < 0.3)
    holes.iloc[0] = np.nan
    mean, std = fitted.predict(holes, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all()


def test_a_search_over_left_out_sites_needs_no_target_label(split):
    search = GridSearchCV(
        DAPDAGRegressor(**QUICK), {"sparsity_weight": [0.0, 0.1]}, cv=LeaveOneGroupOut()
    )
    with config_context(enable_metadata_routing=True):
        search.fit(split.X, split.y, groups=split.sample_domain, sample_domain=split.sample_domain)
    assert search.best_params_["sparsity_weight"] in (0.0, 0.1)
    assert len(search.best_estimator_.source_environments_) == 3


def test_sample_domain_is_routed_through_a_pipeline(split):
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), DAPDAGRegressor(**QUICK))
        pipeline.fit(split.X, split.y, sample_domain=split.sample_domain)
        assert len(pipeline[-1].source_environments_) == 3
        scores = cross_val_score(
            pipeline,
            split.X,
            split.y,
            cv=LeaveOneGroupOut(),
            params={"groups": split.sample_domain, "sample_domain": split.sample_domain},
        )
    assert len(scores) == 3 and np.isfinite(scores).all()


def test_the_papers_form_is_one_argument_away(split):
    soft = DAPDAGRegressor(structure="paper", **QUICK)
    soft.fit(split.X, split.y, sample_domain=split.sample_domain)
    assert soft.fitted_.model.sizes.n_predictors == 0
    assert nx.is_directed_acyclic_graph(soft.graph_)
    assert soft.history_["acyclicity"].iloc[-1] > 0


def test_point_formulation_predicts_without_draws(split):
    point = DAPDAGRegressor(bayesian=False, **QUICK)
    point.fit(split.X, split.y, sample_domain=split.sample_domain)
    mean, std = point.predict(split.X_target, return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()


def test_members_share_one_graph_and_their_environments_are_aligned(split):
    model = DAPDAGRegressor(**{**QUICK, "n_members": 3})
    model.fit(split.X, split.y, sample_domain=split.sample_domain)
    assert model.fitted_.model.n_members == 3
    assert nx.is_directed_acyclic_graph(model.graph_)
    assert model.environment(split.X_target).shape == (1, 3)


def test_class_labels_of_targets_are_masked_by_minus_one():
    data = make_classification_domains(n_domains=3, n_samples=60, random_state=0)
    domain = np.where(data.sample_domain == 2, -5, data.sample_domain)
    y = np.where(domain < 0, -1, data.y)
    model = DAPDAGClassifier(**QUICK).fit(data.X, y, sample_domain=domain)
    assert list(model.classes_) == [0, 1]
    assert model.predict_proba(data.X, sample_domain=data.sample_domain).shape == (180, 2)


BAD = {
    "no source": (lambda X, y, d: (X, y, np.full(len(y), -1)), "no source"),
    "length of domains": (lambda X, y, d: (X, y, d[:-1]), "one label per row"),
    "missing domain": (lambda X, y, d: (X, y, np.where(d == 0, None, "a")), "missing in 60 row"),
    "length of y": (lambda X, y, d: (X, y[:-1], d), "inconsistent numbers"),
    "no label": (lambda X, y, d: (X, y * np.nan, d), "missing everywhere"),
    "infinite cell": (lambda X, y, d: (X.assign(X2=np.inf), y, d), "'X2' has 180 infinite"),
    "dates": (lambda X, y, d: (X.assign(X2=pd.Timestamp("2020-01-01")), y, d), "'X2' holds dates"),
    "dates as texts": (
        lambda X, y, d: (X.assign(X2=["2020-01-31", "3 May 2011", "unknown"] * 60), y, d),
        "'X2' holds dates or times .'2020-01-31'",
    ),
    "no date at all": (lambda X, y, d: (X.assign(X2=pd.NaT), y, d), "'X2' holds dates or times"),
    "repeated column": (
        lambda X, y, d: (X.set_axis(list("aabcdef"), axis=1), y, d),
        "'a' appears 2",
    ),
    "label among features": (
        lambda X, y, d: (X.rename(columns={"X1": "Y"}), y, d),
        "also a column",
    ),
    "text label": (lambda X, y, d: (X, y.astype(str) + "?", d), "must be numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(split, case):
    change, message = BAD[case]
    X, y, domain = change(split.X, split.y, split.sample_domain)
    with pytest.raises(ValueError, match=message):
        DAPDAGRegressor(**QUICK).fit(X, y, sample_domain=domain)


@pytest.mark.parametrize(
    "setting",
    [
        {"hidden": 0},
        {"env_dim": 1.5},
        {"learning_rate": 0.0},
        {"sparsity_weight": -1.0},
        {"validation_fraction": 1.0},
        {"acyclicity": "nothing"},
        {"steps": "many"},
        {"random_state": -1},
    ],
)
def test_a_bad_setting_is_named(split, setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        DAPDAGRegressor(**{**QUICK, **setting}).fit(split.X, split.y)


def test_one_class_cannot_be_learned(split):
    with pytest.raises(ValueError, match="only one class"):
        DAPDAGClassifier(**QUICK).fit(split.X, np.ones(len(split.y)))
