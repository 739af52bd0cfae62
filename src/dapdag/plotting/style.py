"""What the pictures share: colours, fresh axes, labels kept apart."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import isotonic_regression

# Okabe and Ito's palette, distinguishable with any common colour blindness.
BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#AA4499",
    "#56B4E9",
)
INK, GREY, PALE = "#22303C", "#8A939B", "#EEF1F4"

# Two-sided 95 % of a normal distribution.
Z95 = 1.96


def axes(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """The given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    # Importing pyplot looks for a display, which only a new figure needs.
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def tidy(
    ax: Axes, title: str, xlabel: str, ylabel: str, grid: Literal["both", "x"] = "both"
) -> None:
    """Title and labels, light grid, no box."""
    ax.set_title(title, loc="left", fontsize="medium", color=INK)
    ax.set_xlabel(xlabel, color=INK)
    ax.set_ylabel(ylabel, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor=INK)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=PALE, linewidth=0.8)


def spread(
    wanted: ArrayLike,
    sizes: ArrayLike,
    gap: float | ArrayLike = 0.0,
    weights: ArrayLike | None = None,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> NDArray[np.float64]:
    """Positions closest to `wanted`, in its order, at which items of these sizes do not touch.

    Least squares under ``y[k+1] - y[k] >= distance[k]`` is isotonic regression once the
    distances are taken out. Centres stay `within` an interval, which must be long enough.
    """
    wanted, sizes = np.asarray(wanted, dtype=float), np.asarray(sizes, dtype=float)
    distances = (sizes[1:] + sizes[:-1]) / 2 + gap
    offsets = np.concatenate([[0.0], np.cumsum(distances)])[: len(wanted)]
    if len(wanted) < 2:
        return wanted
    return offsets + isotonic_regression(
        wanted - offsets, sample_weight=weights, y_min=within[0], y_max=within[1] - offsets[-1]
    )


def legend_below(ax: Axes, handles: Sequence[Artist]) -> None:
    """A frameless legend under Axes without ticks, where it hides nothing."""
    _legend(ax, handles, "upper center", (0.5, -0.02))


def legend_above(ax: Axes, handles: Sequence[Artist]) -> None:
    """A frameless legend between the Axes and their title."""
    _legend(ax, handles, "lower left", (0.0, 1.0))
    pad = 8 + 15 * (1 if len(handles) <= 3 else 2)
    ax.set_title(ax.get_title("left"), loc="left", pad=pad, fontsize="medium", color=INK)


def _legend(
    ax: Axes,
    handles: Sequence[Artist],
    location: Literal["upper center", "lower left"],
    anchor: tuple[float, float],
) -> None:
    ax.legend(
        handles=handles,
        loc=location,
        bbox_to_anchor=anchor,
        ncols=len(handles) if len(handles) <= 3 else -(-len(handles) // 2),
        frameon=False,
        fontsize="small",
        labelcolor=INK,
        columnspacing=1.4,
        handletextpad=0.5,
        borderaxespad=0.2,
    )
