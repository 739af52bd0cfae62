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
from dapdag.inference.combination import simplex_grid

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
        ax, 8.0, 0.05, 2.8, 1.75, "Experts",
        "networks without E,\nnetworks with E, and\ninference on the graph",
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
    """Strengths with a cycle, the threshold, the repair: the graph of the paper's form."""
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


def experts() -> None:
    """Which variables each of the three experts reads, and in which direction."""
    reads = {
        "f0  pooled networks": (False, {"age", "BP", "stage", "days"}, "p(label | all features)"),
        "f1  networks with E": (True, {"age", "BP", "stage", "days"}, "p(label | all features, E)"),
        "f2  inference on the graph": (
            True, {"BP", "stage", "days"}, "p(label | parents, E) × p(child | label, E, site)",
        ),
    }  # fmt: skip
    figure, all_axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
    for ax, (title, (sees_env, read, formula)) in zip(all_axes, reads.items(), strict=True):
        bare(ax, (-0.4, 3.55), (-0.55, 2.75))
        on_graph = title.startswith("f2")
        if on_graph:
            for a, b in EDGES:
                touched = "died" in (a, b)
                color = VERMILLION if (a, b) == ("died", "days") else INK if touched else PALE
                arrow(ax, PLACES[a], PLACES[b], color=color, shrinkA=18, shrinkB=19)
        else:
            for name in sorted(read):
                arrow(ax, PLACES[name], PLACES["died"], color=BLUE, shrinkA=18, shrinkB=19)
        if sees_env:
            ax.add_patch(Circle((2.1, 2.3), 0.22, fc=ORANGE, alpha=0.75, ec=INK))
            ax.text(2.1, 2.3, "E", ha="center", va="center", weight="bold")
            targets = ("died", "days") if on_graph else ("died",)
            for name in targets:
                arrow(ax, (2.1, 2.3), PLACES[name], color=ORANGE, shrinkA=12, shrinkB=19)
        for name, place in PLACES.items():
            color = INK if name == "died" or name in read else GREY
            look = {"fc": "white", "ec": color, "lw": 2 if name == "died" else 1}
            ax.add_patch(Circle(place, 0.33, zorder=2, **look))
            ax.text(*place, name, ha="center", va="center", fontsize=8.5, color=color, zorder=3)
        ax.set_title(title, fontsize=10, color=INK)
        ax.text(1.57, -0.5, formula, ha="center", va="bottom", fontsize=8.5, color=GREY)
    save(figure, "experts")


def combination() -> None:
    """Loss of the mixture of three experts over the simplex of their weights."""
    weights = simplex_grid(10)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    places = weights @ corners
    names = ("f0\npooled", "f1\nwith E", "f2\non the graph")
    figure, all_axes = plt.subplots(1, 3, figsize=(9.6, 3.0), layout="constrained")
    for ax, (title, variances) in zip(
        all_axes,
        (
            ("E explains what differs", (1.0, 0.55, 0.8)),
            ("sites hardly differ", (0.5, 0.65, 0.75)),
            ("a child's mechanism varies", (1.1, 1.0, 0.55)),
        ),
        strict=True,
    ):
        covariance = np.full((3, 3), 0.4) + np.diag(np.array(variances) - 0.4)
        loss = np.log(np.einsum("gi,ij,gj->g", weights, covariance, weights))
        best = int(loss.argmin())
        bare(ax, (-0.25, 1.25), (-0.25, 1.15))
        ax.scatter(*places.T, c=loss, cmap="Blues_r", s=85, ec=GREY, lw=0.4)
        ax.plot(*places[best], marker="o", ms=14, mfc="none", mec=VERMILLION, mew=2)
        for name, (x, y) in zip(names, corners, strict=True):
            up = y > 0.5
            ax.text(x, y + (0.08 if up else -0.08), name, ha="center", fontsize=8.5,
                    va="bottom" if up else "top")  # fmt: skip
        chosen = "  ".join(f"{w:.1f}" for w in weights[best])
        ax.set_title(f"{title}\nweights {chosen}", fontsize=10, color=INK)
    save(figure, "combination")


def reversal() -> None:
    """A child of the label at three sources and at a new site where its effect has turned."""
    rng = np.random.default_rng(5)
    figure, all_axes = plt.subplots(1, 3, figsize=(10.4, 3.0), sharey=True, layout="constrained")
    first, second, third = all_axes
    line = np.array([-2.2, 2.2])
    for strength, color, name in ((0.5, BLUE, "A"), (1.0, GREEN, "B"), (1.6, PURPLE, "C")):
        label = rng.normal(size=60)
        child = strength * label + 0.35 * rng.normal(size=60)
        first.scatter(label, child, s=9, color=color, alpha=0.45, lw=0)
        first.plot(line, strength * line, color=color, label=f"site {name}")
    first.legend(frameon=False, fontsize=8, loc="upper left")
    label = rng.normal(size=90)
    cause = 0.8 * label + 0.6 * rng.normal(size=90)
    child = -label + 0.35 * rng.normal(size=90)
    second.scatter(cause, child, s=9, color=VERMILLION, alpha=0.6, lw=0)
    third.scatter(label, child, s=9, color=GREY, alpha=0.3, lw=0)
    third.plot(line, line, color=BLUE, ls="--", label="the sources' mechanism")
    for slope, alpha in ((0.2, 0.35), (-0.5, 0.5)):
        third.plot(line, slope * line, color=VERMILLION, alpha=alpha)
    third.plot(line, -line, color=VERMILLION, label="re-estimated by EM")
    third.legend(frameon=False, fontsize=8, loc="upper right")
    titles = (
        "sources: label and child",
        "new site: what is seen",
        "new site: what is inferred",
    )
    for ax, title, x in zip(
        all_axes, titles, ("label", "parent of the label", "label (not seen)"), strict=True
    ):
        ax.set_title(title, fontsize=10, color=INK)
        ax.set_xlabel(x)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_ylim(-3.9, 3.9)
    first.set_ylabel("child of the label")
    save(figure, "reversal")


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


DRAWINGS = (
    *(overview, perturbed, row_evidence, graph_steps),
    *(experts, combination, reversal, outside),
)

if __name__ == "__main__":
    with mpl.rc_context(LOOK):
        for draw in DRAWINGS:
            draw()
