"""Pictures of graphs, environments, predictions and training.

Every function takes ``ax=None`` and returns the Axes; none changes matplotlib's settings.
"""

from dapdag.plotting.calibration import plot_calibration, plot_coverage
from dapdag.plotting.decision import plot_calibration_curve, plot_decision_curve
from dapdag.plotting.distances import environment_distances, plot_distances
from dapdag.plotting.effects import plot_environment_effects, plot_environment_strength
from dapdag.plotting.environments import plot_environments, plot_true_vs_inferred
from dapdag.plotting.forest import plot_forest
from dapdag.plotting.graphs import plot_graph
from dapdag.plotting.history import plot_history
from dapdag.plotting.predictions import plot_predictions
from dapdag.plotting.selection import plot_selection
from dapdag.plotting.sites import plot_site_difference, plot_track

__all__ = [
    "environment_distances",
    "plot_calibration",
    "plot_calibration_curve",
    "plot_coverage",
    "plot_decision_curve",
    "plot_distances",
    "plot_environment_effects",
    "plot_environment_strength",
    "plot_environments",
    "plot_forest",
    "plot_graph",
    "plot_history",
    "plot_predictions",
    "plot_selection",
    "plot_site_difference",
    "plot_track",
    "plot_true_vs_inferred",
]
