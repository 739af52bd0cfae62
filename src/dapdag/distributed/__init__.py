"""Past one table and one machine: summaries that sites exchange in place of rows, and Dask.

A site enters the posterior of its E through sums over its rows (see `model.encoder`), so that parts
of a site can be summarised where they are, and summaries add up to that of the whole site.
"""

from .noise import DELTA
from .partitions import environment, graph_statistics, impute, predict
from .site import adapt, describe
from .summary import FEWEST_ROWS, SiteSummary, is_summary, read_summary, summarise

__all__ = [
    "DELTA",
    "FEWEST_ROWS",
    "SiteSummary",
    "adapt",
    "describe",
    "environment",
    "graph_statistics",
    "impute",
    "is_summary",
    "predict",
    "read_summary",
    "summarise",
]
