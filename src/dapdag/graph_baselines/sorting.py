"""Graphs from sorting alone: a baseline for causal discovery methods."""

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LassoLarsIC

from dapdag.graph import to_networkx
from dapdag.graph_baselines.tables import column_names, standardised

# Keeps the inverse defined when columns are linear combinations of others: their R² becomes 1.
_RIDGE = 1e-10


def r2_sort_n_regress(X: Any) -> nx.DiGraph:
    """R²-SortnRegress (Reisach et al., 2023): order by explained variance, then regress.

    Simulated data often let R² grow along the causal order, so that this recovers the graph
    without any causal reasoning. A method that does no better is no evidence of
    causal discovery.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Continuous, without missing values, more rows than columns.

    Returns
    -------
    networkx.DiGraph
        Named after the columns; edges carry ``"weight"`` and the signed ``"effect"`` of the
        standardised regression.

    Examples
    --------
    >>> from dapdag.datasets import make_regression_domains
    >>> from dapdag.graph_baselines import r2_sort_n_regress
    >>> data = make_regression_domains(n_domains=3, n_samples=200)
    >>> r2_sort_n_regress(data.X).number_of_nodes()
    7
    """
    return sort_n_regress(X, explained_variance(X))


def explained_variance(X: Any) -> NDArray[np.float64]:
    """R² of the linear regression of each column on all others; 0 for a constant column.

    ``R²_j = 1 − 1 / (C⁻¹)_jj`` with the correlation matrix C.

    Parameters
    ----------
    X : DataFrame or array of shape (rows, columns)
        Finite numbers, more rows than columns.

    Returns
    -------
    array of shape (columns,)
        R² of every column.
    """
    Z = standardised(X)
    correlation = Z.T @ Z / len(Z) + _RIDGE * np.eye(Z.shape[1])
    r2 = 1.0 - 1.0 / np.diag(np.linalg.inv(correlation + np.diag(~Z.any(axis=0))))
    return np.clip(r2, 0.0, 1.0)


def sort_n_regress(X: Any, scores: ArrayLike) -> nx.DiGraph:
    """Regress each column sparsely on those with lower scores (adaptive lasso, chosen by BIC).

    Parameters
    ----------
    X : DataFrame or array of shape (rows, columns)
        Finite numbers, more rows than columns.
    scores : array-like
        One number per column; causes have lower ones than effects.

    Returns
    -------
    networkx.DiGraph
        A DAG named after the columns.
    """
    Z = standardised(X)
    order = np.argsort(np.asarray(scores), kind="stable")
    if len(order) != Z.shape[1]:
        raise ValueError(
            f"scores must hold one number per column ({Z.shape[1]}), got {len(order)}."
        )
    order = order[Z[:, order].any(axis=0)]
    effects = np.zeros((Z.shape[1], Z.shape[1]))
    for k in range(1, len(order)):
        parents, child = order[:k], order[k]
        effects[parents, child] = _adaptive_lasso(Z[:, parents], Z[:, child])
    names = column_names(X, Z.shape[1])
    return to_networkx(effects != 0, np.abs(effects), names, effects=effects)


def _adaptive_lasso(Z: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lasso on columns scaled by their least-squares coefficients, which spares the large ones."""
    scale = np.abs(np.linalg.lstsq(Z, y, rcond=None)[0])
    return LassoLarsIC(criterion="bic", fit_intercept=False).fit(Z * scale, y).coef_ * scale
