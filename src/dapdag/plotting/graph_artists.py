"""Boxes, arrows and legend of a drawn graph; lengths in points."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from numpy.typing import NDArray

from dapdag.plotting import style
from dapdag.plotting.layout import Box

FONT_SIZE, LINE_HEIGHT = 10.0, 13.5
SMALL = 0.75  # size of probabilities, as a share of that of names
PAD_X, PAD_Y, RING = 8.0, 5.0, 3.5
MAX_CHARACTERS = 18
HEAD_LENGTH, HEAD_WIDTH = 8.0, 6.5


@dataclass(frozen=True)
class EdgeStyle:
    """How one kind of edge looks, and what the legend calls it."""

    name: str
    color: str
    dashes: Any = "-"


PLAIN = EdgeStyle("edge (wider: stronger)", style.INK)
CORRECT = EdgeStyle("correct edge", style.INK)
REVERSED = EdgeStyle("reversed edge", style.BLUE)
EXTRA = EdgeStyle("extra edge", style.VERMILLION)
MISSING = EdgeStyle("missing edge", style.GREY, (0, (4, 2.5)))


def wrapped(name: str) -> str:
    """Break a long name after spaces, underscores and the like into short lines."""
    lines = [""]
    for piece in _pieces(name):
        if lines[-1] and len(lines[-1] + piece) > MAX_CHARACTERS:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.strip() for line in lines)


def _pieces(name: str) -> list[str]:
    pieces = [""]
    for character in name:
        if len(pieces[-1]) == MAX_CHARACTERS:
            pieces.append("")
        pieces[-1] += character
        if character in " _-./:":
            pieces.append("")
    return pieces


def box_size(text: str, ports: int, ring: bool) -> tuple[float, float]:
    """Room for the text, and height enough to tell the arrowheads of many edges apart."""
    font = FontProperties(size=FONT_SIZE, weight="bold")
    lines = text.split("\n")
    width = max(text_to_path.get_text_width_height_descent(line, font, False)[0] for line in lines)
    height = max(len(lines) * LINE_HEIGHT + 2 * PAD_Y, HEAD_WIDTH * ports)
    margin = 2 * RING * ring
    return max(width, FONT_SIZE) + 2 * PAD_X + margin, height + margin


def draw_edge(
    ax: Axes, route: NDArray[np.float64], edge: EdgeStyle, strength: float | None, zoom: float
) -> None:
    """An arrow along a route; `strength`, from 0 to 1, sets width and opacity."""
    share = 0.4 if strength is None else strength
    width = (1.0 + 2.2 * share) * zoom
    alpha = 1.0 if strength is None else 0.45 + 0.55 * strength
    tip, direction = route[-1], np.sign(route[-1, 0] - route[0, 0])
    back = tip[0] - direction * HEAD_LENGTH
    path = _curve(np.vstack([route[:-1], [back, tip[1]]]))
    look: dict[str, Any] = {"color": edge.color, "alpha": alpha, "zorder": 1}
    ax.add_patch(
        PathPatch(path, fill=False, linewidth=width, linestyle=edge.dashes, capstyle="butt", **look)
    )
    half = HEAD_WIDTH / 2 * (0.8 + 0.5 * share)
    head = Polygon([tip, (back, tip[1] + half), (back, tip[1] - half)], linewidth=0, **look)
    ax.add_patch(head)


def draw_probability(ax: Axes, route: NDArray[np.float64], probability: float, zoom: float) -> None:
    """How probable an edge is, in two digits on the middle of its arrow."""
    k = 2 * ((len(route) // 2) // 2) if len(route) > 2 else 1
    x, y = (route[k - 1] + route[k]) / 2
    text = _FittedText(
        x,
        y,
        "1" if probability >= 0.995 else f"{probability:.2f}".lstrip("0"),
        ha="center",
        va="center",
        color=style.INK,
        fontsize=FONT_SIZE * zoom,
        zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
    )
    text.share = SMALL
    ax.add_artist(text)


def _curve(route: NDArray[np.float64]) -> Path:
    """Horizontal runs joined by S-curves that leave and arrive horizontally."""
    vertices, codes = [route[0], route[1]], [Path.MOVETO, Path.LINETO]
    for k in range(2, len(route), 2):
        (x0, y0), (x1, y1) = route[k - 1], route[k]
        middle = (x0 + x1) / 2
        vertices += [(middle, y0), (middle, y1), (x1, y1), route[k + 1]]
        codes += [Path.CURVE4] * 3 + [Path.LINETO]
    return Path(np.array(vertices), codes)


class _FittedText(Text):
    """Text whose size follows the scale of its Axes, so that it always fits its box."""

    share = 1.0  # of the size of names

    def draw(self, renderer: Any) -> None:
        assert self.axes is not None
        figure = self.axes.get_figure(root=True)
        assert figure is not None
        unit = self.axes.transData.get_matrix()[0, 0] * 72 / figure.dpi
        self.set_fontsize(self.share * FONT_SIZE * unit)
        super().draw(renderer)


def draw_node(ax: Axes, box: Box, text: str, accent: bool, ring: bool, zoom: float) -> None:
    """A named box; the ring, if any, lies inside `box` and the rest inside the ring."""
    if ring:
        ax.add_patch(_rounded(box, facecolor="white", edgecolor=style.PURPLE, lw=1.6 * zoom))
        box = box._replace(width=box.width - 2 * RING, height=box.height - 2 * RING)
    look = (style.GREEN, style.GREEN) if accent else ("white" if ring else style.PALE, style.GREY)
    ax.add_patch(_rounded(box, facecolor=look[0], edgecolor=look[1], lw=0.8 * zoom))
    name = _FittedText(
        box.x,
        box.y,
        text,
        ha="center",
        va="center",
        color="white" if accent else style.INK,
        weight="bold" if accent else "normal",
        fontsize=FONT_SIZE * zoom,
        linespacing=1.2,
        parse_math=False,
        zorder=4,
    )
    name.set_clip_on(False)
    ax.add_artist(name)


def _rounded(box: Box, facecolor: str, edgecolor: str, lw: float) -> FancyBboxPatch:
    return FancyBboxPatch(
        (box.x - box.width / 2, box.y - box.height / 2),
        box.width,
        box.height,
        boxstyle="round,pad=0,rounding_size=6",
        facecolor=facecolor,
        edgecolor=edgecolor,
        linewidth=lw,
        zorder=3,
    )


def draw_legend(
    ax: Axes, styles: Iterable[EdgeStyle], labels: bool, rings: str | None, numbers: bool = False
) -> None:
    """Explain what is in the picture, and nothing else."""
    square: dict[str, Any] = {"marker": "s", "linestyle": "none", "markersize": 8}
    handles: list[Artist] = []
    if labels:
        handles.append(Line2D([], [], color=style.GREEN, label="label", **square))
    if rings:
        handles.append(
            Line2D(
                [],
                [],
                markerfacecolor="white",
                markeredgecolor=style.PURPLE,
                markeredgewidth=1.6,
                label=rings,
                **square,
            )
        )
    used = set(styles)
    handles += [
        Line2D([], [], color=kind.color, linestyle=kind.dashes, lw=1.8, label=kind.name)
        for kind in (PLAIN, CORRECT, REVERSED, EXTRA, MISSING)
        if kind in used
    ]
    if numbers:
        digits: dict[str, Any] = {
            "marker": "$.9$",
            "linestyle": "none",
            "markersize": 9,
            "color": style.INK,
        }
        handles.append(Line2D([], [], label="probability of the edge", **digits))
    if handles:
        style.legend_below(ax, handles)
