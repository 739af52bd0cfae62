"""The report's charts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.text import number, percent, plural
from ..data.chunks import spaced_rows
from ..inference.reliability import wilson
from ..plotting.labels import shortened
from ..plotting.plane import RADIUS_95, plane_of
from ..record import Bin
from .markup import Markup, tag
from .names import write_names
from .svg import (
    HEIGHT,
    RIGHT,
    TOP,
    WIDTH,
    Frame,
    chart,
    diamond,
    dot,
    padded,
    polyline,
    whisker,
)

MAX_POINTS = 1500
MAX_NAMES = 14


def histogram(values: NDArray[np.float64], xlabel: str, shares: bool) -> Markup:
    """Distribution of the predictions; probabilities are cut at tenths."""
    n_bins = 20 if shares else int(np.clip(2 * len(values) ** (1 / 3), 5, 24))
    limits = (0.0, 1.0) if shares else padded(float(values.min()), float(values.max()), 0.0)
    count, edges = np.histogram(values, n_bins, limits)
    frame = Frame(limits, (0.0, float(count.max()) * 1.05 or 1.0), 220.0)
    bars = [
        tag(
            "rect",
            tag("title", f"{number(a)} to {number(b)}: {plural(int(c), 'row')}"),
            x=float(frame.across(a)) + 0.7,
            y=float(frame.up(c)),
            width=float(frame.across(b) - frame.across(a)) - 1.4,
            height=float(frame.up(0) - frame.up(c)),
            class_="bar",
        )
        for a, b, c in zip(edges[:-1], edges[1:], count.tolist(), strict=True)
        if c
    ]
    middle = np.quantile(values, [0.05, 0.5, 0.95])
    description = (
        f"Histogram of {xlabel} for {plural(len(values), 'row')}: median {number(middle[1])}, "
        f"nine in ten rows between {number(middle[0])} and {number(middle[2])}."
    )
    return chart(frame, bars, xlabel, "rows", description, yticks=_whole(frame.y[1]))


def _whole(top: float) -> list[float]:
    """Ticks for counts."""
    step = max(1, int(10 ** np.floor(np.log10(max(top, 1)))))
    while top / step > 5:
        step *= 2
    return [float(t) for t in range(0, int(top) + 1, step)]


def reliability(bins: Sequence[Bin], xlabel: str, ylabel: str) -> Markup:
    """Observed share against predicted probability, with Wilson's 95 % intervals."""
    frame = Frame((0.0, 1.0), (0.0, 1.0), 300.0)
    low, high = wilson([b.observed for b in bins], [b.rows for b in bins])
    predicted, observed = [b.predicted for b in bins], [b.observed for b in bins]
    marks = [
        polyline(frame, [0, 1], [0, 1], "diagonal"),
        *(whisker(frame, b.predicted, a, c) for b, a, c in zip(bins, low, high, strict=True)),
        polyline(frame, predicted, observed, "line"),
        *(
            _bin_dot(
                frame,
                b,
                f"predicted {percent(b.predicted)}, observed {percent(b.observed)} "
                f"of {plural(b.rows, 'row')}",
                float(np.clip(2.5 + b.rows**0.5 / 6, 3, 7)),
            )
            for b in bins
        ),
    ]
    described = "; ".join(f"{percent(b.predicted)} → {percent(b.observed)}" for b in bins)
    description = f"Calibration curve, predicted → observed: {described}."
    return chart(frame, marks, xlabel, ylabel, description)


def _bin_dot(frame: Frame, b: Bin, text: str, *radius: float) -> Markup:
    across, up = float(frame.across(b.predicted)), float(frame.up(b.observed))
    return dot(across, up, "point", text, *radius)


def predicted_against_observed(bins: Sequence[Bin], label: str) -> Markup:
    """Mean label against prediction in bins of rows."""
    both = [v for b in bins for v in (b.predicted, b.observed)]
    limits = padded(min(both), max(both))
    frame = Frame(limits, limits, 300.0)
    marks = [
        polyline(frame, limits, limits, "diagonal"),
        polyline(frame, [b.predicted for b in bins], [b.observed for b in bins], "line"),
        *(
            _bin_dot(
                frame,
                b,
                f"predicted {number(b.predicted)}, observed {number(b.observed)}, "
                f"{plural(b.rows, 'row')}",
            )
            for b in bins
        ),
    ]
    described = "; ".join(f"{number(b.predicted)} → {number(b.observed)}" for b in bins)
    return chart(
        frame,
        marks,
        f"predicted {label}",
        "observed mean",
        f"Predicted against observed {label}, predicted → observed: {described}.",
    )


def scatter(true: NDArray[np.float64], predicted: NDArray[np.float64], label: str) -> Markup:
    """Predicted against actual numbers, at most `MAX_POINTS` of them, evenly spaced in order."""
    keep = spaced_rows(len(true), MAX_POINTS)
    low = min(true.min(), predicted.min())
    high = max(true.max(), predicted.max())
    limits = padded(float(low), float(high))
    frame = Frame(limits, limits, 300.0)
    points = [
        tag("circle", cx=round(x, 1), cy=round(y, 1), r=2.2, class_="speck")
        for x, y in zip(
            frame.across(true[keep]).tolist(), frame.up(predicted[keep]).tolist(), strict=True
        )
    ]
    description = f"Scatter plot of predicted against actual {label} for {len(true)} rows."
    marks = [polyline(frame, limits, limits, "diagonal"), *points]
    return chart(frame, marks, f"actual {label}", f"predicted {label}", description)


def plane(environments: pd.DataFrame, is_source: NDArray[np.bool_]) -> Markup:
    """Domains with an E of two or more dimensions, with their 95 % regions."""
    found = plane_of(environments, is_source)
    reach = RADIUS_95 * np.sqrt(np.einsum("nkk->nk", found.covariances))
    low, high = (found.points - reach).min(0), (found.points + reach).max(0)
    frame = Frame(padded(low[0], high[0], 0.1), padded(low[1], high[1], 0.1), 320.0)
    outside = environments.get("outside", pd.Series(False, index=environments.index)).fillna(False)
    marks: list[Markup] = []
    if found.is_whole and is_source.sum() > 1:
        a, b = found.points[is_source].min(0), found.points[is_source].max(0)
        marks.append(_box(frame, a, b))
    kinds = [
        "source" if source else ("outside" if bool(out) else "new")
        for source, out in zip(is_source, outside, strict=True)
    ]
    for centre, covariance, kind in zip(found.points, found.covariances, kinds, strict=True):
        marks.append(_region(frame, centre, covariance, kind))
    crowded = len(environments) > MAX_NAMES
    points: list[tuple[float, float]] = []
    names: list[tuple[str, str]] = []
    for name, (x, y), kind in zip(environments.index, found.points, kinds, strict=True):
        across, up = float(frame.across(x)), float(frame.up(y))
        hint = f"{name}: {number(x)}, {number(y)}"
        mark = dot(across, up, kind, hint) if kind == "source" else diamond(across, up, kind, hint)
        marks.append(mark)
        if kind != "source" or not crowded:
            points.append((across, up))
            names.append((shortened(str(name), 22), kind))
    marks += write_names(points, names, frame.height)
    titles = [title.split(" (ellipses")[0] for title in found.titles]
    description = "Map of environments. " + "; ".join(
        f"{name}: {number(x)}, {number(y)}"
        for name, (x, y) in zip(environments.index, found.points, strict=True)
    )
    return chart(frame, marks, titles[0], titles[1], description)


def _box(frame: Frame, low: NDArray[np.float64], high: NDArray[np.float64]) -> Markup:
    return tag(
        "rect",
        x=float(frame.across(low[0])),
        y=float(frame.up(high[1])),
        width=float(frame.across(high[0]) - frame.across(low[0])),
        height=float(frame.up(low[1]) - frame.up(high[1])),
        class_="span",
    )


def _region(frame: Frame, centre: Any, covariance: Any, kind: str) -> Markup:
    """The 95 % region as a closed line, because the axes have different scales."""
    angle = np.linspace(0, 2 * np.pi, 40)
    values, vectors = np.linalg.eigh(covariance)
    radius = RADIUS_95 * np.sqrt(np.maximum(values, 0))
    x, y = centre[:, None] + (vectors * radius) @ np.array([np.cos(angle), np.sin(angle)])
    return polyline(frame, x, y, f"region {kind}")


def losses(history: pd.DataFrame) -> Markup | None:
    """Training and validation loss over the epochs."""
    shown = [c for c in ("prediction", "validation") if c in history]
    values = history[shown].dropna(how="all")
    if not shown or len(values) < 2:
        return None
    low, high = np.nanquantile(values.to_numpy(), [0, 0.98])
    frame = Frame((0.0, float(len(history))), padded(float(low), float(high)), HEIGHT)
    marks = []
    for k, column in enumerate(shown):
        known = history[column].notna().to_numpy()
        y = np.clip(history[column].to_numpy()[known], *frame.y)
        marks.append(polyline(frame, np.flatnonzero(known) + 1, y, f"line series{k}"))
        marks.append(
            tag(
                "text",
                column,
                x=WIDTH - RIGHT - 4,
                y=TOP + 12 + 14 * k,
                class_=f"name end series{k}",
            )
        )
    return chart(frame, marks, "epoch", "loss", f"Loss over {len(history)} epochs of training.")
