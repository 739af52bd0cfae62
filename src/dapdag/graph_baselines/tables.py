"""Input of the graph methods: a table of finite numbers, and one domain per row."""

from collections.abc import Hashable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.data.domains import domain_array
from dapdag.graph import extract_dag, to_networkx


def column_names(X: Any, n_columns: int) -> list[Hashable]:
    """The names of the columns, or their positions."""
    return list(getattr(X, "columns", range(n_columns)))


def centred(X: Any) -> NDArray[np.float64]:
    """The columns with mean 0; a constant column is exactly 0."""
    values = np.asarray(X, dtype=float)
    if values.ndim != 2 or values.shape[0] <= values.shape[1] + 1:
        raise ValueError(f"X must be a table with more rows than columns, got {values.shape}.")
    names = column_names(X, values.shape[1])
    if bad := [names[j] for j in np.flatnonzero(~np.isfinite(values).all(axis=0))]:
        raise ValueError(f"X must be finite; columns with missing or infinite values: {bad}.")
    # A constant column leaves rounding errors behind, which must not be scaled to variance 1.
    return np.where(np.ptp(values, axis=0) == 0, 0.0, values - values.mean(axis=0))


def standardised(X: Any) -> NDArray[np.float64]:
    """The columns with mean 0 and variance 1; a constant column is 0."""
    Z = centred(X)
    spread = Z.std(axis=0)
    return Z / np.where(spread > 0, spread, 1.0)


def some_rows(Z: NDArray[np.float64], max_rows: int, random_state: int) -> NDArray[np.float64]:
    """At most `max_rows` rows, drawn without replacement."""
    if len(Z) <= max_rows:
        return Z
    return Z[np.random.default_rng(random_state).choice(len(Z), max_rows, replace=False)]


def score_table(X: Any, standardise: bool, max_rows: int, random_state: int) -> NDArray[np.float64]:
    """Input of a method that compares squared errors of all columns."""
    return some_rows(standardised(X) if standardise else centred(X), max_rows, random_state)


def strongest_dag(X: Any, strength: NDArray[np.float64], threshold: float) -> nx.DiGraph:
    """The DAG of the edges that reach the threshold, named after the columns of the table."""
    dag = extract_dag(strength, threshold)
    return to_networkx(dag.mask, strength, column_names(X, len(strength)))


def domain_codes(sample_domain: Any, n_rows: int) -> NDArray[np.intp]:
    """Each row's domain as 0, 1, … in the order of appearance; at least two domains."""
    if sample_domain is None:
        raise ValueError("sample_domain is needed: CD-NOD learns from how domains differ.")
    labels = domain_array(sample_domain, n_rows)
    codes, found = pd.factorize(labels)
    if len(found) < 2:
        raise ValueError("sample_domain must name at least two domains, got one.")
    return codes
