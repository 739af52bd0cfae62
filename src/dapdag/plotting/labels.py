"""Names beside points, kept off each other."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from numpy.typing import ArrayLike, NDArray

OFFSET, POINT = 5.0, 7.0
# Sides of the point in order of preference: (horizontal, vertical), -1, 0 or 1.
SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
FONT = FontProperties(size="small")
MAX_LENGTH = 32


def shortened(name: str, most: int = MAX_LENGTH) -> str:
    """A long name with an ellipsis in its middle: both ends tell names apart."""
    name = " ".join(name.split())
    if len(name) <= most:
        return name
    head = (most - 1) * 2 // 3
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def label_points(ax: Axes, points: ArrayLike, names: Sequence[str], colors: Sequence[str]) -> None:
    """Write each name on the side of its point where it covers least.

    Call it last: sides are chosen for the Axes' current limits and size. Points without a name
    ("") are only kept clear.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    centres = ax.transData.transform(np.asarray(points, dtype=float)) * 72 / figure.dpi
    taken = [np.array([centre - POINT / 2, centre + POINT / 2]) for centre in centres]
    for centre, point, name, color in zip(centres, np.asarray(points), names, colors, strict=True):
        if not name:
            continue
        width, height, _ = text_to_path.get_text_width_height_descent(name, FONT, False)
        boxes = [_box(centre, side, width, height) for side in SIDES]
        best = int(np.argmin([sum(_overlap(box, other) for other in taken) for box in boxes]))
        taken.append(boxes[best])
        horizontal, vertical = SIDES[best]
        ax.annotate(
            name,
            tuple(point),
            xytext=(OFFSET * horizontal, OFFSET * vertical),
            textcoords="offset points",
            ha={1: "left", 0: "center", -1: "right"}[horizontal],
            va={1: "bottom", 0: "center", -1: "top"}[vertical],
            fontproperties=FONT,
            color=color,
            parse_math=False,
        )


def _box(
    centre: NDArray[np.float64], side: tuple[int, int], width: float, height: float
) -> NDArray[np.float64]:
    size = np.array([width, height])
    middle = centre + np.array(side) * (OFFSET + size / 2)
    return np.array([middle - size / 2, middle + size / 2])


def _overlap(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.prod(np.clip(np.minimum(a[1], b[1]) - np.maximum(a[0], b[0]), 0, None)))
