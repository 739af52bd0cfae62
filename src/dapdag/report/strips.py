"""Charts inside tables: bars, points and lines that stretch with the window."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._runtime.text import number
from .markup import Markup, tag


def _at(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    return float(np.clip(100 * (value - low) / (high - low), 0, 100))


def bar(share: float, class_: str = "") -> Markup:
    """A bar from the left, for a share of the longest one."""
    width = float(np.clip(100 * share, 0, 100))
    inner = tag("span", class_=f"fill {class_}".strip(), style=f"width:{width:.1f}%")
    return tag("span", inner, class_="strip", aria_hidden="true")


def interval(
    mean: float,
    half: float,
    limits: tuple[float, float],
    span: tuple[float, float] | None,
    kind: str,
) -> Markup:
    """A point with its interval, over the span of the sources."""
    parts = []
    if span is not None:
        left, right = _at(span[0], limits), _at(span[1], limits)
        parts.append(
            tag("span", class_="band", style=f"left:{left:.2f}%;width:{right - left:.2f}%")
        )
    left, right = _at(mean - half, limits), _at(mean + half, limits)
    style = f"left:{left:.2f}%;width:{right - left:.2f}%"
    parts.append(tag("span", class_=f"whisker {kind}", style=style))
    parts.append(tag("span", class_=f"mark {kind}", style=f"left:{_at(mean, limits):.2f}%"))
    return tag("span", parts, class_="strip tall", aria_hidden="true")


def scale(values: Sequence[float], limits: tuple[float, float]) -> Markup:
    """The axis over a column of strips."""
    return tag(
        "span",
        [tag("span", number(v), class_="at", style=f"left:{_at(v, limits):.2f}%") for v in values],
        class_="strip axis",
        aria_hidden="true",
    )


def sparkline(values: NDArray[np.float64], unit: float) -> Markup:
    """A line in a box that is `unit` high, centred; it stretches without getting thicker."""
    middle = (values.max() + values.min()) / 2
    y = 50 - 88 * (values - middle) / unit
    x = np.linspace(0, 100, len(values))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return tag(
        "svg",
        tag("polyline", points=points, class_="line"),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
        class_="spark",
        aria_hidden="true",
        focusable="false",
    )
