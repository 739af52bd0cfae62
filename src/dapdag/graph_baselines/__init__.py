"""Graphs of other methods, to compare ours with; `GRAPH_METHODS` has them all."""

from dapdag.graph_baselines.cd_nod import cdnod
from dapdag.graph_baselines.gnies_peer import gnies
from dapdag.graph_baselines.linc_peer import linc
from dapdag.graph_baselines.lingam_peer import direct_lingam
from dapdag.graph_baselines.methods import GRAPH_METHODS, GraphMethod
from dapdag.graph_baselines.order_search import boss, grasp
from dapdag.graph_baselines.sorting import explained_variance, r2_sort_n_regress, sort_n_regress
from dapdag.graph_baselines.ut_igsp_peer import ut_igsp
from dapdag.graph_baselines.within_sites import centred_by_site

__all__ = [
    "GRAPH_METHODS",
    "GraphMethod",
    "boss",
    "cdnod",
    "centred_by_site",
    "dagma_mlp",
    "direct_lingam",
    "explained_variance",
    "gnies",
    "grasp",
    "linc",
    "notears_mlp",
    "r2_sort_n_regress",
    "sort_n_regress",
    "ut_igsp",
]


def __getattr__(name: str) -> object:
    # Imported on first use, because they load JAX or torch.
    if name == "notears_mlp":
        from dapdag.graph_baselines.notears import notears_mlp

        return notears_mlp
    if name == "dagma_mlp":
        from dapdag.graph_baselines.dagma import dagma_mlp

        return dagma_mlp
    raise AttributeError(f"module 'dapdag.graph_baselines' has no attribute {name!r}")
