"""The graph of a fit, searched or given, and tables at the edge of what a fit can take."""

import functools

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.data.chunks import padded_piece
from dapdag.inference.experts import evaluate_slots, label_support
from dapdag.inference.graph_expert import expect, infer_label
from dapdag.inference.graph_program import label_moments
from dapdag.structure import GraphSearch

# so little training may make experts contradict each other, which is told
pytestmark = [
    pytest.mark.filterwarnings("ignore:at the domain 'new' the experts contradict"),
    pytest.mark.filterwarnings("ignore:column '.*' has no value in the domain 'new'"),
    pytest.mark.filterwarnings("ignore:columns? .* ha.* no value in the domain 'new'"),
]
SMALL = {"n_members": 1, "hidden": 4, "n_predictors": 2, "max_epochs": 4, "n_draws": 4}
GRAPH = nx.DiGraph([("cause", "y"), ("y", "effect"), ("y", "mark")])


@functools.cache
def table(n_sites=3, n=40, seed=0):
    """cause → y → effect (a number) and mark (two levels); effects differ by site."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(n_sites), n)
    cause = rng.normal(size=len(site))
    y = cause + 0.5 * rng.normal(size=len(site)) + 0.3 * site
    effect = (1 + 0.2 * site) * y + 0.3 * rng.normal(size=len(site))
    mark = np.where(rng.random(len(site)) < 1 / (1 + np.exp(-2 * y)), "yes", "no")
    X = pd.DataFrame({"cause": cause, "effect": effect, "mark": mark})
    return X, pd.Series(y, name="y"), site


def fit(X, y, site, structure=GRAPH, kind=DAPDAGRegressor, **settings):
    return kind(**SMALL | settings, structure=structure).fit(X, y, sample_domain=site)


@functools.cache
def fitted():
    return fit(*table())


def classes(y):
    return pd.Series(np.where(y > np.median(y), "high", "low"), index=y.index, name="y")


def assert_finite(est, X):
    if isinstance(est, DAPDAGClassifier):
        p = est.predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(1), 1.0, rtol=1e-5)
    else:
        mean, std = est.predict(X, return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()


def test_a_given_graph_is_the_models_graph():
    est = fitted()
    assert set(est.graph_.edges) == set(GRAPH.edges)
    assert set(est.graph_) == {"cause", "effect", "mark", "y"}
    # and the decoder's filters read nothing else
    adjacency = est.adjacency_
    for i in adjacency.index:
        for j in adjacency.columns:
            assert (adjacency.loc[i, j] > 0) == GRAPH.has_edge(i, j)


def test_a_given_graph_need_not_name_every_column():
    X, y, site = table()
    est = fit(X, y, site, nx.DiGraph([("cause", "y")]))
    assert set(est.graph_.edges) == {("cause", "y")}
    assert_finite(est, X)


def test_a_graph_with_a_cycle_is_refused_by_its_nodes():
    X, y, site = table()
    cycle = nx.DiGraph([("cause", "y"), ("y", "effect"), ("effect", "cause")])
    with pytest.raises(ValueError, match="cycle") as error:
        fit(X, y, site, cycle)
    assert all(f"'{name}'" in str(error.value) for name in ("cause", "y", "effect"))


def test_a_graph_with_unknown_names_is_refused_by_name():
    X, y, site = table()
    with pytest.raises(ValueError, match="'aege'") as error:
        fit(X, y, site, nx.DiGraph([("aege", "y"), ("cause", "y")]))
    assert "'cause'" in str(error.value) and "'effect'" in str(error.value)  # those that exist


@pytest.mark.parametrize("structure", ["notears", 3, nx.Graph([("cause", "y")])])
def test_what_is_no_graph_is_refused(structure):
    X, y, site = table()
    with pytest.raises(ValueError, match="structure must be"):
        fit(X, y, site, structure)


def test_a_searched_graph_is_that_of_the_graph_search():
    X, y, site = table(n=120)
    est = fit(X, y, site, "search", random_state=0)
    alone = GraphSearch(random_state=0).fit(X.assign(y=y), site)
    assert set(est.graph_.edges) == set(alone.graph_.edges)
    names = list(est.graph_)
    np.testing.assert_allclose(
        est.edge_probability_.loc[names, names],
        alone.edge_probability_.loc[names, names],
        atol=1e-9,
    )


def test_every_edge_has_a_probability_and_every_variable_a_shift():
    est = fitted()
    assert est.mechanism_shift_.shape[0] == 4
    assert np.isfinite(est.mechanism_shift_.to_numpy(dtype=float)).all()
    assert all(0 <= p <= 1 for *_, p in est.graph_.edges(data="probability"))


def test_terms_that_a_stage_has_not_are_nan():
    history = fitted().history_
    stages = history["prediction"].notna()
    assert stages.any() and not stages.all()
    assert history["reconstruction"].notna().all() and history["validation"].notna().all()
    if "acyclicity" in history:
        assert history["acyclicity"].isna().all()


def test_many_rows_are_predicted_as_few_are():
    """The compiled program for large sites has the posterior of the one for small sites."""
    X, _, site = table()
    model = fitted().fitted_.model
    data, _ = padded_piece(model.table, X[site == 0])
    shares = model.network_weights[1, :, : model.sizes.n_predictors]
    env, support = model.source_mean[:, 0], label_support(model)
    slots = evaluate_slots(model, shares, env, data, 40, labelled=False)
    found = infer_label(model.effects, slots, support, 1.0)
    for temperature in (1.0, 0.25):
        expected = expect(slots, support, found.effects, temperature)
        mean, variance = label_moments(model, shares, env, found.effects, temperature, data)
        np.testing.assert_allclose(mean[:40], expected.mean(support), rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(variance[:40], expected.variance(support), rtol=2e-2, atol=1e-3)


EDGES = {
    "no parents": [("y", "effect"), ("y", "mark")],
    "no children": [("cause", "y")],
    "neither": [("cause", "effect")],
}


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("kind", [DAPDAGRegressor, DAPDAGClassifier])
def test_a_label_without_parents_or_children(edges, kind):
    X, y, site = table()
    y = y if kind is DAPDAGRegressor else classes(y)
    est = fit(X, y, site, nx.DiGraph(EDGES[edges]), kind)
    assert_finite(est, X[site == 1])


@pytest.mark.parametrize("n_sites", [1, 2])
def test_one_and_two_sources(n_sites):
    X, y, site = table(n_sites)
    assert_finite(fit(X, y, site), X)


def test_a_child_missing_at_a_whole_source_and_at_a_new_site():
    X, y, site = table()
    X = X.copy()
    X.loc[site == 1, "effect"] = np.nan
    est = fit(X, y, site)
    assert_finite(est, X[site == 0])
    assert_finite(est, X[site == 0].assign(effect=np.nan))
    assert_finite(est, X[site == 0].assign(effect=np.nan, mark=None))


@pytest.mark.parametrize("rows", [1, 2])
def test_a_site_of_one_row(rows):
    X, y, site = table()
    assert_finite(fitted(), X[:rows])
    small = np.flatnonzero((site < 2) | (np.arange(len(site)) < 80 + rows))
    assert_finite(fit(X.iloc[small], y.iloc[small], site[small]), X)


def test_labels_of_one_class_at_a_source():
    X, y, site = table()
    label = classes(y).mask(pd.Series(site == 1), "low")
    assert_finite(fit(X, label, site, kind=DAPDAGClassifier), X[site == 2])


def test_a_mechanism_that_acts_at_one_source_only():
    X, y, site = table()
    rng = np.random.default_rng(1)
    effect = np.where(site == 0, y, rng.normal(size=len(y)))
    assert_finite(fit(X.assign(effect=effect), y, site), X[site == 2])


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 40)), columns=[f"x{j}" for j in range(40)])
    y, site = pd.Series(X["x0"] + rng.normal(size=30), name="y"), np.repeat([0, 1], 15)
    assert_finite(fit(X, y, site, "search"), X[site == 0])
