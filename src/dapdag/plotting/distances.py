"""Distances between domains."""

from collections.abc import Collection, Hashable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from dapdag.plotting import style
from dapdag.plotting.labels import shortened

NEAR_TO_FAR = LinearSegmentedColormap.from_list("dapdag", ["#F7FBFD", "#7FB8DA", "#00476F"])
# Share of the picture's height that the tree takes.
TREE = 0.2
MAX_NUMBERS, MAX_NAMES = 14, 50
MAX_LENGTH_BELOW = 12
LETTER = 0.085  # inches


def environment_distances(
    sources: pd.DataFrame, targets: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Wasserstein distance between the posteriors of E of every two domains.

    Parameters
    ----------
    sources : DataFrame indexed by domain
        Columns ``E1_mean, E1_sd, …`` as `source_environments_` and `environment` give them.
    targets : DataFrame indexed by domain, optional
        Columns ``E1_mean, E1_sd, …`` as `source_environments_` and `environment` give them.

    Returns
    -------
    DataFrame, square
        Domains in rows and columns.
    """
    table = sources if targets is None else pd.concat([sources, targets[sources.columns]])
    numbers = table[[c for c in sources if str(c).startswith("E")]].to_numpy(dtype=float)
    # Between normal distributions with diagonal covariances: means and deviations, side by side.
    distance = np.sqrt(((numbers[:, None] - numbers) ** 2).sum(-1))
    return pd.DataFrame(distance, index=table.index, columns=table.index)


def plot_distances(
    distances: pd.DataFrame, ax: Axes | None = None, targets: Collection[Hashable] = ()
) -> Axes:
    """Heat map of the distances between domains, similar ones side by side, and their tree.

    Parameters
    ----------
    distances : DataFrame, square
        Any distance, for example from `environment_distances`; the same domains in rows and
        columns.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.
    targets : sequence, default=()
        Domains whose names are set in green, as on the map of environments.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    matrix = _checked(distances)
    n = len(matrix)
    tree = hierarchy.linkage(squareform(matrix, checks=False), "average", True) if n > 1 else None
    order = np.arange(n) if tree is None else hierarchy.leaves_list(tree)
    longest = max(len(shortened(str(domain))) for domain in distances.index)
    side = float(np.clip(0.8 + 0.42 * n, 2.0, 10.0))
    below = LETTER * min(longest, MAX_LENGTH_BELOW)
    ax = style.axes(ax, (side + LETTER * longest + 0.4, side * (1 + TREE) + below + 0.6))
    top = float(matrix.max()) or 1.0
    ax.imshow(
        matrix[np.ix_(order, order)], cmap=NEAR_TO_FAR, vmin=0, vmax=top, interpolation="nearest"
    )
    if n <= MAX_NUMBERS:
        _write_numbers(ax, matrix[np.ix_(order, order)], top)
    if tree is not None:
        _draw_tree(ax, tree, n)
    _name_domains(ax, distances.index[order].tolist(), set(targets))
    ax.spines[:].set_visible(False)
    ax.set_title("Distance of the domains", loc="left", fontsize="medium", color=style.INK)
    return ax


def _checked(distances: pd.DataFrame) -> NDArray[np.float64]:
    if list(distances.index) != list(distances.columns) or not len(distances):
        raise ValueError(
            "distances needs the same domains in rows and columns, got rows "
            f"{list(distances.index)[:5]} and columns {list(distances.columns)[:5]}."
        )
    matrix = distances.to_numpy(dtype=float)
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ValueError("distances must be finite and not negative.")
    if not np.allclose(matrix, matrix.T) or np.diag(matrix).any():
        raise ValueError("distances must be symmetric, and 0 from each domain to itself.")
    return matrix


def _write_numbers(ax: Axes, matrix: NDArray[np.float64], top: float) -> None:
    for row, column in np.ndindex(*matrix.shape):
        if row != column:
            dark = matrix[row, column] > 0.55 * top
            ax.text(
                *(column, row, f"{matrix[row, column]:.2g}"),
                ha="center",
                va="center",
                fontsize="x-small",
                color="white" if dark else style.INK,
            )


def _draw_tree(ax: Axes, tree: NDArray[np.float64], n: int) -> None:
    """Above the cells: branches join where their clusters' mean distance is the height."""
    drawn = hierarchy.dendrogram(tree, no_plot=True)
    height = max(TREE * n, 0.5)
    highest = max(tree[:, 2].max(), 1e-12)
    for across, up in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        x = (np.array(across) - 5) / 10
        y = -0.6 - height * np.array(up) / highest
        ax.plot(x, y, color=style.GREY, linewidth=1.2, solid_joinstyle="round")
    ax.set_ylim(n - 0.5, -0.7 - height)


def _name_domains(ax: Axes, domains: list[Hashable], targets: set[Hashable]) -> None:
    step = -(-len(domains) // MAX_NAMES)
    shown = [k for k in range(len(domains)) if k % step == 0 or domains[k] in targets]
    names = [str(domains[k]) for k in shown]
    # The rows have the same names in full, so that those of the columns may be short.
    below = [shortened(name, MAX_LENGTH_BELOW) for name in names]
    ax.set_xticks(shown, below, rotation=90 if max(map(len, below)) > 3 else 0)
    ax.set_yticks(shown, [shortened(name) for name in names])
    ax.tick_params(length=0, labelsize="small", labelcolor=style.INK)
    for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
        for tick, k in zip(ticks, shown, strict=True):
            tick.set_color(style.GREEN if domains[k] in targets else style.INK)
            tick.set_parse_math(False)
