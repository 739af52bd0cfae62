"""Stage 1 of DA-Infer: the augmented graph, the label's blanket, and what changes in it."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ...data.columns import Discrete
from ...data.table import Table
from ...graph import to_networkx
from ...graph_baselines.cd_nod import augmented_graph
from ...graph_baselines.domain_test import DomainTest

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blanket:
    """The modules that say something about the label: its own and those of its children.

    Variables are numbered as in the table, the label last.
    """

    graph: nx.DiGraph
    modules: tuple[int, ...]  # the label first
    parents: tuple[tuple[int, ...], ...]  # of each module
    changing: tuple[bool, ...]  # of each module
    found: bool  # False: nothing is next to the label, and all features are made its parents


def learn_blanket(
    table: Table, values: Array, domain: NDArray[np.intp], alpha: float, max_condition: int
) -> Blanket:
    """CD-NOD on encoded rows of the labelled sources (columns as in `encoded_columns`).

    Missing cells are at their column's mean, which weakens the tests but favours no edge.
    """
    variables = (*table.features, table.label)
    columns = encoded_columns(table)
    varied = [v for v in range(len(variables)) if np.ptp(values[:, columns[v]], axis=0).any()]
    is_number = [not isinstance(variables[v], Discrete) for v in varied]
    blocks = [
        # The last level of several follows from the others.
        values[:, columns[v]][:, : max(1, len(columns[v]) - 1)].astype(float)
        for v in varied
    ]
    test = DomainTest(blocks, is_number, domain)
    found = augmented_graph(test, len(varied), alpha, max_condition, by_largest_p=True)
    mask = np.zeros((len(variables), len(variables)), dtype=bool)
    mask[np.ix_(varied, varied)] = found.mask
    changing = np.zeros(len(variables), dtype=bool)
    changing[varied] = found.changing
    return _around_the_label(table, mask, changing)


def encoded_columns(table: Table) -> list[list[int]]:
    """The columns of every variable: those of the features in order, then the label's."""
    columns, start = [], 0
    for variable in (*table.features, table.label):
        columns.append(list(range(start, start + variable.width)))
        start += variable.width
    return columns


def _around_the_label(
    table: Table, mask: NDArray[np.bool_], changing: NDArray[np.bool_]
) -> Blanket:
    names = table.names
    label = len(names) - 1
    graph = to_networkx(
        mask, mask.astype(float), names, label=table.label.name, perturbed=changing.astype(float)
    )
    graph.graph["changing"] = [n for n, moved in zip(names, changing, strict=True) if moved]
    if not (mask[label].any() or mask[:, label].any()):
        everything = tuple(range(label))
        return Blanket(graph, (label,), (everything,), (False,), found=False)
    modules = (label, *np.flatnonzero(mask[label]).tolist())
    parents = tuple(tuple(np.flatnonzero(mask[:, v]).tolist()) for v in modules)
    return Blanket(graph, modules, parents, tuple(bool(changing[v]) for v in modules), found=True)
