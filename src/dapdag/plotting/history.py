"""Terms of the loss during training."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dapdag.plotting import style

COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
# A linear axis shows two orders of magnitude well, a logarithmic one five.
LINEAR_RANGE, LOG_RANGE = 1e2, 1e5
NAME_HEIGHT = 11.0


def plot_history(history: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Every loss term over the epochs, named at the end of its line.

    Parameters
    ----------
    history : DataFrame
        Column ``epoch`` (or else the index) and one numeric column per term. ``total`` and ``loss``
        are drawn in black.
    ax : Axes, optional
        The vertical axis becomes logarithmic when no term is negative and they span more than two
        orders of magnitude, of which it shows five; it becomes symmetric-logarithmic when some are
        negative and the largest dwarfs the others.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    epochs = history["epoch"] if "epoch" in history else history.index.to_series()
    numbers = history.drop(columns="epoch", errors="ignore").select_dtypes("number")
    terms = numbers.dropna(axis="columns", how="all").astype(float)
    if terms.empty:
        raise ValueError(f"history holds no numeric loss terms; columns {list(history.columns)}.")
    ax = style.axes(ax, (7.2, 4.2))
    looks = _looks([str(term) for term in terms])
    for term in terms:
        known = terms[term].notna().to_numpy()
        look = looks[str(term)] | {"marker": "o" if known.sum() < 2 else "", "markersize": 4}
        ax.plot(epochs[known], terms[term][known], **look)
    ax.margins(x=0)
    _set_scale(ax, terms.to_numpy())
    style.tidy(ax, "Loss terms during training", "epoch", "value")
    _name_lines(ax, terms, looks)
    return ax


def _looks(terms: list[str]) -> dict[str, dict[str, Any]]:
    looks = {}
    plain = [term for term in terms if term not in ("total", "loss")]
    for term in terms:
        if term in plain:
            rank, round_ = plain.index(term) % len(COLORS), plain.index(term) // len(COLORS)
            dashes = DASHES[round_ % len(DASHES)]
            looks[term] = {"color": COLORS[rank], "linestyle": dashes, "linewidth": 1.5}
        else:
            looks[term] = {"color": style.INK, "linestyle": "-", "linewidth": 2.2}
    return looks


def _set_scale(ax: Axes, values: NDArray[np.float64]) -> None:
    finite = values[np.isfinite(values)]
    sizes = np.abs(finite[finite != 0])
    if not len(sizes):
        return
    largest = sizes.max()
    # Terms that end at zero may miss it by a rounding error.
    if (finite > -1e-6 * largest).all():
        if largest > LINEAR_RANGE * np.quantile(sizes, 0.02):
            ax.set_yscale("log")
            # A term that tends to zero would compress the scale of all others.
            ax.set_ylim(bottom=max(sizes.min(), largest / LOG_RANGE) / 1.5)
    elif largest > LINEAR_RANGE * np.median(sizes):
        ax.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(np.median(sizes))))


def _name_lines(ax: Axes, terms: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    """Names to the right of the Axes, each as close to its line's end as the others allow."""
    # Fixed from here on: the names stand at heights that belong to these limits.
    ax.set_ylim(ax.get_ylim())
    ends = np.clip(_heights(ax, terms.ffill().iloc[-1].to_numpy()), 0, 1)
    order = np.argsort(ends, kind="stable")
    figure = ax.get_figure(root=True)
    assert figure is not None
    room = ax.get_window_extent().height * 72 / figure.dpi
    height = min(NAME_HEIGHT / room, 1 / len(order))
    placed = style.spread(ends[order], np.full(len(order), height), within=(0, 1))
    for k, y in zip(order, placed, strict=True):
        term = str(terms.columns[k])
        look = looks[term]
        ax.annotate(
            term,
            xy=(1.0, float(ends[k])),
            xytext=(1.05, float(y)),
            xycoords="axes fraction",
            va="center",
            fontsize="small",
            color=look["color"],
            arrowprops={
                "arrowstyle": "-",
                "color": look["color"],
                "linewidth": 0.8,
                "linestyle": look["linestyle"],
                "shrinkA": 0,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )


def _heights(ax: Axes, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values as shares of the Axes' height; a value off a logarithmic axis lies at its foot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        pixels = ax.transData.transform(np.column_stack([np.zeros(len(values)), values]))
    return np.nan_to_num(ax.transAxes.inverted().transform(pixels)[:, 1])
