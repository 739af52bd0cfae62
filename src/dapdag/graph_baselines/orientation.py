"""From a partly directed graph to a DAG of the same skeleton."""

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def consistent_extension(directed: Mask, undirected: Mask) -> Mask:
    """A DAG with the same skeleton, the same directed edges and no new collider.

    Dor and Tarsi (1992): take away, one after the other, a node without children whose undirected
    neighbours are adjacent to all its other neighbours, and point its undirected edges at it.
    Where no such node is left (errors of the tests contradict each other), the remaining edges
    keep their direction as long as that closes no cycle, and the skeleton stays as it is.

    Parameters
    ----------
    directed : ``directed[i, j]`` is the edge i → j.
    undirected : symmetric; edges without a direction.
    """
    directed, undirected = directed.copy(), undirected | undirected.T
    found = directed.copy()
    left = list(range(len(directed)))
    while left:
        sink = next((v for v in left if _is_potential_sink(v, left, directed, undirected)), None)
        if sink is None:
            return _forced(found, left, directed, undirected)
        found[undirected[:, sink], sink] = True
        for edges in (directed, undirected):
            edges[sink, :] = edges[:, sink] = False
        left.remove(sink)
    return found


def _is_potential_sink(v: int, left: list[int], directed: Mask, undirected: Mask) -> bool:
    if directed[v, left].any():
        return False
    adjacent = directed | directed.T | undirected
    around = set(np.flatnonzero(adjacent[v]).tolist())
    return all(adjacent[u, w] for u in np.flatnonzero(undirected[v]).tolist() for w in around - {u})


def _forced(found: Mask, left: list[int], directed: Mask, undirected: Mask) -> Mask:
    """Every remaining edge directed along an order that reverses few of the directed ones."""
    found = found.copy()
    for i in left:
        for j in left:
            found[i, j] = False
    graph = nx.DiGraph()
    graph.add_nodes_from(left)
    for i, j in np.argwhere(directed).tolist():
        graph.add_edge(i, j)
        if not nx.is_directed_acyclic_graph(graph):
            graph.remove_edge(i, j)
    place = {v: k for k, v in enumerate(nx.lexicographical_topological_sort(graph))}
    for i, j in np.argwhere(directed | undirected).tolist():
        first, second = sorted((i, j), key=place.__getitem__)
        found[first, second] = True
    return found
