"""Differences between two graphs over the same nodes."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from .dag import Edge


@dataclass(frozen=True)
class EdgeDifferences:
    """The edges of two graphs sorted by agreement.

    Attributes
    ----------
    correct : frozenset of edges
        In both graphs.
    reversed : frozenset of edges
        In the true graph the other way round; as learned.
    extra : frozenset of edges
        In the learned graph alone.
    missing : frozenset of edges
        In the true graph alone.
    """

    correct: frozenset[Edge]
    reversed: frozenset[Edge]
    extra: frozenset[Edge]
    missing: frozenset[Edge]


def edge_differences(
    learned: nx.DiGraph | ArrayLike, true: nx.DiGraph | ArrayLike
) -> EdgeDifferences:
    """Sort the edges of two graphs over the same nodes into correct, reversed, extra, missing.

    An edge is reversed when the true graph holds it in the other direction only, and the learned
    one in its own direction only.

    Parameters
    ----------
    learned : array-like
        Learned graph, or its mask with causes in rows.
    true : array-like
        True graph over the same nodes.

    Returns
    -------
    EdgeDifferences
        The four sets.
    """
    learned, true = _as_digraph(learned), _as_digraph(true)
    if differing := set(learned) ^ set(true):
        raise ValueError(
            "The graphs must have the same nodes, but these are in one of them only: "
            f"{sorted(map(str, differing))}."
        )
    added = set(learned.edges) - set(true.edges)
    lost = set(true.edges) - set(learned.edges)
    turned = {(i, j) for i, j in added if (j, i) in lost}
    return EdgeDifferences(
        correct=frozenset(set(learned.edges) & set(true.edges)),
        reversed=frozenset(turned),
        extra=frozenset(added - turned),
        missing=frozenset(lost - {(j, i) for i, j in turned}),
    )


def _as_digraph(graph: nx.DiGraph | ArrayLike) -> nx.DiGraph:
    if isinstance(graph, nx.DiGraph):
        return graph
    return nx.from_numpy_array(np.asarray(graph, dtype=bool), create_using=nx.DiGraph)


def structural_hamming_distance(
    learned: nx.DiGraph | ArrayLike, true: nx.DiGraph | ArrayLike
) -> int:
    """Number of edges to add, remove or reverse to get from one graph to the other.

    A reversed edge counts once. Graphs may be DiGraphs or boolean matrices.

    Parameters
    ----------
    learned : array-like
        Learned graph, or its mask with causes in rows.
    true : array-like
        True graph over the same nodes.

    Returns
    -------
    int
        0 for equal graphs.

    Examples
    --------
    >>> import networkx as nx
    >>> from dapdag.graph import structural_hamming_distance
    >>> learned, true = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("b", "c")])
    >>> structural_hamming_distance(learned, true)
    1
    """
    difference = edge_differences(learned, true)
    return len(difference.reversed) + len(difference.extra) + len(difference.missing)


@dataclass(frozen=True)
class GraphComparison:
    """How a learned graph differs from the true one.

    Counts are of edges; a reversed edge is neither missing nor extra. Precision, recall and F1
    require the right direction, those of the skeleton ignore it. A graph without edges has
    precision 1, a true graph without edges gives recall 1, and F1 is 1 when both are empty.

    Attributes
    ----------
    shd : int
        Structural Hamming distance.
    missing : int
        Edges of the true graph that were not learned.
    extra : int
        Edges that were learned and are not true.
    reversed : int
        Edges in the wrong direction.
    precision : float
        Share of the learned edges that are true.
    recall : float
        Share of the true edges that were learned.
    f1 : float
        Harmonic mean of precision and recall.
    skeleton_precision : float
        Precision without directions.
    skeleton_recall : float
        Recall without directions.
    """

    shd: int
    missing: int
    extra: int
    reversed: int
    precision: float
    recall: float
    f1: float
    skeleton_precision: float
    skeleton_recall: float


def compare_graphs(
    learned: nx.DiGraph | ArrayLike, true: nx.DiGraph | ArrayLike
) -> GraphComparison:
    """Compare a learned graph with the true one over the same nodes; see `GraphComparison`.

    Parameters
    ----------
    learned : array-like
        Learned graph, or its mask with causes in rows.
    true : array-like
        True graph over the same nodes.

    Returns
    -------
    GraphComparison
        Counts and shares.
    """
    learned, true = _as_digraph(learned), _as_digraph(true)
    difference = edge_differences(learned, true)
    n_correct, n_learned, n_true = len(difference.correct), len(learned.edges), len(true.edges)
    learned_pairs = {frozenset(edge) for edge in learned.edges}
    true_pairs = {frozenset(edge) for edge in true.edges}
    n_shared = len(learned_pairs & true_pairs)
    return GraphComparison(
        shd=structural_hamming_distance(learned, true),
        missing=len(difference.missing),
        extra=len(difference.extra),
        reversed=len(difference.reversed),
        precision=_share(n_correct, n_learned),
        recall=_share(n_correct, n_true),
        f1=_share(2 * n_correct, n_learned + n_true),
        skeleton_precision=_share(n_shared, len(learned_pairs)),
        skeleton_recall=_share(n_shared, len(true_pairs)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
