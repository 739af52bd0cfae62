"""Pictures of graphs, environments, predictions and training.

Every function takes ``ax=None`` and returns the Axes; none changes matplotlib's settings.
"""

from dapdag.plotting.environments import plot_environments, plot_true_vs_inferred
from dapdag.plotting.graphs import plot_graph
from dapdag.plotting.history import plot_history
from dapdag.plotting.predictions import plot_calibration, plot_predictions

__all__ = [
    "plot_calibration",
    "plot_environments",
    "plot_graph",
    "plot_history",
    "plot_predictions",
    "plot_true_vs_inferred",
]
