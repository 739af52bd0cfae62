"""From edge strengths to a named DAG."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False)
class DAG:
    """An acyclic edge mask, and the edges that were removed to make it acyclic.

    Attributes
    ----------
    mask : bool array of shape (V, V)
        ``mask[i, j]`` says that the edge i → j is kept. Read-only.
    removed : tuple of (int, int)
        Edges that passed the threshold but would have closed a cycle, strongest first.
    threshold : float
        The threshold that was applied.
    """

    mask: NDArray[np.bool_]
    removed: tuple[tuple[int, int], ...]
    threshold: float

    def order(self) -> tuple[int, ...]:
        """Topological order, parents first; among free variables the lowest index comes first.

        Returns
        -------
        tuple of int
            Indices of the variables.
        """
        graph = nx.from_numpy_array(self.mask, create_using=nx.DiGraph)
        return tuple(nx.lexicographical_topological_sort(graph))


def extract_dag(strength: ArrayLike, threshold: float) -> DAG:
    """Turn any matrix of edge strengths into a DAG.

    An edge i → j counts when ``|strength[i, j]| >= threshold`` (and is not zero). The rule is
    absolute because strengths are meant to be root-mean-square derivatives between standardised
    variables: 0.1 means that one standard deviation of the parent moves the child by 0.1 of its
    own. For strengths on another scale, see `relative_threshold`.

    Edges then enter from the strongest to the weakest, and each one that would close a cycle is
    left out: every edge removed was the weakest of a cycle. Equal strengths enter in row order.

    Parameters
    ----------
    strength : array of shape (V, V)
        Any real numbers: NaN counts as 0, the sign is ignored, infinity is the strongest, and the
        diagonal is ignored.
    threshold : float
        At least 0.

    Returns
    -------
    DAG
        The mask, and the edges that were removed.

    Examples
    --------
    >>> from dapdag.graph import extract_dag
    >>> dag = extract_dag([[0.0, 0.9], [0.3, 0.0]], threshold=0.1)
    >>> dag.mask.tolist(), dag.removed
    ([[False, True], [False, False]], ((1, 0),))
    """
    if not (np.isfinite(threshold) and threshold >= 0):
        raise ValueError(f"threshold must be a finite number >= 0, got {threshold!r}.")
    magnitude = _magnitude(strength)
    candidates = np.flatnonzero((magnitude >= threshold) & (magnitude > 0))
    strongest_first = candidates[np.argsort(-magnitude.flat[candidates], kind="stable")]

    mask = np.zeros(magnitude.shape, dtype=bool)
    # reach[i, j]: there is a path i → … → j, the empty one included
    reach = np.eye(len(mask), dtype=bool)
    removed = []
    for i, j in zip(
        *(k.tolist() for k in np.unravel_index(strongest_first, mask.shape)), strict=True
    ):
        if reach[j, i]:
            removed.append((i, j))
            continue
        mask[i, j] = True
        if not reach[i, j]:
            reach[reach[:, i]] |= reach[j]
    mask.flags.writeable = False
    return DAG(mask, tuple(removed), float(threshold))


def relative_threshold(strength: ArrayLike, share: float) -> float:
    """A threshold for `extract_dag`: `share` of the largest finite off-diagonal strength.

    For strengths without a natural scale, such as filter norms, whose size depends on the
    penalty and on the later layers.

    Parameters
    ----------
    strength : array-like
        Array of shape (V, V).
    share : float
        Share of the largest strength, 0 to 1.

    Returns
    -------
    float
        The threshold.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie between 0 and 1, got {share!r}.")
    magnitude = _magnitude(strength)
    return float(share * magnitude.max(initial=0.0, where=np.isfinite(magnitude)))


def _magnitude(strength: ArrayLike) -> NDArray[np.float64]:
    """Absolute strengths with NaN and the diagonal at zero."""
    magnitude = np.abs(np.asarray(strength, dtype=float))
    if magnitude.ndim != 2 or magnitude.shape[0] != magnitude.shape[1]:
        raise ValueError(f"strength must be a square matrix, got shape {magnitude.shape}.")
    magnitude[np.isnan(magnitude)] = 0.0
    np.fill_diagonal(magnitude, 0.0)
    return magnitude


def to_networkx(
    mask: ArrayLike,
    weight: ArrayLike,
    names: Sequence[Hashable],
    effects: ArrayLike | None = None,
    label: Hashable | None = None,
    perturbed: ArrayLike | None = None,
) -> nx.DiGraph:
    """Name the variables of an edge mask.

    Parameters
    ----------
    mask : bool array of shape (V, V)
        ``mask[i, j]`` is the edge i → j.
    weight : array of shape (V, V)
        Strengths; become the edge attribute ``"weight"``.
    names : sequence
        V distinct names.
    effects : array of shape (V, V), optional
        Signed effects; become the edge attribute ``"effect"``.
    label : hashable, optional
        Name of the node whose attribute ``"label"`` is True.
    perturbed : array of shape (V,), optional
        Strength of the environment on each variable; becomes the node attribute ``"environment"``.

    Returns
    -------
    networkx.DiGraph
        The named graph.
    """
    names = list(names)
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"names must be distinct, but these are repeated: {repeated}.")
    if label is not None and label not in names:
        raise ValueError(f"label {label!r} is not among the names {names}.")
    n = len(names)
    mask = _shaped("mask", mask, (n, n)).astype(bool)
    weight = _shaped("weight", weight, (n, n))
    signed = None if effects is None else _shaped("effects", effects, (n, n))
    environment = None if perturbed is None else _shaped("perturbed", perturbed, (n,))

    graph = nx.DiGraph()
    for k, name in enumerate(names):
        graph.add_node(name, label=label is not None and name == label)
        if environment is not None:
            graph.nodes[name]["environment"] = float(environment[k])
    for i, j in np.argwhere(mask).tolist():
        graph.add_edge(names[i], names[j], weight=float(weight[i, j]))
        if signed is not None:
            graph.edges[names[i], names[j]]["effect"] = float(signed[i, j])
    return graph


def _shaped(what: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, one per name, got {array.shape}.")
    return array


def empty_graph(names: Sequence[Hashable]) -> nx.DiGraph:
    """The graph without edges: a baseline for learned graphs.

    Parameters
    ----------
    names : sequence
        Distinct names.

    Returns
    -------
    networkx.DiGraph
        Nodes without edges.
    """
    n = len(names)
    return to_networkx(np.zeros((n, n), dtype=bool), np.zeros((n, n)), names)


def markov_blanket(graph: nx.DiGraph, node: Hashable) -> set[Hashable]:
    """Parents, children and the children's other parents of `node`.

    Parameters
    ----------
    graph : networkx.DiGraph
        A graph with named nodes.
    node : hashable
        One of its nodes.

    Returns
    -------
    set
        Names of nodes.
    """
    if node not in graph:
        raise ValueError(f"{node!r} is not a node of the graph; its nodes are {list(graph)}.")
    children = set(graph.successors(node))
    family = children.union(graph.predecessors(node), *map(graph.predecessors, children))
    return family - {node}
