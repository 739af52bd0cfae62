"""BOSS and GRaSP through causal-learn: searches over orders of the variables, with a linear BIC."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from dapdag.graph import to_networkx
from dapdag.graph_baselines.global_random import global_seed
from dapdag.graph_baselines.orientation import consistent_extension
from dapdag.graph_baselines.tables import column_names, standardised
from dapdag.graph_baselines.within_sites import centred_by_site


def boss(
    X: Any, sample_domain: Any = None, *, penalty: float = 2.0, random_state: int = 0
) -> nx.DiGraph:
    """Best order score search (Andrews et al., 2023).

    The score is the BIC of linear Gaussian regressions. Edges without a direction in the
    equivalence class are given one that is consistent with the others.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row, optional
        Site of every row, to centre every column at each site. By default the rows are pooled as
        they are.
    penalty : float, default=2.0
        Weight of log n per parameter, positive: 2, causal-learn's default; 0.5 is the BIC.
    random_state : int, default=0
        Seed of the order in which variables are moved.

    Returns
    -------
    networkx.DiGraph
        A DAG named after the columns.
    """
    from_package = _causal_learn("BOSS", "boss")
    return _search(from_package, X, sample_domain, penalty, random_state)


def grasp(
    X: Any, sample_domain: Any = None, *, penalty: float = 2.0, random_state: int = 0
) -> nx.DiGraph:
    """Greedy relaxations of the sparsest permutation (Lam et al., 2022).

    Parameters
    ----------
    X : DataFrame or array of shape (rows, columns)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row, optional
        Site of every row, to centre every column at each site. By default the rows are pooled as
        they are.
    penalty : float, default=2.0
        Weight of log n per parameter, positive: 2, causal-learn's default; 0.5 is the BIC.
    random_state : int, default=0
        Seed of the order in which variables are moved.

    Returns
    -------
    networkx.DiGraph
        A DAG named after the columns.
    """
    from_package = _causal_learn("GRaSP", "grasp")
    return _search(from_package, X, sample_domain, penalty, random_state)


def _search(
    method: Callable[..., Any], X: Any, sample_domain: Any, penalty: float, random_state: int
) -> nx.DiGraph:
    Z = standardised(X if sample_domain is None else centred_by_site(X, sample_domain))
    varied = np.flatnonzero(Z.any(axis=0))
    with global_seed(random_state):
        found = method(Z[:, varied], parameters={"lambda_value": penalty}, verbose=False)
    # marks[i, j] is the mark at i of the edge between i and j: −1 tail, 1 arrow
    marks = np.asarray(found.graph)
    directed = (marks == -1) & (marks.T == 1)
    undirected = (marks == -1) & (marks.T == -1)
    mask = np.zeros((Z.shape[1], Z.shape[1]), dtype=bool)
    mask[np.ix_(varied, varied)] = consistent_extension(directed, undirected)
    return to_networkx(mask, mask.astype(float), column_names(X, Z.shape[1]))


def _causal_learn(module: str, function: str) -> Callable[..., Any]:
    try:
        from importlib import import_module

        found = import_module(f"causallearn.search.PermutationBased.{module}")
    except ImportError as error:
        raise ValueError(
            f"{module} needs the package causal-learn: pip install 'dapdag[bench]'"
        ) from error
    method: Callable[..., Any] = getattr(found, function)
    return method
