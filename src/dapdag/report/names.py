"""Names beside the points of a chart, kept off each other."""

from collections.abc import Sequence

from .markup import Markup, tag
from .svg import RIGHT, WIDTH

LETTER, LINE, GAP, RADIUS = 5.9, 12.0, 8.0, 5.0
SIDES = ((1, -0.5), (-1, -0.5), (1, 0.7), (-1, 0.7), (0, -1.0), (0, 1.2))

Box = tuple[float, float, float, float]


def write_names(
    points: Sequence[tuple[float, float]], names: Sequence[tuple[str, str]], height: float
) -> list[Markup]:
    """Each name, with its class, on the side of its point where it covers least.

    New sites come first; the name of a source that would cover another one is left out, because
    the table beside the chart has it.
    """
    taken = [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in points]
    written = []
    order = sorted(range(len(points)), key=lambda k: names[k][1] == "source")
    for k in order:
        text, kind = names[k]
        boxes = [_box(points[k], side, LETTER * len(text)) for side in SIDES]
        inside = [
            b for b in boxes if b[0] > 0 and b[2] < WIDTH - RIGHT + 8 and 0 < b[1] < b[3] < height
        ]
        others = taken[:k] + taken[k + 1 :]
        best = min(inside or boxes, key=lambda box: sum(_overlap(box, other) for other in others))
        covered = sum(_overlap(best, other) for other in others)
        if kind == "source" and covered > 0.1 * (best[2] - best[0]) * LINE:
            continue
        taken.append(best)
        middle = (best[0] + best[2]) / 2
        written.append(tag("text", text, x=middle, y=best[3] - 3, class_=f"name {kind} middle"))
    return written


def _box(point: tuple[float, float], side: tuple[int, float], width: float) -> Box:
    across, down = side
    middle = point[0] + across * (GAP + width / 2)
    centre = point[1] + down * LINE
    return middle - width / 2, centre - LINE / 2, middle + width / 2, centre + LINE / 2


def _overlap(a: Box, b: Box) -> float:
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return across * down if across > 0 and down > 0 else 0.0
