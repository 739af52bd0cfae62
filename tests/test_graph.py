import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dapdag.graph import (
    compare_graphs,
    edge_differences,
    empty_graph,
    extract_dag,
    markov_blanket,
    relative_threshold,
    structural_hamming_distance,
    to_networkx,
)
from dapdag.graph_baselines import explained_variance, r2_sort_n_regress, sort_n_regress

PAPER_EDGES = [
    *[("X1", "X2"), ("X2", "X3"), ("X1", "Y"), ("X2", "Y"), ("X1", "X4")],
    *[("X4", "X5"), ("Y", "X5"), ("X3", "X6"), ("Y", "X6"), ("X6", "X7")],
]


def any_matrix(seed):
    """A matrix of one of many kinds, cycling through them with the seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 13))
    strength = rng.normal(size=(n, n))
    spoil = rng.random((n, n)) < 0.3
    kind = seed % 8
    if kind == 1:
        strength[spoil] = np.nan
    elif kind == 2:
        strength[spoil] = rng.choice([np.inf, -np.inf, np.nan], size=spoil.sum())
    elif kind == 3:
        strength = np.round(strength)
    elif kind == 4:
        strength = np.ones((n, n))
    elif kind == 5:
        strength = np.full((n, n), np.nan)
    elif kind == 6:
        strength = strength + strength.T
    elif kind == 7:
        strength = 10.0 ** rng.uniform(-300, 300, size=(n, n))
    return strength


def strengths_of(matrix):
    return np.nan_to_num(np.abs(matrix), nan=0.0, posinf=np.inf)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_any_matrix_gives_a_dag(threshold):
    for seed in range(200):
        matrix = any_matrix(seed)
        dag = extract_dag(matrix, threshold)
        graph = nx.from_numpy_array(dag.mask, create_using=nx.DiGraph)
        assert nx.is_directed_acyclic_graph(graph)
        position = np.argsort(dag.order())
        assert all(position[i] < position[j] for i, j in np.argwhere(dag.mask))


def test_every_edge_above_the_threshold_is_kept_or_reported():
    for seed in range(200):
        matrix = any_matrix(seed)
        dag = extract_dag(matrix, 0.5)
        above = strengths_of(matrix) >= 0.5
        np.fill_diagonal(above, False)
        assert {*map(tuple, np.argwhere(dag.mask).tolist()), *dag.removed} == set(
            map(tuple, np.argwhere(above).tolist())
        )
        assert dag.mask.sum() + len(dag.removed) == above.sum()


def test_a_removed_edge_is_the_weakest_of_a_cycle():
    for seed in range(200):
        matrix = any_matrix(seed)
        strength = strengths_of(matrix)
        dag = extract_dag(matrix, 0.0)
        for i, j in dag.removed:
            stronger = dag.mask & (strength >= strength[i, j])
            graph = nx.from_numpy_array(stronger, create_using=nx.DiGraph)
            assert nx.has_path(graph, j, i)


def test_repair_removes_the_weakest_edge_of_a_triangle():
    strength = np.zeros((3, 3))
    strength[0, 1], strength[1, 2], strength[2, 0] = 3.0, 1.0, 2.0
    dag = extract_dag(strength, 0.5)
    assert dag.removed == ((1, 2),)
    assert dag.order() == (2, 0, 1)


def test_ties_are_broken_the_same_way_each_time():
    dag = extract_dag(np.ones((4, 4)), 0.5)
    np.testing.assert_array_equal(dag.mask, np.triu(np.ones((4, 4), dtype=bool), 1))


def test_extraction_leaves_its_input_alone_and_its_mask_cannot_change():
    strength = np.array([[5.0, np.nan], [1.0, np.nan]])
    before = strength.copy()
    dag = extract_dag(strength, 0.1)
    np.testing.assert_array_equal(strength, before)
    with pytest.raises(ValueError):
        dag.mask[0, 1] = True


def test_an_edge_of_strength_zero_is_no_edge():
    assert not extract_dag(np.zeros((3, 3)), 0.0).mask.any()


@pytest.mark.parametrize("threshold", [-0.1, np.nan, np.inf])
def test_a_senseless_threshold_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold"):
        extract_dag(np.ones((2, 2)), threshold)


def test_a_matrix_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        extract_dag(np.ones((2, 3)), 0.1)


def test_relative_threshold_follows_the_scale_and_ignores_junk():
    strength = np.array([[99.0, 2.0], [-4.0, np.nan]])
    assert relative_threshold(strength, 0.25) == 1.0
    assert relative_threshold(10 * strength, 0.25) == 10.0
    assert relative_threshold([[0.0, np.inf], [2.0, 0.0]], 0.5) == 1.0
    assert relative_threshold(np.full((2, 2), np.nan), 0.5) == 0.0


def test_networkx_graph_carries_names_weights_effects_and_environment():
    mask = np.array([[0, 1], [0, 0]])
    graph = to_networkx(
        mask,
        [[0, 0.7], [9, 9]],
        ["age", "bp"],
        effects=[[0, -0.7], [0, 0]],
        label="bp",
        perturbed=[0.1, 2],
    )
    assert dict(graph.edges) == {("age", "bp"): {"weight": 0.7, "effect": -0.7}}
    assert graph.nodes["bp"] == {"label": True, "environment": 2.0}
    assert graph.nodes["age"] == {"label": False, "environment": 0.1}


def test_networkx_graph_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"repeated.*'a'"):
        to_networkx(np.eye(2), np.eye(2), ["a", "a"])
    with pytest.raises(ValueError, match="label 'z'"):
        to_networkx(np.eye(2), np.eye(2), ["a", "b"], label="z")
    with pytest.raises(ValueError, match=r"weight.*\(2, 2\).*\(3, 3\)"):
        to_networkx(np.eye(2), np.eye(3), ["a", "b"])


def test_distance_counts_missing_extra_and_reversed_edges_once():
    true = nx.DiGraph(PAPER_EDGES)
    learned = true.copy()
    learned.remove_edges_from([("X1", "X2"), ("X6", "X7"), ("X2", "Y")])
    learned.add_edges_from([("X2", "X1"), ("X5", "X7")])
    assert structural_hamming_distance(learned, true) == 4
    assert structural_hamming_distance(true, learned) == 4
    difference = edge_differences(learned, true)
    assert difference.reversed == {("X2", "X1")}
    assert difference.extra == {("X5", "X7")}
    assert difference.missing == {("X6", "X7"), ("X2", "Y")}


def test_distance_of_small_changes():
    true = nx.DiGraph(PAPER_EDGES)
    assert structural_hamming_distance(true, true) == 0
    for i, j in PAPER_EDGES:
        shorter, turned = true.copy(), true.copy()
        shorter.remove_edge(i, j)
        turned.remove_edge(i, j)
        turned.add_edge(j, i)
        assert structural_hamming_distance(turned, true) == 1
        assert structural_hamming_distance(shorter, true) == 1
        assert structural_hamming_distance(true, shorter) == 1
    assert structural_hamming_distance(empty_graph(list(true)), true) == len(PAPER_EDGES)


def test_distance_takes_boolean_matrices():
    true = np.triu(np.ones((4, 4), dtype=bool), 1)
    assert structural_hamming_distance(true.T, true) == 6


def test_distance_names_the_nodes_that_differ():
    with pytest.raises(ValueError, match=r"\['b', 'c'\]"):
        structural_hamming_distance(empty_graph("ab"), empty_graph("ac"))


def test_comparison_of_a_learned_graph():
    true = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d")])
    learned = nx.DiGraph([("a", "b"), ("c", "b"), ("a", "d")])
    result = compare_graphs(learned, true)
    assert (result.shd, result.missing, result.extra, result.reversed) == (3, 1, 1, 1)
    assert result.precision == result.recall == result.f1 == pytest.approx(1 / 3)
    assert result.skeleton_precision == result.skeleton_recall == pytest.approx(2 / 3)


def test_comparison_is_defined_for_empty_graphs():
    empty, full = empty_graph("ab"), nx.DiGraph([("a", "b")])
    nothing = compare_graphs(empty, full)
    assert (nothing.precision, nothing.recall, nothing.f1) == (1.0, 0.0, 0.0)
    invented = compare_graphs(full, empty)
    assert (invented.precision, invented.recall, invented.f1) == (0.0, 1.0, 0.0)
    agreed = compare_graphs(empty, empty)
    assert (agreed.shd, agreed.precision, agreed.recall, agreed.f1) == (0, 1.0, 1.0, 1.0)


def test_markov_blanket_holds_parents_children_and_spouses():
    graph = nx.DiGraph(PAPER_EDGES)
    assert markov_blanket(graph, "Y") == {"X1", "X2", "X5", "X6", "X4", "X3"}
    assert markov_blanket(graph, "X7") == {"X6"}
    assert markov_blanket(empty_graph("ab"), "a") == set()
    with pytest.raises(ValueError, match="'Z'"):
        markov_blanket(graph, "Z")


def linear_data(seed=0, n=2000):
    """Causes a, b, c of d, and e from d and c: R² grows along the causal order."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, 5))
    a, b, c = noise[:, 0], noise[:, 1], noise[:, 2]
    d = a + b + 0.8 * noise[:, 3]
    e = d + c + 0.2 * noise[:, 4]
    return pd.DataFrame({"e": e, "c": c, "d": d, "a": a, "b": b})


def test_sorting_by_r2_recovers_a_graph_with_growing_r2():
    graph = r2_sort_n_regress(linear_data())
    assert set(graph.edges) == {("a", "d"), ("b", "d"), ("d", "e"), ("c", "e")}
    assert graph.edges["a", "d"]["effect"] > 0


def test_sorting_along_a_chain_recovers_it():
    rng = np.random.default_rng(1)
    X = np.cumsum(rng.normal(size=(3000, 6)), axis=1)
    graph = sort_n_regress(X, X.var(axis=0))
    assert set(graph.edges) == {(k, k + 1) for k in range(5)}


def test_explained_variance_is_that_of_least_squares():
    X = linear_data().to_numpy()
    others = np.delete(X - X.mean(axis=0), 2, axis=1)
    y = X[:, 2] - X[:, 2].mean()
    residual = y - others @ np.linalg.lstsq(others, y, rcond=None)[0]
    assert explained_variance(X)[2] == pytest.approx(1 - residual.var() / y.var(), abs=1e-6)


def test_constant_and_duplicated_columns_do_no_harm():
    X = linear_data()
    X["constant"], X["copy"] = 0.1, X["a"]
    r2 = dict(zip(X.columns, explained_variance(X), strict=True))
    assert r2["constant"] == pytest.approx(0, abs=1e-6)
    assert r2["a"] == pytest.approx(1)
    assert r2["copy"] == pytest.approx(1)
    graph = r2_sort_n_regress(X)
    assert graph.degree("constant") == 0
    assert nx.is_directed_acyclic_graph(graph)


def test_tables_the_baseline_cannot_use_are_refused():
    X = linear_data()
    X.loc[3, "d"] = np.nan
    with pytest.raises(ValueError, match=r"\['d'\]"):
        r2_sort_n_regress(X)
    with pytest.raises(ValueError, match="more rows than columns"):
        r2_sort_n_regress(np.zeros((3, 5)))
