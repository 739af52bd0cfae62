"""UT-IGSP through graphical-model-learning: tests of independence and of invariance."""

from typing import Any

import networkx as nx
import numpy as np

from dapdag.graph import to_networkx
from dapdag.graph_baselines.global_random import global_seed
from dapdag.graph_baselines.tables import column_names
from dapdag.graph_baselines.within_sites import sites_of


def ut_igsp(
    X: Any, sample_domain: Any = None, *, alpha: float = 1e-3, random_state: int = 0
) -> nx.DiGraph:
    """Unknown-target interventional greedy sparsest permutation (Squires et al., 2020).

    The first site takes the place of the observational data: independence is tested in its rows,
    and every other site is compared with it. Tests are those of the authors' package, for linear
    Gaussian mechanisms.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row, optional
        Site of every row. By default all rows are one site.
    alpha : float, default=0.001
        Level of all tests.
    random_state : int, default=0
        Seed of the order in which edges are turned.

    Returns
    -------
    networkx.DiGraph
        A DAG named after the columns.
    """
    learn, tests = _packages()
    sites = sites_of(X, sample_domain)
    n = sites[0].shape[1]
    varied = np.flatnonzero((sites[0].std(axis=0) > 0) & np.concatenate(sites).any(axis=0))
    first, *others = (site[:, varied] for site in sites)
    independent = tests.MemoizedCI_Tester(
        tests.partial_correlation_test, tests.partial_correlation_suffstat(first), alpha=alpha
    )
    invariant = tests.MemoizedInvarianceTester(
        tests.gauss_invariance_test, tests.gauss_invariance_suffstat(first, others), alpha=alpha
    )
    targets: list[dict[str, list[int]]] = [{"known_interventions": []} for _ in others]
    with global_seed(random_state):
        found, _ = learn(targets, set(range(len(varied))), independent, invariant)
    mask = np.zeros((n, n), dtype=bool)
    for i, j in found.arcs:
        mask[varied[i], varied[j]] = True
    return to_networkx(mask, mask.astype(float), column_names(X, n))


def _packages() -> tuple[Any, Any]:
    try:
        import conditional_independence
        from graphical_model_learning import unknown_target_igsp
    except ImportError as error:
        raise ValueError(
            "UT-IGSP needs the package graphical-model-learning: pip install 'dapdag[peers]'"
        ) from error
    return unknown_target_igsp, conditional_independence
