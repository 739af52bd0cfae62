"""LINC through the package causalchange: description length over groups of like sites."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dapdag.graph import to_networkx
from dapdag.graph_baselines.tables import column_names
from dapdag.graph_baselines.within_sites import sites_of


def linc(X: Any, sample_domain: Any = None) -> nx.DiGraph:
    """LINC (Mameche et al., 2023): one graph, mechanisms shared by groups of sites.

    As its package documents it: a search over topological orders, with the description length of
    linear regressions. Its Gaussian processes are slower still.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns at every site.
    sample_domain : sequence of labels, one per row, optional
        Site of every row. By default all rows are one site.

    Returns
    -------
    networkx.DiGraph
        A DAG named after the columns.
    """
    package, types = _causalchange()
    sites = sites_of(X, sample_domain)
    n = sites[0].shape[1]
    varied = np.flatnonzero(np.concatenate(sites).any(axis=0)).tolist()
    columns = {f"v{j}": j for j in varied}
    table = pd.DataFrame(np.concatenate(sites)[:, varied], columns=pd.Index(list(columns)))
    if len(sites) == 1:
        mode = {"data_mode": types.DataMode.IID, "aggregation": types.ContextAggregation.SKIP}
    else:
        table["site"] = np.repeat(np.arange(len(sites)), [len(site) for site in sites])
        mode = {
            "data_mode": types.DataMode.CONTEXTS,
            "aggregation": types.ContextAggregation.LINC,
            "context_col": "site",
        }
    found = package.CausalChange(
        graph_search=types.GraphSearch.TOPIC, score_type=types.ScoreType.LIN, **mode
    ).fit(table)
    mask = np.zeros((n, n), dtype=bool)
    for cause, effect in found.graph_.edges:
        mask[columns[cause], columns[effect]] = True
    return to_networkx(mask, mask.astype(float), column_names(X, n))


def _causalchange() -> tuple[Any, Any]:
    try:
        from causalchange import causal_change
        from causalchange.config import cc_types
    except ImportError as error:
        raise ValueError(
            "LINC needs the package causalchange: pip install 'dapdag[peers]'"
        ) from error
    return causal_change, cc_types
