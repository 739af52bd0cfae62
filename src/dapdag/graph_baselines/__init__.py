"""Graphs of other methods, to compare ours with; `GRAPH_METHODS` has them all."""

from dapdag.graph_baselines.cd_nod import cdnod
from dapdag.graph_baselines.methods import GRAPH_METHODS, GraphMethod
from dapdag.graph_baselines.sorting import explained_variance, r2_sort_n_regress, sort_n_regress

__all__ = [
    "GRAPH_METHODS",
    "GraphMethod",
    "cdnod",
    "dagma_mlp",
    "explained_variance",
    "notears_mlp",
    "r2_sort_n_regress",
    "sort_n_regress",
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
