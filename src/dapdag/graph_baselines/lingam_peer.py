"""DirectLiNGAM for several groups through the package lingam."""

import warnings
from typing import Any

import networkx as nx
import numpy as np

from dapdag.graph import to_networkx
from dapdag.graph_baselines.tables import column_names
from dapdag.graph_baselines.within_sites import sites_of


def direct_lingam(
    X: Any,
    sample_domain: Any = None,
    *,
    threshold: float = 0.1,
    share: float = 0.5,
    random_state: int = 0,
) -> nx.DiGraph:
    """DirectLiNGAM with one causal order for all sites (Shimizu, 2012).

    It assumes linear mechanisms and noise that is not Gaussian. Every site has coefficients of
    its own; an edge counts where more than `share` of the sites have it.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns at every site.
    sample_domain : sequence of labels, one per row, optional
        Site of every row. By default all rows are one site.
    threshold : float, default=0.1
        Smallest coefficient between standardised columns that counts.
    share : float, default=0.5
        Of the sites that must have an edge.
    random_state : int, default=0
        Seed, at least 0.

    Returns
    -------
    networkx.DiGraph
        Named after the columns; the weight of an edge is its mean absolute coefficient.
    """
    lingam = _lingam()
    sites = sites_of(X, sample_domain)
    n = sites[0].shape[1]
    # The package divides by the standard deviation at each site.
    varied = np.flatnonzero(np.min([site.std(axis=0) for site in sites], axis=0) > 0)
    parts = [site[:, varied] for site in sites]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(parts) == 1:
            found = lingam.DirectLiNGAM(random_state=random_state).fit(parts[0])
            matrices = [found.adjacency_matrix_]
        else:
            found = lingam.MultiGroupDirectLiNGAM(random_state=random_state).fit(parts)
            matrices = found.adjacency_matrices_
    effects = np.abs(np.nan_to_num(matrices))  # [sites, effect, cause]
    weight, mask = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    weight[np.ix_(varied, varied)] = effects.mean(axis=0).T
    mask[np.ix_(varied, varied)] = ((effects >= threshold).mean(axis=0) > share).T
    return to_networkx(mask, weight, column_names(X, n))


def _lingam() -> Any:
    try:
        import lingam
    except ImportError as error:
        raise ValueError(
            "DirectLiNGAM needs the package lingam: pip install 'dapdag[peers]'"
        ) from error
    return lingam
