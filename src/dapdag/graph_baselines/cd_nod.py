"""CD-NOD through causal-learn: the domain index as a surrogate of what changes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dapdag.graph import to_networkx
from dapdag.graph_baselines.domain_test import DomainTest
from dapdag.graph_baselines.orientation import consistent_extension
from dapdag.graph_baselines.tables import column_names, domain_codes, standardised

Test = Callable[..., float]


@dataclass(frozen=True, eq=False)
class AugmentedGraph:
    """A DAG over the variables, and which of them the domain index points to."""

    mask: NDArray[np.bool_]  # [i, j]: i → j
    changing: NDArray[np.bool_]


def cdnod(
    X: Any,
    sample_domain: Any,
    *,
    alpha: float = 0.05,
    test: Literal["fisherz", "domain"] = "fisherz",
    max_condition: int | None = None,
) -> nx.DiGraph:
    """CD-NOD (Huang et al., 2020): PC on the variables and the index of their domain.

    The index is dropped from the result, and edges without a direction are given one that is
    consistent with the others.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row
        Site of every row; at least two sites.
    alpha : float, default=0.05
        Level of the independence tests.
    test : {"fisherz", "domain"}, default="fisherz"
        ``"fisherz"``, which takes the index for a number, with causal-learn's defaults; or
        ``"domain"``, which takes it for a label and also finds changes of slope and of noise (see
        `DomainTest`), with colliders found by the largest p-value.
    max_condition : int, optional
        Largest conditioning set; None for no limit.

    Returns
    -------
    networkx.DiGraph
        Named after the columns. Edges carry ``"weight"`` 1; nodes carry ``"environment"``, which
        is 1 where the index points to the variable and 0 elsewhere; ``graph["changing"]`` lists
        the names of the former.
    """
    Z = standardised(X)
    domain = domain_codes(sample_domain, len(Z))
    names = column_names(X, Z.shape[1])
    varied = np.flatnonzero(Z.any(axis=0))
    if test == "fisherz":
        found = augmented_graph(_fisher_z(Z[:, varied], domain), len(varied), alpha, max_condition)
    elif test == "domain":
        independence = DomainTest([Z[:, [j]] for j in varied], [True] * len(varied), domain)
        found = augmented_graph(independence, len(varied), alpha, max_condition, by_largest_p=True)
    else:
        raise ValueError(f"test must be 'fisherz' or 'domain', got {test!r}.")
    mask = np.zeros((len(names), len(names)), dtype=bool)
    mask[np.ix_(varied, varied)] = found.mask
    changing = np.zeros(len(names), dtype=bool)
    changing[varied] = found.changing
    graph = to_networkx(mask, mask.astype(float), names, perturbed=changing.astype(float))
    graph.graph["changing"] = [name for name, moved in zip(names, changing, strict=True) if moved]
    return graph


def augmented_graph(
    test: Test,
    n_variables: int,
    alpha: float,
    max_condition: int | None = None,
    by_largest_p: bool = False,
) -> AugmentedGraph:
    """Skeleton, colliders and Meek's rules by causal-learn, with the domain as the last variable.

    `test(i, j, given)` returns a p-value; the domain has the index `n_variables`. `by_largest_p`
    uses all conditioning sets to identify a collider, not only the first that removed an
    edge.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    parts = _causal_learn()
    # causal-learn's own `cdnod` always draws a progress bar; so its steps are called one by one.
    graph = parts.skeleton_discovery(
        # Only the number of columns is read here; the test holds the data.
        np.zeros((1, n_variables + 1)),
        alpha,
        _Bounded(test, max_condition),
        show_progress=False,
        max_k=max_condition,
    )
    nodes = graph.G.nodes
    for neighbour in graph.G.get_adjacent_nodes(nodes[-1]):
        graph.G.add_directed_edge(nodes[-1], neighbour)
    existing_colliders_first = 2
    find_colliders = parts.maxp if by_largest_p else parts.uc_sepset
    graph = parts.meek(find_colliders(graph, existing_colliders_first))
    # marks[i, j] is the mark at i of the edge between i and j: −1 tail, 1 arrow
    marks = np.asarray(graph.G.graph)
    directed = (marks == -1) & (marks.T == 1)
    undirected = (marks != 0) & (marks == marks.T)
    mask = consistent_extension(directed[:-1, :-1], undirected[:-1, :-1])
    return AugmentedGraph(mask, directed[-1, :-1])


class _Bounded:
    """A test that calls nothing independent given more variables than allowed."""

    method = "bounded"  # causal-learn asks for a name

    def __init__(self, test: Test, max_condition: int | None) -> None:
        self._test = test
        self._limit = np.inf if max_condition is None else max_condition

    def __call__(self, i: int, j: int, given: Any = ()) -> float:
        return 0.0 if len(given) > self._limit else float(self._test(i, j, given))


def _fisher_z(Z: NDArray[np.float64], domain: NDArray[np.intp]) -> Test:
    test: Test = _causal_learn().CIT(np.column_stack([Z, domain.astype(float)]), "fisherz")
    return test


@dataclass(frozen=True)
class _CausalLearn:
    skeleton_discovery: Any
    uc_sepset: Any
    maxp: Any
    meek: Any
    CIT: Any


def _causal_learn() -> _CausalLearn:
    try:
        from causallearn.utils.cit import CIT
        from causallearn.utils.PCUtils.Meek import meek
        from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery
        from causallearn.utils.PCUtils.UCSepset import maxp, uc_sepset
    except ImportError as error:
        raise ValueError(
            "CD-NOD needs the package causal-learn: pip install 'dapdag[bench]'"
        ) from error
    return _CausalLearn(skeleton_discovery, uc_sepset, maxp, meek, CIT)
