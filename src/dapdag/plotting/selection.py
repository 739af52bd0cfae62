"""Candidates compared over left-out sites, with the one-standard-error rule."""

import numpy as np
from matplotlib.axes import Axes

from dapdag.evaluate.metrics import lower_is_better, metric_title
from dapdag.evaluate.selection import Selection
from dapdag.plotting import style


def plot_selection(selection: Selection, ax: Axes | None = None) -> Axes:
    """Mean of each candidate over left-out sites, with one standard error to either side.

    Pale dots are sites. The dashed line is one standard error from the best mean; the chosen
    candidate, the first that reaches it, is the large mark.

    Parameters
    ----------
    selection : Selection
        What `dapdag.evaluate.select` returned.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    table, scores = selection.table, selection.scores
    ax = style.axes(ax, (1.8 + 1.1 * len(table), 4.2))
    places = np.arange(len(table))
    for place, name in zip(places, table.index, strict=True):
        values = scores[name].to_numpy(dtype=float)
        ax.plot(
            np.full(len(values), place), values, "o", color=style.GREY, alpha=0.35, markersize=4
        )
    colours = [style.VERMILLION if chosen else style.BLUE for chosen in table["chosen"]]
    for place, (_, row), colour in zip(places, table.iterrows(), colours, strict=True):
        ax.errorbar(
            place,
            row["mean"],
            row["standard_error"],
            fmt="o",
            color=colour,
            markersize=9 if row["chosen"] else 6,
            capsize=3,
            zorder=3,
        )
    ax.axhline(selection.limit, color=style.INK, linewidth=1, linestyle="--")
    ax.set_xticks(places, list(map(str, table.index)))
    aim = "low is good" if lower_is_better(selection.metric) else "high is good"
    title = f"Chosen: {selection.chosen}; best mean: {selection.best}"
    style.tidy(ax, title, "simple → complex", f"{metric_title(selection.metric)} ({aim})")
    return ax
