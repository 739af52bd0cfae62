"""First stage of a fit: the graph, searched in the sources' tables or given by the user."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.chunks import spaced_rows
from ..data.columns import Discrete, Variable, numbers_of
from ..data.sample import Sample, drawn_by_weight
from ..data.table import Table
from ..model.constants import SEARCH_ROWS, SEARCH_SOURCES
from ..structure import GraphSearch
from ..structure.constants import MAX_LEVELS
from .settings import Settings


@dataclass(frozen=True)
class FoundGraph:
    """A DAG over the features of a table and its label, which comes last."""

    mask: NDArray[np.bool_]  # [variables, variables], parents in rows
    probability: NDArray[np.float64]  # of every edge
    shifts: NDArray[np.float64]  # [variables, columns of `mechanism_shift_`]

    def padded(self, variables: int) -> NDArray[np.float32]:
        """The mask among padded variables, the label last again."""
        at = [*range(len(self.mask) - 1), variables - 1]
        out = np.zeros((variables, variables), dtype=np.float32)
        out[np.ix_(at, at)] = self.mask
        return out


def find_graph(
    sample: Sample, table: Table, settings: Settings, given: nx.DiGraph | None = None
) -> FoundGraph:
    """The graph with the highest score over the sources; `given` is taken as it is.

    In either case every mechanism is compared between the sources.
    """
    rows = _searched_rows(sample)
    frame, domain = _frame(sample, table, rows), sample.domain[rows]
    d = frame.shape[1]
    required: list[tuple[int, int]] = []
    search = GraphSearch(random_state=settings.random_state, n_jobs=-1, verbose=settings.verbose)
    if given is not None:
        required = _given_edges(given, [*sample.X.columns, sample.label_name])
        pairs = {(i, j) for i in range(d) for j in range(d) if i != j}
        most = max(np.bincount([j for _, j in required], minlength=1).max(), 1)
        search.set_params(
            required_edges=required, forbidden_edges=sorted(pairs - set(required)), max_parents=most
        )
    usable = np.flatnonzero(frame.notna().any())
    if len(frame) < 2:
        none = np.zeros((d, d))
        mask = none.astype(bool)
        for i, j in required:
            mask[i, j] = True
        return FoundGraph(mask, mask.astype(float), np.zeros((d, 6)))
    with warnings.catch_warnings():
        # columns without values and copies were named when the table was read
        warnings.simplefilter("ignore", UserWarning)
        found = search.fit(frame[usable], domain)
    everything = range(d)
    mask = nx.to_numpy_array(found.graph_, nodelist=usable, weight=None) > 0
    index = np.ix_(usable, usable)
    edge, probability = np.zeros((d, d), dtype=bool), np.zeros((d, d))
    edge[index], probability[index] = mask, found.edge_probability_.to_numpy()
    shifts = found.mechanism_shift_.reindex(everything, fill_value=0.0).to_numpy(dtype=float)
    return FoundGraph(edge, probability, np.nan_to_num(shifts, neginf=-1e300))


def _searched_rows(sample: Sample) -> NDArray[np.intp]:
    """Labelled rows of the sources: of the largest sources, and an equal share of each."""
    rows = sample.labelled
    domain = sample.domain[rows]
    size = np.bincount(domain, minlength=sample.n_sources)
    if (size > 0).sum() > SEARCH_SOURCES:
        largest = np.argsort(-size, kind="stable")[:SEARCH_SOURCES]
        rows = rows[np.isin(domain, largest)]
    if sample.weight is not None:  # the evidence of the search counts rows alike
        rows = rows[drawn_by_weight(sample.weight[rows], SEARCH_ROWS)]
    if len(rows) > SEARCH_ROWS:
        rows = rows[spaced_rows(len(rows), SEARCH_ROWS)]  # the sources follow one another
    return rows


def _frame(sample: Sample, table: Table, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Features and label by position, discrete ones as categories of the learned levels."""
    whole = np.array_equal(rows, np.arange(len(sample.X)))
    X = sample.X if whole else sample.X.iloc[rows]
    label = pd.Series(sample.y[rows], index=X.index)
    columns = [X.iloc[:, j] for j in range(X.shape[1])] + [label]
    variables = (*table.features, table.label)
    return pd.DataFrame(
        {j: _column(v, c) for j, (v, c) in enumerate(zip(variables, columns, strict=True))}
    ).reset_index(drop=True)


def _column(variable: Variable, column: pd.Series) -> Any:
    if not isinstance(variable, Discrete):
        return numbers_of(column)
    codes = variable.codes(column)
    # the search takes one level less where the rare ones share the last
    levels = pd.Index(range(min(len(variable.levels), MAX_LEVELS)))
    return pd.Categorical.from_codes(np.minimum(codes, MAX_LEVELS - 1), categories=levels)


def _given_edges(graph: nx.DiGraph, names: list[Hashable]) -> list[tuple[int, int]]:
    """Edges of a user's graph by position, or a ValueError that says what is wrong with it."""
    if not isinstance(graph, nx.DiGraph):
        raise ValueError(
            f"structure must be 'search', 'paper' or a networkx.DiGraph, not {graph!r}"
        )
    if unknown := [node for node in graph if node not in names]:
        raise ValueError(
            f"structure has the node(s) {', '.join(map(repr, unknown))}, which are neither columns "
            f"nor the label {names[-1]!r}; known names: {', '.join(map(repr, names))}"
        )
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " → ".join(repr(edge[0]) for edge in nx.find_cycle(graph))
        raise ValueError(f"structure has the cycle {cycle}: a graph without cycles is needed")
    return [(names.index(i), names.index(j)) for i, j in graph.edges]
