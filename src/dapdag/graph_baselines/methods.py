"""The graph study's methods behind one signature."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import networkx as nx

from dapdag.graph import empty_graph
from dapdag.graph_baselines.cd_nod import cdnod
from dapdag.graph_baselines.sorting import r2_sort_n_regress
from dapdag.graph_baselines.tables import column_names


@dataclass(frozen=True)
class GraphMethod:
    """A way to learn a graph.

    ``learn(X, sample_domain, random_state)`` takes a table of finite numbers, the label among its
    columns, and returns a DAG named after them. `packages` are those that it imports beyond
    dapdag's own.
    """

    name: str
    title: str
    learn: Callable[[Any, Any, int], nx.DiGraph]
    packages: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether its packages are installed."""
        return all(find_spec(package) is not None for package in self.packages)


def _empty(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return empty_graph(column_names(X, X.shape[1]))


def _sorted(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return r2_sort_n_regress(X)


def _cdnod(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return cdnod(X, sample_domain)


def _cdnod_domain(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    # The likelihood ratio finds far smaller changes than Fisher's z, hence the stricter level.
    return cdnod(X, sample_domain, test="domain", alpha=0.001, max_condition=3)


def _notears(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    from dapdag.graph_baselines.notears import notears_mlp

    return notears_mlp(X, random_state=random_state)


def _dagma(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    from dapdag.graph_baselines.dagma import dagma_mlp

    return dagma_mlp(X, random_state=random_state)


GRAPH_METHODS = {
    method.name: method
    for method in (
        GraphMethod("empty", "empty graph", _empty),
        GraphMethod("r2-sort", "R²-SortnRegress", _sorted),
        GraphMethod("cdnod", "CD-NOD (Fisher z)", _cdnod, ("causallearn",)),
        GraphMethod("cdnod-domain", "CD-NOD (domain test)", _cdnod_domain, ("causallearn",)),
        GraphMethod("notears", "NOTEARS-MLP", _notears),
        GraphMethod("dagma", "DAGMA", _dagma, ("dagma", "torch")),
    )
}
