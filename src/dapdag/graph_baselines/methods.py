"""The graph study's methods behind one signature."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import networkx as nx

from dapdag.graph import empty_graph
from dapdag.graph_baselines.cd_nod import cdnod
from dapdag.graph_baselines.gnies_peer import gnies
from dapdag.graph_baselines.linc_peer import linc
from dapdag.graph_baselines.lingam_peer import direct_lingam
from dapdag.graph_baselines.order_search import boss, grasp
from dapdag.graph_baselines.sorting import r2_sort_n_regress
from dapdag.graph_baselines.tables import column_names
from dapdag.graph_baselines.ut_igsp_peer import ut_igsp
from dapdag.graph_baselines.within_sites import centred_by_site


@dataclass(frozen=True)
class GraphMethod:
    """A way to learn a graph.

    ``learn(X, sample_domain, random_state)`` takes a table of finite numbers, the label among its
    columns, and returns a DAG named after them. `packages` are those that it imports beyond
    dapdag's own, and `extra` is what installs them.

    Attributes
    ----------
    name : str
        Name in `GRAPH_METHODS`.
    title : str
        Name in tables and figures.
    learn : callable
        Takes table, sites and seed.
    packages : tuple of str
        Packages that it imports beyond dapdag's own.
    extra : str
        Extra of dapdag that installs its packages.
    """

    name: str
    title: str
    learn: Callable[[Any, Any, int], nx.DiGraph]
    packages: tuple[str, ...] = ()
    extra: str = "peers"

    @property
    def available(self) -> bool:
        """Whether its packages are installed."""
        return all(find_spec(package) is not None for package in self.packages)

    @property
    def how_to_install(self) -> str:
        """What to tell a user who does not have its packages."""
        return f"{self.title} is not installed: pip install 'dapdag[{self.extra}]'"


def _empty(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return empty_graph(column_names(X, X.shape[1]))


def _sorted(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return r2_sort_n_regress(X)


def _sorted_within(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return r2_sort_n_regress(centred_by_site(X, sample_domain))


def _boss(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return boss(X, random_state=random_state)


def _boss_within(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return boss(X, sample_domain, random_state=random_state)


def _grasp_within(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return grasp(X, sample_domain, random_state=random_state)


def _cdnod(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return cdnod(X, sample_domain)


def _cdnod_domain(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    # The likelihood ratio finds far smaller changes than Fisher's z, hence the stricter level.
    return cdnod(X, sample_domain, test="domain", alpha=0.001, max_condition=3)


def _ut_igsp(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return ut_igsp(X, sample_domain, random_state=random_state)


def _gnies(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return gnies(X, sample_domain)


def _lingam(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return direct_lingam(X, sample_domain, random_state=random_state)


def _linc(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    return linc(X, sample_domain)


def _notears(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    from dapdag.graph_baselines.notears import notears_mlp

    return notears_mlp(X, random_state=random_state)


def _dagma(X: Any, sample_domain: Any, random_state: int) -> nx.DiGraph:
    from dapdag.graph_baselines.dagma import dagma_mlp

    return dagma_mlp(X, random_state=random_state)


_CAUSAL_LEARN = ("causallearn",)
_CAUSALDAG = ("graphical_model_learning", "conditional_independence")

GRAPH_METHODS = {
    method.name: method
    for method in (
        GraphMethod("empty", "empty graph", _empty),
        GraphMethod("r2-sort", "R²-SortnRegress", _sorted),
        GraphMethod("r2-sort-within", "R²-SortnRegress (centred by site)", _sorted_within),
        GraphMethod("boss", "BOSS", _boss, _CAUSAL_LEARN, "bench"),
        GraphMethod("boss-within", "BOSS (centred by site)", _boss_within, _CAUSAL_LEARN, "bench"),
        GraphMethod(
            "grasp-within", "GRaSP (centred by site)", _grasp_within, _CAUSAL_LEARN, "bench"
        ),
        GraphMethod("cdnod", "CD-NOD (Fisher z)", _cdnod, _CAUSAL_LEARN, "bench"),
        GraphMethod("cdnod-domain", "CD-NOD (domain test)", _cdnod_domain, _CAUSAL_LEARN, "bench"),
        GraphMethod("ut-igsp", "UT-IGSP", _ut_igsp, _CAUSALDAG),
        GraphMethod("gnies", "GnIES", _gnies, ("gnies",)),
        GraphMethod("lingam", "DirectLiNGAM (groups)", _lingam, ("lingam",)),
        GraphMethod("linc", "LINC", _linc, ("causalchange",)),
        GraphMethod("notears", "NOTEARS-MLP", _notears),
        GraphMethod("dagma", "DAGMA", _dagma, ("dagma", "torch")),
    )
}
