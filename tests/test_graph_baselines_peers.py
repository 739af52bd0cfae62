"""Peers through other packages: they see sites as they should, and leave the process as it was."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dapdag.graph import compare_graphs
from dapdag.graph_baselines import (
    GRAPH_METHODS,
    boss,
    centred_by_site,
    direct_lingam,
    gnies,
    grasp,
    linc,
    ut_igsp,
)

TRUE = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d")])
N_SITES, ROWS = 4, 400
PEERS: dict[str, tuple[Callable[..., nx.DiGraph], str]] = {
    "gnies": (gnies, "gnies"),
    "ut-igsp": (ut_igsp, "graphical_model_learning"),
    "lingam": (direct_lingam, "lingam"),
    "linc": (linc, "causalchange"),
}


def collider(noise: str = "normal", changing: bool = True) -> tuple[pd.DataFrame, np.ndarray]:
    """a → c ← b, c → d, linear: level and, if `changing`, noise of a and of d differ by site."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(N_SITES), ROWS)
    level = np.array([0.0, 3.0, -2.0, 1.0])[site]
    spread = np.array([1.0, 2.5, 0.5, 1.5])[site] if changing else 1.0

    def draw() -> np.ndarray:
        normal = rng.normal(size=site.size)
        return normal if noise == "normal" else rng.exponential(size=site.size) - 1

    a, b = level + spread * draw(), draw()
    c = a + 1.5 * b + draw()
    d = 1.2 * c + level + spread * draw()
    return pd.DataFrame({"d": d, "c": c, "b": b, "a": a}), site


@pytest.mark.parametrize("search", [boss, grasp])
def test_centring_removes_edges_that_differences_of_level_create(search: Any) -> None:
    """x and y are independent at every site; pooled rows make them dependent."""
    rng = np.random.default_rng(1)
    site = np.repeat(np.arange(N_SITES), ROWS)
    level = np.array([0.0, 3.0, -2.0, 1.0])[site]
    X = pd.DataFrame({"x": level + rng.normal(size=site.size), "y": level})
    X["y"] += rng.normal(size=site.size)
    assert search(X).number_of_edges() == 1
    assert search(X, site).number_of_edges() == 0


@pytest.mark.parametrize("search", [boss, grasp])
def test_order_searches_find_a_collider(search: Any) -> None:
    X, site = collider(changing=False)
    # From the columns' order d, c, b, a BOSS, which moves one variable at a time, gets no further
    # than an edge a → b too many.
    graph = search(X if search is grasp else X[["a", "b", "c", "d"]], site)
    assert compare_graphs(graph, TRUE).shd == 0
    assert set(graph) == set(X)


@pytest.mark.parametrize("search", [boss, grasp])
def test_a_constant_column_stands_alone(search: Any) -> None:
    X, site = collider()
    assert search(X.assign(k=3.0), site).degree("k") == 0


@pytest.mark.parametrize("search", [boss, grasp])
def test_global_generators_are_left_as_they_were(search: Any) -> None:
    X, site = collider()
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    first = search(X, site, random_state=1)
    assert before == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002
    assert set(first.edges) == set(search(X, site, random_state=1).edges)


def test_centring_is_by_site_and_keeps_names() -> None:
    X, site = collider()
    centred = centred_by_site(X, site)
    assert list(centred) == list(X)
    np.testing.assert_allclose(centred.groupby(site).mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(centred.groupby(site).std(), X.groupby(site).std())
    np.testing.assert_allclose(centred_by_site(X, None).mean(), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", PEERS)
def test_peers_find_a_linear_collider(name: str) -> None:
    """LINC may take one edge too many: the sites' noise differs."""
    learn, package = PEERS[name]
    pytest.importorskip(package, reason="the extra 'peers' is not installed")
    X, site = collider("exponential" if name == "lingam" else "normal")
    graph = learn(X, site)
    assert compare_graphs(graph, TRUE).shd <= (1 if name == "linc" else 0)
    assert list(graph) == list(X)


@pytest.mark.parametrize("name", PEERS)
def test_peers_take_one_site(name: str) -> None:
    learn, package = PEERS[name]
    pytest.importorskip(package, reason="the extra 'peers' is not installed")
    X, site = collider()
    graph = learn(X[site == 0].reset_index(drop=True))
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() >= 3


@pytest.mark.parametrize("name", PEERS)
def test_peers_say_how_to_get_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learn, package = PEERS[name]
    for module in [m for m in sys.modules if m.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=r"pip install 'dapdag\[peers\]'"):
        learn(*collider())


def test_sorting_within_sites_is_sorting_of_centred_columns() -> None:
    X, site = collider()
    within = GRAPH_METHODS["r2-sort-within"].learn(X, site, 0)
    plain = GRAPH_METHODS["r2-sort"].learn(centred_by_site(X, site), site, 0)
    assert set(within.edges) == set(plain.edges)
