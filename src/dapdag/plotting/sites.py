"""A site over time, and why it differs from another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dapdag.plotting import style
from dapdag.plotting.labels import shortened

if TYPE_CHECKING:
    from dapdag.explain import SiteDifference, Track

ROW_HEIGHT = 0.4  # inches


def plot_track(
    found: Track, sources: pd.DataFrame | None = None, dimension: int = 1, ax: Axes | None = None
) -> Axes:
    """One dimension of E by period, with 95 % intervals.

    Parameters
    ----------
    found : Track
        What `dapdag.explain.track` found.
    sources : DataFrame, optional
        `source_environments_` of the model, whose range is shaded.
    dimension : int, default=1
        Dimension of E, 1 for the first.
    ax : matplotlib Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    periods = found.periods
    name = f"E{dimension}"
    if f"{name}_mean" not in periods:
        raise ValueError(f"there is no dimension {dimension} of E")
    ax = style.axes(ax, (6.6, 3.2))
    at = np.arange(len(periods))
    if sources is not None:
        low, high = sources[f"{name}_mean"].min(), sources[f"{name}_mean"].max()
        ax.axhspan(low, high, color=style.PALE, zorder=0)
        ax.text(at[-1] + 0.45, high, "sources", ha="right", va="top", color=style.GREY)
    mean = periods[f"{name}_mean"].to_numpy()
    half = style.Z95 * periods[f"{name}_sd"].to_numpy()
    ax.errorbar(at, mean, half, fmt="o-", color=style.BLUE, ecolor=style.BLUE, capsize=2)
    shown = at[:: max(1, -(-len(at) // 8))]
    ax.set_xticks(shown, [str(periods.index[k]) for k in shown])
    ax.set_xlim(-0.5, len(at) - 0.5)
    verdict = "moved" if found.moved else "no sign of a move"
    style.tidy(ax, f"The site over time: {verdict}, p = {found.p_value:.2g}", "period", name)
    return ax


def plot_site_difference(found: SiteDifference, ax: Axes | None = None) -> Axes:
    """What each part brings to the difference of two sites, with 95 % intervals of sampling.

    Parameters
    ----------
    found : SiteDifference
        What `dapdag.explain.site_difference` returned.
    ax : matplotlib Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    parts = found.parts.iloc[::-1]
    ax = style.axes(ax, (6.6, 1.2 + ROW_HEIGHT * len(parts)))
    at, value = np.arange(len(parts)), parts["contribution"].to_numpy()
    colours = np.where(value >= 0, style.BLUE, style.VERMILLION)
    ax.barh(at, value, height=0.6, color=colours)
    half = style.Z95 * parts["sd"].to_numpy()
    ax.errorbar(value, at, xerr=half, fmt="none", ecolor=style.INK, capsize=2, linewidth=1)
    ax.axvline(0, color=style.GREY, linewidth=0.8)
    ax.set_yticks(at, [shortened(str(name), 28) for name in parts.index])
    what = str(found.label) if found.of is None else f"share of {found.of}"
    title = f"{what}: {found.reference:.3g} at the reference, {found.site:.3g} at the site"
    style.tidy(ax, title, f"contribution to the difference of {found.difference:+.3g}", "", "x")
    return ax
