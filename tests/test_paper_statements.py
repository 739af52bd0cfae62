"""What the paper claims, on its own simulated data, with one fit for all tests."""

import functools
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import make_regression_domains
from dapdag.warnings import TrainingWarning

TARGET = 0  # an E between those of the sources
EPOCHS = 150
FORMS = pytest.mark.parametrize("structure", ["search", "paper"])


@functools.cache
def simulated():
    data = make_regression_domains(n_domains=6, n_samples=200, random_state=3)
    return data, data.leave_out(TARGET)


@functools.cache
def _fitted(structure, edge_threshold):
    _, split = simulated()
    est = DAPDAGRegressor(
        max_epochs=EPOCHS, n_members=1, structure=structure, edge_threshold=edge_threshold
    )
    return est.fit(split.X, split.y, sample_domain=split.sample_domain)


def fitted(structure="search", edge_threshold=0.1):
    """A regressor trained on all domains but the target; trained once per process."""
    return _fitted(structure, edge_threshold)


def mse(a, b):
    return float(np.mean((np.asarray(a) - np.asarray(b)) ** 2))


@FORMS
def test_inferred_environments_follow_the_true_ones(structure):
    data, _ = simulated()
    inferred = fitted(structure=structure).source_environments_["E1_mean"]
    true = [data.env[d] for d in inferred.index]
    assert abs(np.corrcoef(inferred, true)[0, 1]) > 0.9


def test_the_targets_environment_falls_in_line_with_the_sources():
    """Without any label of the target: on the line through the sources' E, up to noise."""
    data, split = simulated()
    est = fitted()
    inferred = est.source_environments_["E1_mean"]
    true = np.array([data.env[d] for d in inferred.index])
    slope, offset = np.polyfit(inferred, true, 1)
    found = est.environment(split.X_target)["E1_mean"].iloc[0]
    assert abs(offset + slope * found - data.env[TARGET]) < 0.5 * true.std()
    assert not est.environment(split.X_target)["outside"].iloc[0]


@FORMS
def test_prediction_in_an_unseen_domain_is_far_better_than_the_mean(structure):
    _, split = simulated()
    error = mse(fitted(structure=structure).predict(split.X_target), split.y_target)
    assert error < 0.5 * mse(split.y.mean(), split.y_target)


def test_prediction_in_an_unseen_domain_beats_pooled_boosting():
    _, split = simulated()
    with threadpool_limits(1, "openmp"):  # more threads than free cores wait for each other
        pooled = HistGradientBoostingRegressor(random_state=0).fit(split.X, split.y)
    error = mse(fitted().predict(split.X_target), split.y_target)
    assert error < mse(pooled.predict(split.X_target), split.y_target)


def test_nothing_beats_the_oracle_by_more_than_noise():
    data, split = simulated()
    own = (fitted().predict(split.X_target) - split.y_target) ** 2
    oracle = (data.oracle(split.X_target, data.env[TARGET]) - split.y_target) ** 2
    difference = own - oracle
    assert difference.mean() > -3 * difference.std() / np.sqrt(len(difference))


def test_the_right_environment_predicts_better_than_a_wrong_one():
    """Adaptation happens through E alone: the same rows under another domain's E do worse."""
    data, split = simulated()
    est = fitted()
    sources = est.source_environments_["E1_mean"]
    far = max(sources.index, key=lambda d: abs(data.env[d] - data.env[TARGET]))
    own = est.environment(split.X_target)["E1_mean"].iloc[0]
    right, wrong = (
        mse(est.reconstruct(split.X_target, split.y_target, env=[env])["X1"], split.X_target["X1"])
        for env in (own, sources[far])
    )
    assert right < wrong


@FORMS
def test_the_graph_is_acyclic_and_names_every_variable(structure):
    _, split = simulated()
    graph = fitted(structure=structure).graph_
    assert nx.is_directed_acyclic_graph(graph)
    assert set(graph) == {*split.X.columns, "Y"}
    assert len(graph.edges) > 0


def test_the_environment_acts_on_its_root_child():
    """X1 = 0.8 E + noise: E explains it, in the units of its standard deviation."""
    assert fitted().graph_.nodes["X1"]["environment"] > 0.3


def perturbed_reconstructions():
    """For every variable i: the reconstructions once i alone was changed, and those before."""
    _, split = simulated()
    est = fitted()
    X, y = split.X_target.iloc[:50], split.y_target.iloc[:50]
    table = pd.concat([X, y], axis=1)
    before = est.reconstruct(X, y, env=[0.3])
    for name in table:
        changed = table.copy()
        changed[name] = table[name].to_numpy()[::-1]
        yield name, before, est.reconstruct(changed[X.columns], changed["Y"], env=[0.3])


def test_a_reconstruction_changes_with_its_parents_and_with_nothing_else():
    graph = fitted().graph_
    for name, before, after in perturbed_reconstructions():
        for child in before:
            changes = np.abs(after[child] - before[child]).to_numpy()
            if graph.has_edge(name, child):
                assert changes.max() > 0, (name, child)
            else:
                assert (changes == 0).all(), (name, child)


def test_removing_the_label_leaves_the_environment_alone():
    """E of a new domain comes from its features: an encoder that saw labels would not."""
    _, split = simulated()
    est = fitted()
    with_label = est.reconstruct(split.X_target, split.y_target)
    without = est.reconstruct(split.X_target, None)
    childless = [v for v in with_label if not est.graph_.has_edge("Y", v)]
    pd.testing.assert_frame_equal(with_label[childless], without[childless])


def test_renaming_the_domains_changes_nothing():
    _, split = simulated()
    names = np.array([f"hospital {d}" for d in split.sample_domain])
    renamed = DAPDAGRegressor(max_epochs=EPOCHS, n_members=1).fit(
        split.X, split.y, sample_domain=names
    )
    np.testing.assert_array_equal(renamed.predict(split.X_target), fitted().predict(split.X_target))


def test_the_order_of_rows_changes_nothing():
    _, split = simulated()
    order = np.random.default_rng(0).permutation(len(split.X))
    shuffled = DAPDAGRegressor(max_epochs=EPOCHS, n_members=1).fit(
        split.X.iloc[order],
        split.y.iloc[order],
        sample_domain=np.asarray(split.sample_domain)[order],
    )
    expected = fitted().predict(split.X_target)
    np.testing.assert_array_equal(shuffled.predict(split.X_target), expected)
    order = np.random.default_rng(1).permutation(len(split.X_target))
    moved = shuffled.predict(split.X_target.iloc[order])
    np.testing.assert_allclose(moved, expected[order], rtol=1e-5, atol=1e-6)


def test_units_of_the_label_do_not_matter():
    _, split = simulated()
    scaled = DAPDAGRegressor(max_epochs=EPOCHS, n_members=1)
    scaled.fit(split.X, 1000 * split.y + 5, sample_domain=split.sample_domain)
    back = (scaled.predict(split.X_target) - 5) / 1000
    np.testing.assert_allclose(back, fitted().predict(split.X_target), rtol=0.05, atol=0.05)


@functools.cache
def classified(swap):
    _, split = simulated()
    y = (split.y > split.y.median()).to_numpy()
    est = DAPDAGClassifier(max_epochs=EPOCHS, n_members=1)
    return est.fit(split.X, ~y if swap else y, sample_domain=split.sample_domain)


def test_swapping_the_classes_swaps_the_probabilities():
    _, split = simulated()
    p, swapped = (classified(s).predict_proba(split.X_target)[:, 1] for s in (False, True))
    assert np.corrcoef(p, 1 - swapped)[0, 1] > 0.95
    assert np.abs(p - (1 - swapped)).mean() < 0.1


def test_the_classifier_is_right_far_more_often_than_chance():
    _, split = simulated()
    truth = split.y_target > split.y.median()
    accuracy = classified(False).score(split.X_target, truth)
    assert accuracy > max(truth.mean(), 1 - truth.mean()) + 0.1


def test_without_an_edge_threshold_the_graph_is_still_acyclic():
    graph = fitted(structure="paper", edge_threshold=0.0).graph_
    assert nx.is_directed_acyclic_graph(graph)
    assert len(graph.edges) > len(fitted(structure="paper").graph_.edges)


def hopeless(learning_rate=1e30):
    _, split = simulated()
    est = DAPDAGRegressor(
        max_epochs=EPOCHS, n_members=1, learning_rate=learning_rate, alternating=False
    )
    return est.fit(split.X, split.y, sample_domain=split.sample_domain)


@pytest.mark.parametrize("learning_rate", [1e4, 1e30])
def test_a_hopeless_learning_rate_is_named_and_leaves_a_model_that_answers(learning_rate):
    with pytest.warns(UserWarning, match="learning_rate"):
        est = hopeless(learning_rate)
    assert np.isfinite(est.predict(simulated()[1].X_target)).all()
    assert nx.is_directed_acyclic_graph(est.graph_)


def test_a_member_that_breaks_warns_of_that_alone():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hopeless()
    assert {w.category for w in caught} == {TrainingWarning}
