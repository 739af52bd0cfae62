"""Draw the two pictures of the manual's page on the graph search.

    python docs/figures/make_graph_search.py

takes half a minute and writes them beside it.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dapdag import GraphSearch
from dapdag._runtime.files import atomic_write
from dapdag.datasets import make_regression_domains
from dapdag.plotting import plot_graph
from dapdag.plotting.style import BLUE, GREEN, ORANGE, VERMILLION, tidy

HERE = Path(__file__).parent
COLOURS = (BLUE, GREEN, ORANGE, VERMILLION)


def save(figure: plt.Figure, name: str) -> None:
    with atomic_write(HERE / f"{name}.svg") as path:
        figure.savefig(path, metadata={"Date": None}, facecolor="white", bbox_inches="tight")
    plt.close(figure)


def two_directions() -> None:
    """A mechanism that all sites share, and the same pair regressed the other way round."""
    rng = np.random.default_rng(1)
    figure, axes = plt.subplots(1, 2, figsize=(8.2, 3.2))
    for k, colour in enumerate(COLOURS):
        cause = rng.normal(1.6 * k - 2.4, 0.8, 250)
        effect = np.tanh(cause) + 0.35 * rng.normal(size=250)
        for ax, (x, y) in zip(axes, ((cause, effect), (effect, cause)), strict=True):
            ax.scatter(x, y, s=5, alpha=0.35, color=colour, linewidths=0, label=f"site {k + 1}")
            grid = np.linspace(*np.quantile(x, [0.02, 0.98]), 50)
            ax.plot(grid, np.polyval(np.polyfit(x, y, 3), grid), color=colour, lw=2)
    tidy(axes[0], "effect given cause: one curve for all sites", "cause", "effect")
    tidy(axes[1], "cause given effect: one curve per site", "effect", "cause")
    figure.tight_layout()
    save(figure, "graph-search-directions")


def example() -> None:
    data = make_regression_domains(
        n_domains=9, n_samples=300, noise=0.5, variant="author", random_state=3
    )
    search = GraphSearch().fit(data.X.assign(Y=data.y), sample_domain=data.sample_domain)
    save(plot_graph(search.graph_, truth=data.graph, label="Y").figure, "graph-search-example")


if __name__ == "__main__":
    two_directions()
    example()
