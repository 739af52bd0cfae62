"""Draw the pictures of the manual: ``python docs/figures/make_figures.py`` writes them beside it.

They are drawings of the idea; the numbers in them are made up here and say nothing about results.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from dapdag._runtime.files import atomic_write
from dapdag.graph import extract_dag

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, VERMILLION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#AA4499"
INK, GREY, PALE = "#22303C", "#8A939B", "#EEF1F4"
LOOK = {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "dapdag",
}
# Five variables of the drawings: places, edges, and those on which E acts.
PLACES = {
    "age": (0.0, 1.0),
    "BP": (1.05, 1.6),
    "stage": (1.05, 0.4),
    "died": (2.1, 1.0),
    "days": (3.15, 1.0),
}
EDGES = [
    ("age", "BP"),
    ("age", "stage"),
    ("BP", "died"),
    ("stage", "died"),
    ("died", "days"),
]
PERTURBED = ("age", "stage", "died")


def save(figure: plt.Figure, name: str) -> None:
    with atomic_write(HERE / f"{name}.svg") as path:
        figure.savefig(path, metadata={"Date": None}, facecolor="white", bbox_inches="tight")
    plt.close(figure)


def bare(ax: Axes, x: tuple[float, float], y: tuple[float, float]) -> Axes:
    ax.set_xlim(*x)
    ax.set_ylim(*y)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def box(
    ax: Axes, x: float, y: float, w: float, h: float, title: str, text: str = "", color: str = PALE
) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x, y), w, h, boxstyle="round,pad=0,rounding_size=0.12", fc=color, ec=GREY, lw=1
        )
    )
    if not text:
        ax.text(x + w / 2, y + h / 2, title, ha="center", va="center", weight="bold")
        return
    ax.text(x + w / 2, y + h - 0.17, title, ha="center", va="top", weight="bold")
    ax.text(x + w / 2, y + h - 0.55, text, ha="center", va="top", fontsize=8.5, linespacing=1.4)


def arrow(ax: Axes, start: tuple, end: tuple, color: str = INK, **kwargs) -> None:
    look = {"arrowstyle": "-|>", "mutation_scale": 12, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    ax.add_patch(FancyArrowPatch(start, end, color=color, **(look | kwargs)))


def draw_graph(ax: Axes, env: float | None = None, size: float = 0.33) -> None:
    """The five variables; those that E acts on in orange, the stronger the larger |E| is."""
    for a, b in EDGES:
        arrow(ax, PLACES[a], PLACES[b], color=GREY, shrinkA=18, shrinkB=19)
    for name, place in PLACES.items():
        hit = name in PERTURBED and env is not None
        color = ORANGE if hit else "white"
        share = min(abs(env), 2) / 2 if hit else 0
        ax.add_patch(Circle(place, size, fc="white", ec=INK, lw=2 if name == "died" else 1))
        if hit:
            ax.add_patch(Circle(place, size, fc=color, alpha=0.15 + 0.6 * share, ec="none"))
        ax.text(*place, name, ha="center", va="center", fontsize=8.5)


def overview() -> None:
    figure, ax = plt.subplots(figsize=(10.4, 3.9))
    bare(ax, (-0.1, 13.1), (-0.15, 4.7))
    for k, (name, color) in enumerate(
        (("site A", BLUE), ("site B", GREEN), ("new site", VERMILLION))
    ):
        y = 3.2 - 1.35 * k
        for row in range(4):
            for column in range(4):
                ax.add_patch(
                    plt.Rectangle(
                        (0.05 + 0.3 * column, y + 0.22 * row), 0.28, 0.2, fc=color, alpha=0.25
                    )
                )
        label = "label known" if k < 2 else "no label"
        ax.text(0.65, y + 1.08, name, ha="center", weight="bold", fontsize=9, color=color)
        ax.text(1.4, y + 0.43, label, fontsize=8, va="center", color=GREY)
    arrow(ax, (2.5, 2.1), (3.05, 2.1))
    box(
        ax, 3.1, 1.1, 2.7, 2.0, "Encoder",
        "posterior of the site's\nE: every row adds\nevidence, in any order\nand number",
    )  # fmt: skip
    arrow(ax, (5.8, 2.1), (6.4, 2.1))
    ax.add_patch(Circle((6.85, 2.1), 0.42, fc=ORANGE, alpha=0.75, ec=INK))
    ax.text(6.85, 2.1, "E", ha="center", va="center", weight="bold", fontsize=13)
    ax.text(6.85, 1.5, "mean and sd,\none per site", ha="center", va="top", fontsize=8, color=GREY)
    arrow(ax, (7.2, 2.35), (7.95, 3.2), color=ORANGE)
    arrow(ax, (7.2, 1.85), (7.95, 1.0), color=ORANGE)
    box(
        ax, 8.0, 2.5, 2.8, 1.75, "Decoder",
        "each variable from its\nparents in one graph\nfor all sites, and E",
    )  # fmt: skip
    box(
        ax, 8.0, 0.05, 2.8, 1.75, "Label networks",
        "the label from all\nfeatures, with and\nwithout E (stacking)",
    )  # fmt: skip
    arrow(ax, (10.8, 3.37), (11.4, 3.37))
    arrow(ax, (10.8, 0.92), (11.4, 0.92))
    ax.text(11.5, 3.37, "graph,\nimputation", va="center", fontsize=9)
    ax.text(11.5, 0.92, "label with its\nuncertainty", va="center", fontsize=9)
    save(figure, "overview")


def perturbed() -> None:
    figure, all_axes = plt.subplots(1, 3, figsize=(11, 2.2), layout="constrained")
    for ax, (name, env) in zip(
        all_axes, (("site A", -1.6), ("site B", 0.3), ("new site", 1.1)), strict=True
    ):
        bare(ax, (-0.4, 3.55), (0.0, 2.0))
        draw_graph(ax, env)
        ax.set_title(f"{name}:  E = {env:.1f}".replace("-", "−"), fontsize=10, color=INK)
    save(figure, "perturbed")


def row_evidence() -> None:
    """Three, twenty and 200 rows: the posterior of E narrows."""
    rng = np.random.default_rng(3)
    grid = np.linspace(-3, 3, 121)
    figure, all_axes = plt.subplots(1, 3, figsize=(9.6, 2.3), sharey=True)
    for ax, n in zip(all_axes, (3, 20, 200), strict=True):
        location = rng.normal(0.7, 1.0, size=n)
        excess = rng.uniform(0.1, 0.6, size=n)
        precision = 1 + excess.sum()
        mean = (excess * location).sum() / precision
        for place in location[:16]:
            density = np.exp(-0.5 * (grid - place) ** 2)
            ax.fill_between(grid, 0.35 * density, color=BLUE, alpha=0.09, lw=0)
        ax.plot(grid, np.exp(-0.5 * grid**2), color=GREY, lw=1, ls="--")
        ax.plot(grid, np.exp(-0.5 * precision * (grid - mean) ** 2), color=ORANGE, lw=2.2)
        ax.set_title(f"{n} rows:  E = {mean:.2f} ± {precision**-0.5:.2f}", fontsize=10, color=INK)
        ax.set_xlabel("E")
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
    figure.tight_layout()
    save(figure, "row-evidence")


def graph_steps() -> None:
    """Strengths with a cycle, the threshold, the repair, the masked filters."""
    names = list(PLACES)
    strength = np.array(
        [
            [0.00, 0.55, 0.62, 0.04, 0.02],
            [0.21, 0.00, 0.05, 0.48, 0.01],
            [0.06, 0.03, 0.00, 0.71, 0.07],
            [0.02, 0.08, 0.05, 0.00, 0.83],
            [0.03, 0.01, 0.14, 0.04, 0.00],
        ]
    )
    dag = extract_dag(strength, 0.1)
    figure, all_axes = plt.subplots(1, 3, figsize=(9.6, 3.1))
    titles = (
        "1  effects",
        "2  below 0.1: dropped",
        f"3  cycles broken: {len(dag.removed)} edges",
    )
    for k, (ax, title) in enumerate(zip(all_axes, titles, strict=True)):
        shown = strength * (1 if k == 0 else strength >= 0.1 if k == 1 else dag.mask)
        ax.imshow(shown, cmap="Blues", vmin=0, vmax=1)
        for i in range(5):
            for j in range(5):
                if i == j:
                    ax.text(j, i, "·", ha="center", va="center", color=GREY)
                elif shown[i, j] > 0:
                    ax.text(
                        j, i, f"{shown[i, j]:.2f}".lstrip("0"), ha="center", va="center",
                        fontsize=8, color="white" if shown[i, j] > 0.5 else INK,
                    )  # fmt: skip
                if k == 2 and (i, j) in dag.removed:
                    ax.text(j, i, "✕", ha="center", va="center", color=VERMILLION)
        ax.set_xticks(range(5), names, rotation=35, ha="right", fontsize=8)
        ax.set_yticks(range(5), names if k == 0 else [], fontsize=8)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.set_title(title, fontsize=10, color=INK)
    all_axes[0].set_ylabel("parent")
    all_axes[1].set_xlabel("child")
    figure.tight_layout()
    save(figure, "graph-steps")


def stacking() -> None:
    """Loss of the mixture of two kinds of networks, by the stacking weight."""
    share = np.linspace(0, 1, 11)
    figure, all_axes = plt.subplots(1, 2, figsize=(8.4, 2.7), sharey=True)
    for ax, (title, with_env, pooled, common) in zip(
        all_axes,
        (
            ("E explains what differs", 0.55, 1.0, 0.4),
            ("E is mostly noise", 1.05, 0.7, 0.4),
        ),
        strict=True,
    ):
        variance = (
            share**2 * with_env + (1 - share) ** 2 * pooled + 2 * share * (1 - share) * common
        )
        loss = np.log(variance)
        best = int(np.argmin(loss))
        ax.plot(share, loss, color=BLUE, lw=1.5, marker="o", ms=4)
        ax.plot(share[best], loss[best], marker="o", ms=11, mfc="none", mec=VERMILLION, mew=2)
        ax.annotate(
            f"weight {share[best]:.1f}", (share[best], loss[best]), (0, 14),
            textcoords="offset points", ha="center", color=VERMILLION,
        )  # fmt: skip
        ax.set_title(title, fontsize=10, color=INK)
        ax.set_xlabel("stacking weight of the networks with E")
        ax.set_xticks([0, 0.5, 1], ["0\npooled only", "0.5", "1\nwith E only"])
    all_axes[0].set_ylabel("loss on left-out sources")
    figure.tight_layout()
    save(figure, "stacking")


def outside() -> None:
    sources = {"A": -1.6, "B": -0.7, "C": -0.1, "D": 0.6, "F": 1.4}
    low, high = min(sources.values()), max(sources.values())
    slack = 0.5 * (high - low)
    figure, ax = plt.subplots(figsize=(9.0, 2.2))
    ax.axvspan(low, high, color=BLUE, alpha=0.14, lw=0)
    for start, end in ((low - slack, low), (high, high + slack)):
        ax.axvspan(start, end, color=ORANGE, alpha=0.12, lw=0)
    for name, value in sources.items():
        ax.plot(value, 0, "o", color=BLUE, ms=8)
        ax.text(value, 0.17, name, ha="center", color=BLUE)
    for value, sd, name, color in (
        (0.25, 0.1, "new site, inside", GREEN),
        (2.1, 0.15, "outside: flagged", VERMILLION),
        (4.3, 0.25, "far outside", VERMILLION),
    ):
        ax.errorbar(value, -0.35, xerr=1.96 * sd, color=color, capsize=3, marker="D", ms=6)
        ax.text(value, -0.58, name, ha="center", va="top", color=color, fontsize=9)
    ax.annotate(
        "", (high + slack, -0.35), (3.75, -0.35), arrowprops={"arrowstyle": "-|>", "color": GREY}
    )
    ax.text((low + high) / 2, 0.5, "span of the sources", ha="center", color=BLUE, fontsize=9)
    ax.text(high + slack / 2, 0.5, "prediction\nfollows E", ha="center", va="center",
            color="#9A6A00", fontsize=9)  # fmt: skip
    ax.text(3.95, 0.5, "prediction held\nat the border", ha="center", va="center",
            color=GREY, fontsize=9)  # fmt: skip
    ax.set_ylim(-1.0, 0.75)
    ax.set_xlim(-3.4, 5.0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("E, in the model's own units")
    save(figure, "outside")


if __name__ == "__main__":
    with mpl.rc_context(LOOK):
        for draw in (overview, perturbed, row_evidence, graph_steps, stacking, outside):
            draw()
