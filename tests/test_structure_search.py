"""`GraphSearch`: recovery, invariances, knowledge, odd tables."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.base import clone

import dapdag
from dapdag import GraphSearch
from dapdag._runtime.warning import DataWarning
from dapdag.datasets import make_random_sem_domains
from dapdag.graph import structural_hamming_distance

SITES = np.repeat(["a", "b", "c"], 150)


def _chain(seed=0):
    """x → y → z, where the level of y and the slope of z differ between sites."""
    rng = np.random.default_rng(seed)
    level = np.repeat([0.0, 1.5, -2.0], 150)
    slope = np.repeat([1.0, 2.0, -0.5], 150)
    x = rng.normal(size=450)
    y = np.tanh(2 * x) + level + 0.4 * rng.normal(size=450)
    z = slope * y + 0.4 * rng.normal(size=450)
    return pd.DataFrame({"z": z, "x": x, "y": y})


@pytest.fixture(scope="module")
def found():
    return GraphSearch().fit(_chain(), SITES)


def test_a_chain_is_found_with_its_directions(found):
    assert set(found.graph_.edges) == {("x", "y"), ("y", "z")}
    assert found.edge_probability_.at["x", "y"] > 0.9
    assert found.adjacency_probability_.at["z", "y"] > 0.9
    assert found.adjacency_probability_.equals(found.adjacency_probability_.T)
    either = found.edge_probability_ + found.edge_probability_.T  # one excludes the other
    np.testing.assert_allclose(found.adjacency_probability_, either, atol=1e-9)
    assert list(found.graph_) == ["z", "x", "y"]


def test_what_shifts_and_how(found):
    shift = found.mechanism_shift_
    assert list(shift.index) == ["z", "x", "y"]
    assert shift.loc["x", "probability"] < 0.3
    assert shift.loc["y", "level"] > 0.9
    assert shift.loc["z", "slopes"] > 0.9
    assert found.graph_.nodes["z"]["environment"] == shift.loc["z", "probability"]


def test_edges_carry_weight_and_probability(found):
    attributes = found.graph_.edges["x", "y"]
    assert attributes["probability"] == found.edge_probability_.at["x", "y"]
    assert 0.2 < attributes["weight"] < 1.2


def test_the_same_seed_gives_the_same_bits(found):
    again = GraphSearch(n_jobs=2).fit(_chain(), SITES)
    pd.testing.assert_frame_equal(again.edge_probability_, found.edge_probability_)
    assert again.log_evidence_ == found.log_evidence_


def test_order_of_columns_and_rows_and_scales_do_not_matter(found):
    X = _chain()
    rows = np.random.default_rng(1).permutation(len(X))
    moved = (X * [-3.0, 1000.0, 0.01] + [5.0, 0.0, -1.0])[["y", "z", "x"]].iloc[rows]
    other = GraphSearch().fit(moved, SITES[rows])
    assert set(other.graph_.edges) == set(found.graph_.edges)
    expected = found.edge_probability_.loc[["y", "z", "x"], ["y", "z", "x"]]
    np.testing.assert_allclose(other.edge_probability_, expected, atol=1e-6)
    assert other.log_evidence_ == pytest.approx(found.log_evidence_, abs=1e-4)


@pytest.mark.parametrize("seed", [1, 2])
def test_slopes_that_differ_by_more_than_the_noise_do_not_turn_an_edge(seed):
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(8), 100)
    strength = 3 * np.array([1.8, 0.8, 0.35, 0.5, 1.05, 0.2, 1.8, 0.05])[site]
    cause = rng.normal(size=800)
    X = pd.DataFrame({"cause": cause, "effect": strength * cause + rng.normal(size=800)})
    found = GraphSearch().fit(X, site)
    assert found.edge_probability_.at["cause", "effect"] > 0.9


def test_random_networks_are_recovered():
    distances = []
    for seed in range(4):
        data = make_random_sem_domains(n_variables=6, n_domains=6, n_samples=300, random_state=seed)
        X = data.X.assign(**{data.y.name: data.y})
        found = GraphSearch().fit(X, data.sample_domain)
        distances.append(structural_hamming_distance(found.graph_, data.graph))
    # 28 edges in all; the last graph joins nine of 15 pairs
    assert sum(distances) <= 3


def test_missing_cells_are_filled_so_that_the_graph_is_found():
    X = _chain()
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    assert set(GraphSearch().fit(X, SITES).graph_.edges) == {("x", "y"), ("y", "z")}


def test_knowledge_is_honoured():
    X = _chain()
    search = GraphSearch(forbidden_edges=[("x", "y")], required_edges=[("z", "x")]).fit(X, SITES)
    assert not search.graph_.has_edge("x", "y")
    assert search.graph_.has_edge("z", "x")
    assert search.edge_probability_.at["z", "x"] == pytest.approx(1.0)
    assert search.edge_probability_.at["x", "y"] == 0
    assert nx.is_directed_acyclic_graph(search.graph_)
    tiers = GraphSearch(tiers=[["z"], ["y"], ["x"]]).fit(X, SITES)
    assert all(edge in {("z", "y"), ("z", "x"), ("y", "x")} for edge in tiers.graph_.edges)


def test_binary_and_categorical_columns():
    rng = np.random.default_rng(0)
    n = 900
    site = np.repeat([0, 1, 2], n // 3)
    x = rng.normal(size=n)
    group = np.where(
        x + rng.normal(size=n) > 1, "old", np.where(rng.random(n) < 0.5, "mid", "young")
    )
    event = rng.random(n) < 1 / (1 + np.exp(-2 * x + site))
    noise = rng.normal(size=n)
    X = pd.DataFrame({"x": x, "group": group, "event": event, "noise": noise})
    found = GraphSearch(tiers=[["x"], ["group", "event", "noise"]]).fit(X, site)
    assert set(found.graph_.edges) == {("x", "group"), ("x", "event")}
    assert found.mechanism_shift_.loc["event", "probability"] > 0.9


def test_a_binary_cause_of_spread_alone_is_found():
    rng = np.random.default_rng(3)
    switch = rng.random(900) < 0.5
    y = np.where(switch, 3.0, 1.0) * rng.normal(size=900)
    X = pd.DataFrame({"switch": switch, "y": y, "other": rng.normal(size=900)})
    # the reverse, a logistic regression on the square of y, is as good a description
    search = GraphSearch(tiers=[["switch"], ["y", "other"]])
    found = search.fit(X, np.repeat([0, 1, 2], 300))
    assert set(found.graph_.edges) == {("switch", "y")}


def test_order_of_rows_does_not_matter_where_columns_have_few_values():
    rng = np.random.default_rng(4)
    a = rng.integers(3, size=300).astype(float)
    b = (a + rng.integers(3, size=300)).astype(float)
    X = pd.DataFrame({"a": a, "b": b, "c": rng.integers(4, size=300).astype(float)})
    X.iloc[:7, 0] = np.nan
    site = np.repeat([0, 1], 150)
    rows = rng.permutation(300)
    first = GraphSearch().fit(X, site)
    second = GraphSearch().fit(X.iloc[rows], site[rows])
    assert second.log_evidence_ == pytest.approx(first.log_evidence_, abs=1e-6)


def test_a_categorical_cause_of_a_number():
    rng = np.random.default_rng(1)
    group = rng.choice(list("pqrs"), size=400)
    y = pd.Series(group).map({"p": 0.0, "q": 2.0, "r": -1.0, "s": 0.5}) + rng.normal(size=400)
    X = pd.DataFrame({"group": pd.Categorical(group), "y": y, "other": rng.normal(size=400)})
    found = GraphSearch(tiers=[["group"], ["y", "other"]]).fit(X)
    assert set(found.graph_.edges) == {("group", "y")}


def test_constant_columns_stand_alone():
    X = _chain().assign(c=1.0)
    found = GraphSearch().fit(X, SITES)
    assert found.graph_.degree("c") == 0
    assert found.mechanism_shift_.loc["c", "probability"] == 0


def test_all_columns_constant():
    found = GraphSearch().fit(pd.DataFrame({"a": [1.0] * 5, "b": ["x"] * 5}))
    assert list(found.graph_) == ["a", "b"] and not found.graph_.edges


def test_a_copy_is_one_warning_and_no_crash():
    X = _chain()
    X["copy"] = 2 * X["x"] + 1
    with pytest.warns(UserWarning, match="'copy'") as caught:
        found = GraphSearch().fit(X, SITES)
    assert len(caught) == 1
    assert nx.is_directed_acyclic_graph(found.graph_)
    assert found.adjacency_probability_.at["x", "copy"] > 0.5


def test_one_site_cannot_shift():
    found = GraphSearch().fit(_chain().iloc[:150])
    assert (found.mechanism_shift_["probability"] == 0).all()


def test_an_array_has_its_positions_as_names():
    found = GraphSearch().fit(_chain().to_numpy(), SITES)
    assert set(found.graph_.edges) == {(1, 2), (2, 0)}


@pytest.mark.parametrize("shape", [(12, 2), (6, 8), (4, 3)])
def test_tiny_tables_and_sites_of_one_row(shape):
    rng = np.random.default_rng(0)
    found = GraphSearch().fit(rng.normal(size=shape), np.arange(shape[0]))
    assert nx.is_directed_acyclic_graph(found.graph_)
    assert np.isfinite(found.edge_probability_.to_numpy()).all()


def test_few_valued_and_rounded_columns():
    rng = np.random.default_rng(0)
    x = rng.integers(4, size=450).astype(float)
    y = np.round(x + rng.normal(size=450), 1)
    found = GraphSearch().fit(pd.DataFrame({"x": x, "y": y}), SITES)
    assert found.graph_.number_of_edges() == 1


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda X: X.assign(x=np.where(X.index == 3, np.inf, X["x"])), "'x' has 1 infinite .*'a'"),
        (lambda X: X.assign(x=np.nan), "'x' has no value"),
        (lambda X: X.assign(x=[f"id{k}" for k in range(len(X))]), "'x' holds text .* 450 levels"),
        (lambda X: X.set_axis(["x", "x", "y"], axis=1), "distinct"),
        (lambda X: X.assign(x=pd.Timestamp("2020-01-01")), "'x' holds dates"),
        (lambda X: X.assign(x=X["x"] + 1j), "'x' holds .* complex"),
        (lambda X: X.assign(x=[[k] for k in range(len(X))]), "'x' holds lists"),
    ],
)
def test_bad_tables_are_refused_with_the_column(change, message):
    with pytest.raises(ValueError, match=message):
        GraphSearch().fit(change(_chain()), SITES)


def test_bad_sites_are_refused():
    with pytest.raises(ValueError, match="one label per row"):
        GraphSearch().fit(_chain(), SITES[:-1])
    with pytest.raises(ValueError, match="missing in 1 row"):
        GraphSearch().fit(_chain(), np.where(np.arange(450) == 0, np.nan, 1.0))


@pytest.mark.parametrize(
    "option",
    [{"max_parents": k} for k in (0, None, 2.5, "3")] + [{"random_state": k} for k in (None, -1)],
)
def test_bad_options_are_named(option):
    with pytest.raises(ValueError, match=f"{next(iter(option))} must be an integer"):
        GraphSearch(**option).fit(_chain(), SITES)


@pytest.mark.parametrize(
    "change, sites",
    [
        (
            lambda X: X.iloc[:6].assign(**{f"c{k}": np.cos(k * np.r_[:6]) for k in range(7)}),
            2,
        ),
        (lambda X: X.iloc[:2], 2),
        (lambda X: X[["x", "y"]].iloc[:40], 1),
        (lambda X: X.iloc[:40].mask(np.arange(120).reshape(40, 3) < 60), 2),
        (lambda X: X.iloc[:40].assign(x=[1.0] + [0.0] * 39, y=[1e300] + [0.0] * 39), 2),
    ],
    ids=["more columns than rows", "a row a site", "one site", "a site without values", "outliers"],
)
def test_odd_tables_have_a_sound_result(change, sites):
    X = change(_chain())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # two rows: all columns are copies
        found = GraphSearch().fit(X, np.arange(len(X)) * sites // len(X))
    assert nx.is_directed_acyclic_graph(found.graph_)
    assert list(found.graph_) == list(X)
    for frame in (found.edge_probability_, found.mechanism_shift_["probability"]):
        assert ((frame.to_numpy() >= 0) & (frame.to_numpy() <= 1)).all()


def test_numbers_that_are_stored_as_objects_are_numbers():
    X = _chain()
    found = GraphSearch().fit(X.iloc[:90], SITES[:90])
    again = GraphSearch().fit(X.iloc[:90].astype(object), SITES[:90])
    assert_frame_equal(found.edge_probability_, again.edge_probability_)


def test_it_is_an_estimator_like_any_other():
    search = GraphSearch(max_parents=3, tiers=[["x"], ["y"]])
    assert clone(search).get_params() == search.get_params()
    assert dapdag.GraphSearch is GraphSearch
