"""`GraphSearch`: the causal graph of a table with several sites."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from dapdag.graph import to_networkx
from dapdag.structure.columns import encode, warn_of_copies
from dapdag.structure.knowledge import read_knowledge
from dapdag.structure.pipeline import Options, discover
from dapdag.structure.shifts import shift_frame
from dapdag.structure.statistics import Array
from dapdag.structure.summary import Statistics, check_integer, summarise


class GraphSearch(BaseEstimator):
    """Score-based causal graph search over several sites.

    Each variable is scored given each set of parents by its marginal likelihood over all sites,
    with what sites have of their own integrated out. A mechanism that is the same at all sites,
    or differs in few of its coefficients, is simple; the same relation the wrong way round needs
    many. The graph is the DAG with the highest total score.

    Parameters
    ----------
    max_parents : int, default=6
        Most parents of a variable.
    forbidden_edges, required_edges : iterables of (cause, effect), optional
        Names of columns, or patterns such as ``"lab_*"`` for all that match.
    tiers : list of lists of names or patterns, optional
        First causes first: no column is caused by one of a later tier.
    random_state : int, default=0
        Seed of everything that is drawn.
    n_jobs : int, optional
        Threads; -1 for one per core.
    verbose : int, default=0
        Int 1 shows a progress bar on a terminal.

    Attributes
    ----------
    graph_ : networkx.DiGraph
        The best DAG, with the columns' names. Edge attributes: ``"weight"``, the standard deviation
        of what the parent contributes in units of the child's, and ``"probability"``. Node
        attribute: ``"environment"``, the probability that the mechanism shifts.
    edge_probability_ : DataFrame
        Probability of every edge; parents in rows.
    adjacency_probability_ : DataFrame
        Probability of an edge in either direction.
    mechanism_shift_ : DataFrame
        One row per variable: the probability that its mechanism differs between sites, and that it
        does so in its level, slopes, shape or noise; the log Bayes factor of any difference.
    log_evidence_ : float
        Score of the graph.
    rows_ : DataFrame
        One row per site: its ``rows``, and how many were ``read``: all of them in tables of up to
        20,000 rows.
    feature_names_in_, n_features_in_ : array, int
        Names and number of the columns.

    Examples
    --------
    >>> from dapdag import GraphSearch
    >>> from dapdag.datasets import make_regression_domains
    >>> data = make_regression_domains(n_domains=5, n_samples=60)
    >>> search = GraphSearch().fit(data.X, sample_domain=data.sample_domain)
    >>> search.edge_probability_.shape
    (7, 7)
    """

    def __init__(
        self,
        max_parents: int = 6,
        forbidden_edges: Iterable[tuple[Hashable, Hashable]] | None = None,
        required_edges: Iterable[tuple[Hashable, Hashable]] | None = None,
        tiers: Sequence[Iterable[Hashable]] | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_parents = max_parents
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, sample_domain: Any = None) -> GraphSearch:
        """Search the graph of the columns of X.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Numeric, binary and categorical columns; NaN where a value is missing.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        self
            The fitted search.
        """
        self._check()
        return self.fit_statistics(summarise(X, sample_domain, 0, self.random_state))

    def _check(self) -> None:
        check_integer("max_parents", self.max_parents, 1)
        check_integer("random_state", self.random_state, 0)

    def fit_statistics(self, statistics: Statistics) -> GraphSearch:
        """Search the graph of a table of which only a summary is at hand.

        Parameters
        ----------
        statistics : Statistics
            Sum of `dapdag.structure.summarise` over the parts of the table.

        Returns
        -------
        self
            The fitted search.
        """
        self._check()
        _require_statistics(statistics)
        given = statistics.table()
        names = list(given.names)
        knowledge = read_knowledge(
            names, self.forbidden_edges, self.required_edges, self.tiers, self.max_parents
        )
        table = encode(given, self.random_state)
        warn_of_copies(table)
        position = [names.index(name) for name in table.names]
        options = Options(self.max_parents, self.random_state, self.n_jobs, self.verbose)
        # Matrices are small: threads of the linear algebra would wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            inner = discover(table, knowledge.take(position), options)

        d = len(names)
        # Required edges stand even where a constant column leaves nothing to score.
        edge = knowledge.required.copy()
        probability = knowledge.required.astype(float)
        weight = np.zeros((d, d))
        which = np.ix_(position, position)
        edge[which], weight[which] = inner.edge, inner.weight
        probability[which] = np.maximum(inner.probability, knowledge.required[which])
        self.mechanism_shift_ = shift_frame(inner.shifts, names)
        self.graph_ = to_networkx(
            edge, weight, names, perturbed=self.mechanism_shift_["probability"]
        )
        self.edge_probability_ = _square_frame(probability, names)
        self.adjacency_probability_ = _square_frame(
            np.minimum(probability + probability.T, 1.0), names
        )
        for i, j in np.argwhere(edge).tolist():
            self.graph_.edges[names[i], names[j]]["probability"] = float(probability[i, j])
        self.log_evidence_ = inner.score
        self.rows_ = _rows_frame(statistics)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = d
        return self


def _require_statistics(given: Any) -> None:
    if not isinstance(given, Statistics):
        raise ValueError(
            "fit_statistics takes what `dapdag.structure.summarise` returns, or a sum of such; got "
            f"{type(given).__name__}. `fit` takes a table."
        )


def _rows_frame(statistics: Statistics) -> pd.DataFrame:
    """Rows of every site, and how many of them were read."""
    index = pd.Index(statistics.sites, name="site", tupleize_cols=False)
    return pd.DataFrame({"rows": statistics.count, "read": statistics.n_kept}, index=index)


def _square_frame(values: Array, names: list[Hashable]) -> pd.DataFrame:
    index = pd.Index(names, tupleize_cols=False)
    return pd.DataFrame(values, index=index.rename("cause"), columns=index.rename("effect"))
