"""CASTLE: a graph that regularises a pooled network, and no environments."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dapdag import load
from dapdag.baselines import CASTLEClassifier, CASTLERegressor
from dapdag.graph import compare_graphs, empty_graph

N = 300
QUICK = {"hidden": 8, "n_members": 1, "max_epochs": 80}


def chain(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """a → b → c → y, each the one before it plus noise."""
    noise = np.random.default_rng(seed).normal(size=(4, N)) * [[1.0], [0.5], [0.5], [0.5]]
    a, b, c, y = noise.cumsum(0)
    return pd.DataFrame({"a": a, "b": b, "c": c}), pd.Series(y, name="y")


TRUTH = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "y")])


@pytest.fixture(scope="module")
def castle() -> CASTLERegressor:
    X, y = chain()
    return CASTLERegressor(**QUICK).fit(X, y, sample_domain=np.arange(N) % 3)


def test_finds_the_edges_of_a_chain(castle: CASTLERegressor) -> None:
    found = compare_graphs(castle.graph_, TRUTH)
    assert found.skeleton_precision == found.skeleton_recall == 1.0
    assert found.shd < compare_graphs(empty_graph(list("abcy")), TRUTH).shd
    assert castle.graph_.has_edge("c", "y")


def test_predicts_nearly_as_well_as_can_be(castle: CASTLERegressor) -> None:
    X, y = chain(seed=1)
    assert castle.score(X, y) > 0.97 * np.corrcoef(X["c"], y)[0, 1] ** 2


def test_graph_is_acyclic_whatever_the_weights() -> None:
    X, y = chain()
    early = CASTLERegressor(**QUICK | {"max_epochs": 1, "edge_threshold": 0.0}).fit(X, y)
    assert nx.is_directed_acyclic_graph(early.graph_)
    # Untrained filters join everything with everything; all of it cannot stay.
    assert len(early.graph_.edges) == 6
    assert len(early.graph_.graph["removed"]) == 6


def test_sparsity_leaves_smaller_filters(castle: CASTLERegressor) -> None:
    X, y = chain()
    sparse = CASTLERegressor(**QUICK, sparsity_weight=0.3).fit(X, y)
    absent = [("a", "c"), ("c", "a"), ("a", "y"), ("y", "a")]
    before = sum(castle.adjacency_.loc[edge] for edge in absent)
    assert sum(sparse.adjacency_.loc[edge] for edge in absent) < 0.5 * before


def test_reconstruction_comes_from_the_others(castle: CASTLERegressor) -> None:
    X, y = chain(seed=1)
    found = castle.reconstruct(X, y)
    assert list(found) == ["a", "b", "c", "y"]
    assert np.corrcoef(found["b"], X["b"])[0, 1] > 0.9
    assert_allclose(castle.reconstruct(X.assign(b=0.0), y)["b"], found["b"])
    assert_allclose(found["y"], castle.predict(X), rtol=1e-4, atol=1e-4)


def test_has_no_environments(castle: CASTLERegressor) -> None:
    for name in ("environment", "sample_environment", "source_environments_"):
        assert not hasattr(castle, name)
    assert "environment" not in castle.history_
    assert all("environment" not in node for _, node in castle.graph_.nodes(data=True))


def test_only_the_rows_of_sources_count() -> None:
    X, y = chain()
    short = QUICK | {"max_epochs": 5}
    domain = np.where(np.arange(N) < 60, -1, np.arange(N) % 3)
    apart = CASTLERegressor(**short).fit(X, y, sample_domain=domain)
    together = CASTLERegressor(**short).fit(X[60:], y[60:])
    assert_array_equal(apart.predict(X), together.predict(X))


def test_classes_are_learned_with_their_graph() -> None:
    X, y = chain()
    X_new, y_new = chain(seed=1)
    model = CASTLEClassifier(**QUICK).fit(X, y > 0)
    assert model.score(X_new, y_new > 0) > 0.8
    assert model.graph_.has_edge("c", "y")
    assert nx.is_directed_acyclic_graph(model.graph_)


def test_a_saved_model_has_its_graph(castle: CASTLERegressor, tmp_path: Path) -> None:
    castle.save(tmp_path / "castle")
    again = load(tmp_path / "castle")
    X, y = chain(seed=1)
    assert_array_equal(again.predict(X), castle.predict(X))
    assert nx.utils.graphs_equal(again.graph_, castle.graph_)
    pd.testing.assert_frame_equal(again.adjacency_, castle.adjacency_)
    pd.testing.assert_frame_equal(again.reconstruct(X, y), castle.reconstruct(X, y))
    assert not hasattr(again, "source_environments_")
