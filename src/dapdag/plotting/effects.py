"""Effects of the environment on each variable."""

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dapdag.effects import EnvironmentEffects
from dapdag.plotting import style
from dapdag.plotting.labels import shortened

N_LARGEST = 20
ROW_HEIGHT = 0.34  # inches
# The strongest effect takes this share of its row; weak ones are not blown up beyond half a
# standard deviation.
FILLED, SMALLEST_SCALE = 0.84, 0.5


def plot_environment_effects(
    effects: EnvironmentEffects, ax: Axes | None = None, n_largest: int = N_LARGEST
) -> Axes:
    """Expected value of each variable as E moves over the sources' range, one row per variable.

    All rows share one scale, in standard deviations of the variable among the sources; dashes mark
    the value in the middle of the range. At the right stand the values at both ends, in the units
    of the table, and the change between them in standard deviations.

    Parameters
    ----------
    effects : EnvironmentEffects
        What `dapdag.effects.environment_effects` found.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.
    n_largest : int, default=20
        How many variables to show, from the most to the least affected.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    reach = effects.reach.fillna(0.0).sort_values(ascending=False, kind="stable")
    shown = list(reach.index[:n_largest])
    ax = style.axes(ax, (6.6, 1.2 + ROW_HEIGHT * len(shown)))
    env = effects.values.index.to_numpy(dtype=float)
    moves = effects.standardised[shown].fillna(0.0).to_numpy()
    unit = max(float(np.ptp(moves, axis=0).max(initial=0.0)), SMALLEST_SCALE)
    for row in range(len(shown)):
        line = moves[:, row] * FILLED / unit
        # Centred in its row, so that a one-sided effect does not run into the next one.
        base = row + (line.max() + line.min()) / 2
        ax.axhline(base, color=style.GREY, linewidth=0.7, linestyle=(0, (2, 3)), zorder=0)
        ax.plot(env, base - line, color=style.BLUE, linewidth=2, solid_capstyle="butt")
    left_out = len(reach) - len(shown)
    more = f" ({left_out} less affected not shown)" if left_out else ""
    title = f"Direct effect of E on each variable{more}"
    style.tidy(ax, title, str(effects.values.index.name or "E"), "", grid="x")
    _name_rows(ax, shown)
    _write_ends(ax, effects.values[shown], moves[-1] - moves[0])
    ax.xaxis.set_major_locator(MaxNLocator(5))
    if np.ptp(env) > 0:
        ax.set_xlim(env[0], env[-1])
    return ax


def _name_rows(ax: Axes, names: list) -> None:
    ax.set_yticks(range(len(names)), [shortened(str(name)) for name in names])
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.tick_params(axis="y", length=0, labelsize="small")
    ax.spines["left"].set_visible(False)
    ax.set_ylim(len(names) - 0.4, -0.6)


def _write_ends(ax: Axes, values: pd.DataFrame, change: NDArray[np.float64]) -> None:
    for row, name in enumerate(values):
        first, last = values[name].iloc[[0, -1]]
        ax.annotate(
            f"{_number(first)} → {_number(last)}   {_signed(change[row])} sd",
            (1.0, row),
            xytext=(8, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=style.INK,
            annotation_clip=False,
        )


def _number(value: float) -> str:
    return _minus(f"{value:.3g}")


def _signed(value: float) -> str:
    return _minus(f"{value:+.1f}") if abs(value) >= 0.05 else "0"


def _minus(text: str) -> str:
    return text.replace("-", "−")


def plot_environment_strength(
    graph: nx.DiGraph, ax: Axes | None = None, n_largest: int = N_LARGEST
) -> Axes:
    """How strongly E acts on each variable, as bars from the strongest to the weakest.

    Parameters
    ----------
    graph : networkx.DiGraph
        ``graph_`` of a fitted estimator: its nodes have the attribute ``"environment"``; the one
        with ``"label"`` is drawn in the label's colour.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.
    n_largest : int, default=20
        How many variables to show.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    acts = {node: float(d) for node, d in graph.nodes(data="environment") if d is not None}
    if not acts:
        raise ValueError('No node of the graph has the attribute "environment".')
    ranked = sorted(acts, key=lambda node: -acts[node])[:n_largest]
    ax = style.axes(ax, (5.6, 1.1 + 0.26 * len(ranked)))
    colors = [style.GREEN if graph.nodes[node].get("label") else style.PURPLE for node in ranked]
    ax.barh(range(len(ranked)), [acts[node] for node in ranked], 0.62, color=colors)
    left_out = len(acts) - len(ranked)
    more = f" ({left_out} weaker not shown)" if left_out else ""
    title = f"How strongly E acts on each variable{more}"
    style.tidy(ax, title, "standard deviations of the variable per unit of E", "", grid="x")
    _name_rows(ax, ranked)
    ax.set_xlim(left=0)
    if not any(acts.values()):
        ax.set_xlim(0, 1)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    return ax
