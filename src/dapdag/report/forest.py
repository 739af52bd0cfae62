"""Forest plots as inline SVG: sites, their mean, and where the next one may lie."""

from typing import Any

import numpy as np
import pandas as pd

from .._runtime.text import interval_text, percent
from ..evaluate.clinical.estimates import STATISTICS
from ..plotting.forest import forest_limits, forest_ticks
from ..plotting.labels import shortened
from .markup import Markup, tag
from .svg import diamond

WIDTH, STEP, TOP, BOTTOM = 640.0, 22.0, 26.0, 44.0
# The axis lies between the names and the columns of numbers.
LEFT, RIGHT = 150.0, 420.0
COUNTS, VALUES = 432.0, 516.0
LONGEST_NAME = 22


def forest(sites: pd.DataFrame, pooled: pd.Series, statistic: str) -> Markup:
    """One row per site (index), then the random-effects mean and the prediction interval."""
    about = STATISTICS[statistic]
    limits = forest_limits(sites, pooled, about)
    ends = np.log(limits) if about.is_ratio else np.array(limits)
    height = TOP + STEP * (len(sites) + 2) + BOTTOM
    axis = TOP + STEP * (len(sites) + 2)

    def across(value: float) -> float:
        inside = float(np.clip(value, *limits))
        place = np.log(inside) if about.is_ratio else inside
        return float(LEFT + (RIGHT - LEFT) * (place - ends[0]) / (ends[1] - ends[0]))

    marks = [*_axis(forest_ticks(limits, about), across, axis), _headings(sites)]
    if about.null is not None:
        marks.append(_vertical(across(about.null), axis, "diagonal"))
    for k, (name, site) in enumerate(sites.iterrows()):
        marks += _site(name, site, TOP + STEP * (k + 0.5), across)
    marks += _mean(pooled, TOP + STEP * (len(sites) + 0.5), across)
    marks += _next(pooled, TOP + STEP * (len(sites) + 1.5), across)
    title = f"{about.title} ({about.aim})"
    marks.append(tag("text", title, x=(LEFT + RIGHT) / 2, y=height - 8, class_="axis middle"))
    return tag(
        "svg",
        marks,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        class_="chart forest",
        role="img",
        aria_label=_description(sites, pooled, about.title),
    )


def _description(sites: pd.DataFrame, pooled: pd.Series, title: str) -> str:
    each = "; ".join(f"{name} {_cell(site)}" for name, site in sites.iterrows())
    return f"Forest plot of the {title}: {each}; mean over sites {_cell(pooled)}."


def _cell(row: Any) -> str:
    return interval_text(float(row["estimate"]), float(row["low"]), float(row["high"]))


def _axis(ticks: list[float], across: Any, axis: float) -> list[Markup]:
    marks = [tag("line", x1=LEFT, x2=RIGHT, y1=axis, y2=axis, class_="base")]
    for t in ticks:
        marks.append(_vertical(across(t), axis, "grid"))
        marks.append(tag("text", f"{t:g}", x=across(t), y=axis + 15, class_="tick middle"))
    return marks


def _vertical(x: float, axis: float, class_: str) -> Markup:
    return tag("line", x1=x, x2=x, y1=TOP, y2=axis, class_=class_)


def _headings(sites: pd.DataFrame) -> Markup:
    counts = "events/rows" if sites["events"].notna().all() else "rows"
    return tag(
        "g",
        tag("text", counts, x=COUNTS, y=TOP - 10, class_="tick"),
        tag("text", "estimate (95 % CI)", x=VALUES, y=TOP - 10, class_="tick"),
    )


def _site(name: Any, site: Any, y: float, across: Any) -> list[Markup]:
    rows = int(site["rows"])
    counts = f"{rows}" if pd.isna(site["events"]) else f"{int(site['events'])}/{rows}"
    marks = _texts(shortened(str(name), LONGEST_NAME), counts, _cell(site), y)
    if np.isfinite(site["low"]):
        ends = {"x1": across(site["low"]), "x2": across(site["high"])}
        marks.append(tag("line", **ends, y1=y, y2=y, class_="whisker"))
    if np.isfinite(site["estimate"]):
        at = across(site["estimate"])
        marks.append(tag("rect", x=at - 4, y=y - 4, width=8.0, height=8.0, class_="bar"))
    return marks


def _mean(pooled: Any, y: float, across: Any) -> list[Markup]:
    i2 = "" if pd.isna(pooled["i2"]) else f"I² {percent(float(pooled['i2']))}"
    marks = _texts("mean over sites", i2, _cell(pooled), y)
    if np.isfinite(pooled["low"]):
        ends = {"x1": across(pooled["low"]), "x2": across(pooled["high"])}
        marks.append(tag("line", **ends, y1=y, y2=y, class_="whisker"))
        marks.append(diamond(across(pooled["estimate"]), y, "new", "mean over sites", 6.0))
    return marks


def _next(pooled: Any, y: float, across: Any) -> list[Markup]:
    low, high = float(pooled["prediction_low"]), float(pooled["prediction_high"])
    marks = _texts("next site (95 %)", "", interval_text(float("nan"), low, high), y)
    if np.isfinite(low):
        width = across(high) - across(low)
        marks.append(tag("rect", x=across(low), y=y - 3, width=width, height=6.0, class_="next"))
    return marks


def _texts(name: str, counts: str, value: str, y: float) -> list[Markup]:
    return [
        tag("text", name, x=LEFT - 10, y=y + 4, class_="tick end"),
        tag("text", counts, x=COUNTS, y=y + 4, class_="tick"),
        tag("text", value, x=VALUES, y=y + 4, class_="tick"),
    ]
