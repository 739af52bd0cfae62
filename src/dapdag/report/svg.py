"""Small charts as inline SVG: axes and what they share. Colours come from the style sheet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from .._runtime.text import number
from .markup import Markup, tag

WIDTH, HEIGHT = 360.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 10.0, 42.0


@dataclass(frozen=True)
class Frame:
    """Data coordinates, and where they lie in the picture."""

    x: tuple[float, float]
    y: tuple[float, float]
    height: float = HEIGHT

    def across(self, value: Any) -> Any:
        low, high = self.x
        return LEFT + (WIDTH - LEFT - RIGHT) * (np.asarray(value) - low) / (high - low)

    def up(self, value: Any) -> Any:
        low, high = self.y
        bottom = self.height - BOTTOM
        return bottom - (bottom - TOP) * (np.asarray(value) - low) / (high - low)


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """A range with some air; a single value gets a range of its own."""
    if high - low <= 1e-12 * max(abs(low), abs(high), 1.0):
        half = max(abs(low) * 0.1, 0.5)
        return low - half, high + half
    return low - share * (high - low), high + share * (high - low)


def ticks(limits: tuple[float, float], most: int = 6) -> list[float]:
    low, high = limits
    found = MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    slack = 1e-9 * (high - low)
    return [float(t) for t in found if low - slack <= t <= high + slack]


def chart(
    frame: Frame,
    marks: Sequence[Markup],
    xlabel: str,
    ylabel: str,
    description: str,
    xticks: Sequence[float] | None = None,
    yticks: Sequence[float] | None = None,
) -> Markup:
    """Axes with a light grid around `marks`; `description` is read out instead of the picture."""
    xticks = ticks(frame.x) if xticks is None else xticks
    yticks = ticks(frame.y) if yticks is None else yticks
    bottom, right = frame.height - BOTTOM, WIDTH - RIGHT
    grid: list[Markup] = []
    for t in xticks:
        x = float(frame.across(t))
        grid.append(tag("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid"))
        grid.append(tag("text", number(t), x=x, y=bottom + 15, class_="tick middle"))
    for t in yticks:
        y = float(frame.up(t))
        grid.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
        grid.append(tag("text", number(t), x=LEFT - 6, y=y + 3.5, class_="tick end"))
    middle = (LEFT + right) / 2
    labels = [
        tag("text", xlabel, x=middle, y=frame.height - 8, class_="axis middle"),
        tag(
            "text",
            ylabel,
            transform=f"translate(11 {(TOP + bottom) / 2:.1f}) rotate(-90)",
            class_="axis middle",
        ),
        tag("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="base"),
    ]
    return tag(
        "svg",
        *(grid, labels, list(marks)),
        viewBox=f"0 0 {WIDTH:g} {frame.height:g}",
        class_="chart",
        role="img",
        aria_label=description,
    )


def polyline(frame: Frame, x: Any, y: Any, class_: str) -> Markup:
    points = zip(frame.across(x).tolist(), frame.up(y).tolist(), strict=True)
    return tag("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points), class_=class_)


def whisker(frame: Frame, x: float, low: float, high: float, class_: str = "whisker") -> Markup:
    at = float(frame.across(x))
    return tag(
        "line", x1=at, x2=at, y1=float(frame.up(low)), y2=float(frame.up(high)), class_=class_
    )


def dot(x: float, y: float, class_: str, hint: str, radius: float = 4.0) -> Markup:
    """A point at picture coordinates, with a hint for the pointer."""
    return tag("circle", tag("title", hint), cx=float(x), cy=float(y), r=radius, class_=class_)


def diamond(x: float, y: float, class_: str, hint: str, size: float = 6.0) -> Markup:
    corners = [(x, y - size), (x + size, y), (x, y + size), (x - size, y)]
    return tag(
        "polygon",
        tag("title", hint),
        points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners),
        class_=class_,
    )
