"""The demonstration in one picture: who predicts the new site how well, and what stands behind it.

Blue is dapdag, orange the pooled network, black the oracle; purple is the environment E.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import plotting
from ..evaluate.metrics import short_title
from ..evaluate.prediction import COVERAGE
from ..graph import edge_differences
from ..plotting import style
from .case import Demo

SIDE_BY_SIDE = ("pooled MLP", "dapdag", "oracle")
COLOURS = {
    "dapdag": style.BLUE,
    "pooled MLP": style.ORANGE,
    "gradient boosting": style.GREY,
    "oracle": style.INK,
}
N_BINS = 8


def draw_demo(demo: Demo, figure: Figure) -> None:
    """All panels: scores, predictions of three methods side by side, E, and the graph."""
    grid = figure.add_gridspec(2, 4, height_ratios=[1.0, 1.05])
    draw_scores(demo, figure.add_subplot(grid[0, 0]))
    first = None
    for k, method in enumerate(SIDE_BY_SIDE):
        first = figure.add_subplot(grid[0, k + 1], sharex=first, sharey=first)
        draw_method(demo, method, first)
        if k:
            first.tick_params(labelleft=False)
            first.set_ylabel("")
    draw_environments(demo, figure.add_subplot(grid[1, :2]))
    draw_graph(demo, figure.add_subplot(grid[1, 2:]))
    metric, best = _message(demo)
    figure.suptitle(
        f"Site {demo.site} is new, its labels unseen: {metric} {best['dapdag']:.2f} by dapdag, "
        f"{best['pooled MLP']:.2f} by the pooled network, {best['oracle']:.2f} is possible",
        x=0.01,
        ha="left",
        fontsize="x-large",
        color=style.INK,
    )


def _message(demo: Demo) -> tuple[str, dict[str, float]]:
    metric = str(demo.scores.columns[0])
    values = {str(method): float(v) for method, v in demo.scores[metric].items()}
    return short_title(metric), values


def _sign(metric: str) -> int:
    return 1 if metric == short_title("r2") else -1


def draw_scores(demo: Demo, ax: Axes) -> None:
    """The first score of every method."""
    metric, values = _message(demo)
    names = sorted(values, key=lambda name: values[name] * _sign(metric))
    for k, name in enumerate(names):
        ax.plot([0, values[name]], [k, k], color=COLOURS[name], linewidth=2)
        ax.plot(values[name], k, "o", color=COLOURS[name], markersize=8)
        ax.annotate(
            f"{values[name]:.2f}",
            (values[name], k),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            color=style.INK,
        )
    aim = "higher is better" if _sign(metric) > 0 else "lower is better"
    style.tidy(ax, f"{metric} at the new site", aim, "", grid="x")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(-0.6, len(names) - 0.3)
    ax.set_xlim(min(0.0, *values.values()), max(values.values()) * 1.15)
    ax.set_box_aspect(1)


def draw_method(demo: Demo, method: str, ax: Axes) -> None:
    """Predicted against actual numbers; of classes, observed shares against probabilities."""
    found, actual = demo.predictions[method], demo.split.y_target.to_numpy(dtype=float)
    metric = str(demo.scores.columns[0])
    score = float(demo.scores[metric][method])
    title = f"{method}: {short_title(metric)} {score:.2f}"
    ax.axline((0, 0), slope=1, color=style.GREY, linewidth=1)
    if found.interval is None:
        _shares(found.mean, actual, COLOURS[method], ax)
        style.tidy(ax, title, "predicted probability", "observed share")
        ax.set(xlim=(0, 1), ylim=(0, 1))
        return
    low, high = found.interval.T
    ax.plot(
        actual, found.mean, "o", color=COLOURS[method], alpha=0.45, markersize=4, markeredgewidth=0
    )
    inside = float(np.mean((low <= actual) & (actual <= high)))
    ax.text(
        0.04,
        0.96,
        f"{100 * COVERAGE:.0f} % intervals\nhold {100 * inside:.0f} % of the rows",
        transform=ax.transAxes,
        va="top",
        fontsize="small",
        color=style.INK,
    )
    ends = actual.min(), actual.max()
    margin = 0.06 * (ends[1] - ends[0])
    style.tidy(ax, title, "actual", "predicted")
    ax.set(
        xlim=(ends[0] - margin, ends[1] + margin),
        ylim=(ends[0] - margin, ends[1] + margin),
        box_aspect=1,
    )


def _shares(probability: np.ndarray, happened: np.ndarray, colour: str, ax: Axes) -> None:
    """Observed share in bins of equally many rows."""
    parts = np.array_split(np.argsort(probability, kind="stable"), N_BINS)
    x = [probability[rows].mean() for rows in parts]
    y = [happened[rows].mean() for rows in parts]
    ax.plot(x, y, "o-", color=colour, markersize=6, linewidth=1.2)
    ax.set_box_aspect(1)


def draw_environments(demo: Demo, ax: Axes) -> None:
    """E of every site, with the true one beside it."""
    known, new = demo.model.source_environments_, demo.environment
    sites = [*known.index, *new.index]
    mean = np.array([*known["E1_mean"], *new["E1_mean"]])
    sd = np.array([*known["E1_sd"], *new["E1_sd"]])
    true = np.array([demo.data.env[site] for site in sites], dtype=float)
    slope, offset = np.polyfit(true, mean, 1)
    order = np.argsort(mean)
    for k, s in enumerate(order):
        is_new = sites[s] == demo.site
        ax.plot(
            *([mean[s] - style.Z95 * sd[s], mean[s] + style.Z95 * sd[s]], [k, k]),
            color=style.PURPLE,
            linewidth=1.4,
        )
        ax.plot(
            *(mean[s], k, "D" if is_new else "o"),
            color=style.PURPLE,
            markerfacecolor=style.PURPLE if is_new else "white",
            markersize=9 if is_new else 7,
        )
        ax.plot(offset + slope * true[s], k, "|", color=style.INK, markersize=13)
    names = [f"site {sites[s]}{' (new)' if sites[s] == demo.site else ''}" for s in order]
    correlation = abs(float(np.corrcoef(true, mean)[0, 1]))
    title = f"Environment E, inferred without labels (| true E; correlation {correlation:.2f})"
    style.tidy(ax, title, "E with 95 % interval, in the model's units", "", grid="x")
    ax.set_yticks(range(len(order)), names)
    low, high = known["E1_mean"].min(), known["E1_mean"].max()
    ax.axvspan(low, high, color=style.PALE, zorder=0)


def draw_graph(demo: Demo, ax: Axes) -> None:
    """The graph with the true edges marked, and whether E acts where it is said to."""
    truth = demo.data.graph
    assert truth is not None
    plotting.plot_graph(demo.model.graph_, truth=truth, ax=ax)
    found = edge_differences(demo.model.graph_, truth)
    acts = [str(name) for name, is_true in truth.nodes(data="perturbed") if is_true]
    ax.set_title(
        f"Graph: {len(found.correct)} of {truth.number_of_edges()} edges right; E truly acts on "
        f"{', '.join(acts) or 'none'}",
        loc="left",
        fontsize="medium",
        color=style.INK,
    )
