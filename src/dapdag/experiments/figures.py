"""What the figures share: one look per method, error bars, legends that hide nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..evaluate.metrics import lower_is_better, metric_title
from ..plotting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION, tidy
from .methods import title
from .statements import per_seed

# Colour, marker and line of a method are the same in all figures.
_LOOKS: dict[str, tuple[str, str, str]] = {
    "dapdag-b": (BLUE, "o", "-"),
    "dapdag": (SKY, "s", "-"),
    "dapdag-b-paper": (BLUE, "o", ":"),
    "dapdag-paper": (SKY, "s", ":"),
    "castle": (GREEN, "^", "--"),
    "brm": (VERMILLION, "D", "--"),
    "mdan": (ORANGE, "v", "-."),
    "mdan-hard": (ORANGE, "<", ":"),
    "mlp": (GREY, "P", "--"),
    "missforest": (PURPLE, "X", "-."),
    "dainfer": (PURPLE, "d", ":"),
    "oracle": (INK, "", ":"),
}
_OTHERS = ("#6C8EAD", "#A68A64", "#7A9E7E", "#B56576", "#8E7DBE", "#5F7470", "#C9A227")
_MARKERS = "hp*8>1x"


def look(method: str, among: Sequence[str] = ()) -> dict[str, Any]:
    """Colour, marker and line style of a method."""
    if method in _LOOKS:
        colour, marker, line = _LOOKS[method]
    else:
        others = [m for m in dict.fromkeys(among) if m not in _LOOKS]
        k = others.index(method) if method in others else 0
        colour, marker, line = _OTHERS[k % len(_OTHERS)], _MARKERS[k % len(_MARKERS)], ":"
    found = {"color": colour, "marker": marker, "linestyle": line}
    if method.endswith("-paper"):  # the same method in the paper's form
        found["markerfacecolor"] = "white"
    return found


def new_figure(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """A figure of that many panels, each of this size in inches; it needs no display."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def axis_title(metric: str) -> str:
    """A metric's name and which way is better."""
    return f"{metric_title(metric)} ({'lower' if lower_is_better(metric) else 'higher'} is better)"


def means_over(
    ax: Axes,
    rows: pd.DataFrame,
    metric: str,
    column: str,
    methods: Sequence[str] | None = None,
    name_of: Callable[[str], str] = title,
    look_of: Callable[[str], str] = lambda method: method,
) -> None:
    """Means of every method over `column`, side by side, with a line through three or more.

    The bars are standard errors of the differences to the mean of all methods on the same seed:
    what makes a seed hard for all of them does not count.
    """
    part = rows[rows["metric"] == metric]
    names = list(dict.fromkeys(part["method"])) if methods is None else list(methods)
    ticks = sorted(part[column].unique())
    values = pd.DataFrame({m: per_seed(part, metric, m, by=[column]) for m in names})
    errors = _within_seeds(values)
    for k, method in enumerate(names):
        mean = values[method].dropna().groupby(level=0).mean()
        shift = 0.0 if method == "oracle" else 0.4 * ((k + 0.5) / len(names) - 0.5)
        style = look(look_of(method), names)
        # A line through two points would suggest more than is known.
        if len(ticks) < 3 and method != "oracle":
            style = style | {"linestyle": "none"}
        ax.errorbar(
            [ticks.index(v) + shift for v in mean.index],
            mean,
            yerr=errors[method].reindex(mean.index),
            label=name_of(method),
            markersize=4.5,
            linewidth=2.0 if method == "dapdag-b" else 1.2,
            capsize=2,
            zorder=3 if method.startswith("dapdag") else 2,
            **style,
        )
    ax.set_xticks(range(len(ticks)), [str(t) for t in ticks])


def _within_seeds(values: pd.DataFrame) -> pd.DataFrame:
    """Standard errors of values whose rows are settings and seeds and whose columns are methods."""
    if values.shape[1] > 1:
        values = values.sub(values.mean(axis=1), axis=0)
    return values.groupby(level=0).sem().fillna(0.0)


def shared_legend(figure: Figure, axes: Any, n_columns: int = 6) -> None:
    """One legend under all panels, with every label once."""
    found: dict[str, Any] = {}
    for ax in np.ravel(axes):
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=min(n_columns, max(1, len(found))),
        frameon=False,
        fontsize="small",
        labelcolor=INK,
    )


__all__ = ["axis_title", "look", "means_over", "new_figure", "shared_legend", "tidy"]
