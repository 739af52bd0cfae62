"""Every plot: on the axes that it is given, or in a figure of its own."""

import matplotlib
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from plotting_helpers import (
    LONG,
    PAPER_EDGES,
    effects_of,
    environments,
    falling,
    loss_history,
    perturbed_graph,
)

from dapdag.plotting import (
    environment_distances,
    plot_calibration,
    plot_coverage,
    plot_distances,
    plot_environment_effects,
    plot_environment_strength,
    plot_environments,
    plot_graph,
    plot_history,
    plot_predictions,
    plot_true_vs_inferred,
)

X = np.linspace(-1, 1, 40)
DRAWINGS = {
    "graph": lambda ax=None: plot_graph(nx.DiGraph(PAPER_EDGES), label="Y", ax=ax),
    "comparison": lambda ax=None: plot_graph(
        nx.DiGraph(PAPER_EDGES), truth=nx.DiGraph([("X1", "X2"), *PAPER_EDGES[2:]]), ax=ax
    ),
    "rows": lambda ax=None: plot_environments(environments(8), environments(2, seed=1), ax=ax),
    "plane": lambda ax=None: plot_environments(environments(8, dims=2), ax=ax),
    "one site": lambda ax=None: plot_environments(
        environments(1), environments(1, prefix=LONG, seed=1), ax=ax
    ),
    "projection": lambda ax=None: plot_environments(
        environments(8, dims=4), environments(1, dims=4, prefix=LONG), ax=ax
    ),
    "coverage": lambda ax=None: plot_coverage(X, 0.9 * X, np.full(40, 0.2), ax=ax),
    "distances": lambda ax=None: plot_distances(
        environment_distances(environments(5), environments(1, prefix=LONG, seed=1)), ax=ax
    ),
    "many distances": lambda ax=None: plot_distances(
        environment_distances(environments(60)), ax=ax
    ),
    "effects": lambda ax=None: plot_environment_effects(
        effects_of(**{f"variable {k} {'x' * k * 3}": k for k in range(20)}), ax=ax
    ),
    "strength": lambda ax=None: plot_environment_strength(
        perturbed_graph(**{LONG: 0.3, "b": 0.2, "Y": 0.0}), ax=ax
    ),
    "true": lambda ax=None: plot_true_vs_inferred(np.arange(8), environments(8), ax=ax),
    "predictions": lambda ax=None: plot_predictions(X, 0.9 * X, np.full(40, 0.2), ax=ax),
    "calibration": lambda ax=None: plot_calibration(X > 0, (X + 1) / 2, ax=ax),
    "history": lambda ax=None: plot_history(loss_history(label=falling(2, 1)), ax=ax),
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_draws_on_the_given_axes_without_touching_settings(draw):
    _, ax = plt.subplots()
    before = dict(matplotlib.rcParams)
    assert draw(ax=ax) is ax
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == [ax.figure.number]


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_makes_a_figure_of_its_own_in_which_nothing_is_cut_off(draw):
    ax = draw()
    figure = ax.figure
    figure.canvas.draw()
    inside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert inside.x0 > -0.02
    assert inside.y0 > -0.02
    assert inside.x1 < width + 0.02
    assert inside.y1 < height + 0.02
