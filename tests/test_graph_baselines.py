"""The graph study's peers: each recovers what it should on data where it can."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dapdag.graph import compare_graphs
from dapdag.graph_baselines import GRAPH_METHODS, cdnod, notears_mlp
from dapdag.graph_baselines.domain_test import DomainTest
from dapdag.graph_baselines.orientation import consistent_extension

N_DOMAINS, ROWS = 6, 200
# Not sorted: an index that happened to grow with the shift would be an easy case.
SHIFT = np.array([1.5, -1.0, 0.5, -2.0, 2.0, 0.0])


@pytest.fixture(scope="module")
def changing() -> tuple[pd.DataFrame, np.ndarray]:
    """a → b → c ← d: the mean of a, the slope of b → c and the noise of d change."""
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(N_DOMAINS), ROWS)
    shift = SHIFT[domain]
    a = shift + rng.normal(size=domain.size)
    b = a + rng.normal(size=domain.size)
    d = (1 + np.abs(shift)) * rng.normal(size=domain.size)
    c = shift * b + d + rng.normal(size=domain.size)
    return pd.DataFrame({"d": d, "c": c, "a": a, "b": b}), domain


TRUE = nx.DiGraph([("a", "b"), ("b", "c"), ("d", "c")])


def test_domain_test_finds_graph_and_changes(changing: tuple) -> None:
    graph = cdnod(*changing, test="domain", alpha=0.001)
    assert compare_graphs(graph, TRUE).shd == 0
    assert set(graph.graph["changing"]) == {"a", "c", "d"}
    assert graph.nodes["a"]["environment"] == 1 and graph.nodes["b"]["environment"] == 0


def test_domain_test_takes_the_domain_for_a_label(changing: tuple) -> None:
    X, domain = changing
    names = np.array(["north", "south", "east", "west", "isle", "port"])
    renamed = cdnod(X, names[::-1][domain], test="domain", alpha=0.001)
    assert set(renamed.edges) == set(cdnod(X, domain, test="domain", alpha=0.001).edges)


def test_fisher_z_orients_by_what_changes() -> None:
    """a → b alone has no direction; that a changes with the index, and b does not, gives it one."""
    rng = np.random.default_rng(1)
    domain = np.repeat(np.arange(N_DOMAINS), ROWS)
    a = domain + rng.normal(size=domain.size)
    X = pd.DataFrame({"b": a + rng.normal(size=domain.size), "a": a})
    graph = cdnod(X, domain)
    assert set(graph.edges) == {("a", "b")}
    assert graph.graph["changing"] == ["a"]


def test_domain_test_is_calibrated() -> None:
    """Under independence p-values are uniform: 5 % fall below 0.05."""
    rng = np.random.default_rng(2)
    domain = np.repeat(np.arange(4), 100)
    related, changes = [], []
    for _ in range(200):
        z = rng.normal(size=400)
        blocks = [(z + rng.normal(size=400))[:, None] for _ in range(2)]
        test = DomainTest([*blocks, z[:, None]], [True] * 3, domain, degree=1)
        related.append(test(0, 1, [2]))
        changes.append(test(0, 3, [2]))
    assert 0.01 < np.mean(np.array(related) < 0.05) < 0.1
    assert 0.01 < np.mean(np.array(changes) < 0.05) < 0.1


def test_domain_test_of_classes() -> None:
    """A discrete variable: related to what drives it, changing where its share changes."""
    rng = np.random.default_rng(3)
    domain = np.repeat(np.arange(4), 300)
    x = rng.normal(size=domain.size)
    shift = np.array([-1.0, 0.0, 1.0, 0.5])[domain]
    level = np.digitize(x + rng.normal(size=domain.size), [-1, 1])
    moved = np.digitize(shift + rng.normal(size=domain.size), [-1, 1])
    one_hot = [np.eye(3)[v][:, 1:] for v in (level, moved)]
    test = DomainTest([x[:, None], *one_hot], [True, False, False], domain)
    assert test(0, 1) < 1e-6 < 0.01 < test(0, 2)
    assert test(2, 3) < 1e-6 < 0.01 < test(1, 3)


def test_constant_in_some_domains_is_no_relation() -> None:
    """A class that some domains lack altogether says nothing there, and its share changes."""
    rng = np.random.default_rng(4)
    domain = np.repeat(np.arange(4), 200)
    has = (rng.random(800) < np.array([0.0, 0.5, 1.0, 0.3])[domain]).astype(float)
    x, z = 2 * has + rng.normal(size=800), rng.normal(size=800)
    test = DomainTest([has[:, None], x[:, None], z[:, None]], [False, True, True], domain)
    assert test(0, 1) < 1e-6 < 0.01 < test(0, 2)
    assert test(0, 3) < 1e-6 < 0.01 < test(2, 3)
    assert test(1, 3, [0]) > 0.01


@pytest.mark.parametrize(
    "domain, message",
    [
        (None, "sample_domain is needed"),
        (np.zeros(1200), "at least two domains"),
        (np.zeros(3), "one label per row"),
    ],
)
def test_cdnod_says_what_is_wrong(changing: tuple, domain: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cdnod(changing[0], domain)


def test_missing_cells_are_named(changing: tuple) -> None:
    X = changing[0].copy()
    X.loc[3, "c"] = np.nan
    with pytest.raises(ValueError, match=r"\['c'\]"):
        cdnod(X, changing[1])


def test_a_constant_column_stands_alone(changing: tuple) -> None:
    X, domain = changing
    graph = cdnod(X.assign(k=3.0), domain, test="domain", alpha=0.001)
    assert graph.degree("k") == 0 and "k" not in graph.graph["changing"]


def colliders(mask: np.ndarray) -> set[tuple[int, int, int]]:
    adjacent = mask | mask.T
    n = len(mask)
    return {
        (i, k, j)
        for k in range(n)
        for i in range(n)
        for j in range(i + 1, n)
        if mask[i, k] and mask[j, k] and not adjacent[i, j]
    }


@pytest.mark.parametrize("seed", range(20))
def test_extension_keeps_skeleton_edges_and_colliders(seed: int) -> None:
    """Undirect the edges of a random DAG that lie in no collider's path: an extension exists."""
    rng = np.random.default_rng(seed)
    n = 7
    dag = np.triu(rng.random((n, n)) < 0.4, 1)
    order = rng.permutation(n)
    dag = dag[np.ix_(order, order)]
    kept = np.zeros_like(dag)
    for i, k, j in colliders(dag):
        kept[i, k] = kept[j, k] = True
    found = consistent_extension(kept, (dag & ~kept) | (dag & ~kept).T)
    assert ((found | found.T) == (dag | dag.T)).all()
    assert found[kept].all()
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(found, create_using=nx.DiGraph))
    assert colliders(found) == colliders(dag)


@pytest.mark.parametrize("seed", range(10))
def test_contradictions_still_give_a_dag(seed: int) -> None:
    rng = np.random.default_rng(seed)
    directed = rng.random((6, 6)) < 0.3
    np.fill_diagonal(directed, False)
    undirected = directed & directed.T
    found = consistent_extension(directed & ~undirected, undirected)
    assert ((found | found.T) == (directed | directed.T)).all()
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(found, create_using=nx.DiGraph))


def nonlinear_collider() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    c = 2 * np.sin(1.5 * a) + 2 * np.exp(b / 2) + rng.normal(size=400)
    return pd.DataFrame({"c": c, "a": a, "b": b})


def test_notears_finds_a_nonlinear_collider_and_leaves_jax_as_it_was() -> None:
    import jax.numpy as jnp

    graph = notears_mlp(nonlinear_collider(), hidden=4)
    assert set(graph.edges) == {("a", "c"), ("b", "c")}
    assert jnp.asarray(np.ones(2)).dtype == jnp.float32


@pytest.mark.parametrize("name", [n for n in GRAPH_METHODS if n not in ("dagma", "notears")])
def test_methods_share_a_signature(changing: tuple, name: str) -> None:
    X, domain = changing
    method = GRAPH_METHODS[name]
    if not method.available:
        assert method.extra == "peers"
        with pytest.raises(ValueError, match=r"pip install 'dapdag\[peers\]'"):
            method.learn(X, domain, 0)
        return
    graph = method.learn(X, domain, 0)
    assert list(graph) == list(X)
    assert nx.is_directed_acyclic_graph(graph)


def test_a_method_says_how_to_install_it() -> None:
    assert GRAPH_METHODS["boss"].how_to_install.endswith("pip install 'dapdag[bench]'")
    assert GRAPH_METHODS["gnies"].how_to_install.endswith("pip install 'dapdag[peers]'")


def test_dagma_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagma", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"pip install 'dapdag\[peers\]'"):
        GRAPH_METHODS["dagma"].learn(np.ones((9, 2)), None, 0)


def test_dagma_finds_a_nonlinear_collider() -> None:
    pytest.importorskip("dagma", reason="the extra 'peers' is not installed")
    from dapdag.graph_baselines import dagma_mlp

    graph = dagma_mlp(nonlinear_collider())
    assert set(graph.edges) == {("a", "c"), ("b", "c")}


def test_cdnod_says_how_to_get_causal_learn(
    changing: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "causallearn", None)
    monkeypatch.setitem(sys.modules, "causallearn.utils.cit", None)
    with pytest.raises(ValueError, match=r"pip install 'dapdag\[bench\]'"):
        cdnod(*changing)


def test_heavy_packages_load_when_used() -> None:
    code = (
        "import sys, dapdag.graph_baselines; "
        "names = ('jax', 'torch', 'causallearn', 'lingam', 'gnies', 'causalchange', 'xgboost'); "
        "sys.exit(any(m in sys.modules for m in names))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
