"""Forest plots: a statistic at every site, its mean over sites, and where the next site may lie."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from dapdag._runtime.text import interval_text, percent
from dapdag.evaluate.clinical.estimates import STATISTICS, Statistic
from dapdag.evaluate.clinical.validation import Validation
from dapdag.plotting import style

# Sites whose interval reaches beyond this many widths of the others' range are cut, with an arrow.
REACH = 1.0
SMALLEST, LARGEST = 25.0, 130.0
MOST_TICKS = 7
# Where the columns of text begin, in points right of the axis.
COLUMNS = (10, 95)


def plot_forest(
    validation: Validation,
    statistic: str | None = None,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A statistic at each site that was left out, with 95 % confidence intervals.

    The area of a square follows the site's weight. The diamond is the random-effects mean with its
    confidence interval, the bar below it the 95 % prediction interval for the next site. The line
    marks where a model is right on average, or no better than chance. The axis of O:E is
    logarithmic.

    Parameters
    ----------
    validation : Validation
        What `Evaluation.validation` or `validate` returned.
    statistic : str, optional
        A name in `dapdag.evaluate.STATISTICS`; by default c-statistic, or R².
    method : str, optional
        By default the last one.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    statistic = validation.statistics[0] if statistic is None else statistic
    method = validation.best() if method is None else method
    sites = validation.of(method, statistic)
    pooled: Any = validation.summary().loc[(method, statistic)]
    about = STATISTICS[statistic]
    n = len(sites)
    ax = style.axes(ax, (8.4, 1.7 + 0.3 * (n + 2)))
    low, high = forest_limits(sites, pooled, about)
    if about.null is not None:
        ax.axvline(about.null, color=style.GREY, linewidth=1, zorder=1)
    if np.isfinite(pooled["estimate"]):
        ax.axvline(pooled["estimate"], color=style.BLUE, linewidth=0.8, linestyle=":", zorder=1)
    for place, (_, site) in enumerate(sites.iterrows()):
        _draw_site(ax, n + 1 - place, site, _area(site, sites, pooled), (low, high))
    ax.axhline(1.5, color=style.GREY, linewidth=0.6)
    _draw_mean(ax, 1, pooled)
    _draw_next(ax, 0, pooled, (low, high))
    _write(ax, sites, pooled)
    aim = f"{about.title} ({about.aim})"
    style.tidy(ax, f"{method}: {about.title} by site", aim, "", grid="x")
    ax.spines["left"].set_visible(False)
    if about.is_ratio:
        ax.set_xscale("log")
        places = forest_ticks((low, high), about)
        ax.xaxis.set_major_locator(FixedLocator(places))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticklabels([f"{t:g}" for t in places])
    ax.set(xlim=(low, high), ylim=(-0.7, n + 1.9))
    return ax


def forest_limits(sites: pd.DataFrame, pooled: pd.Series, about: Statistic) -> tuple[float, float]:
    """Ends of the axis: all estimates and the mean; intervals as far as they are not too long."""
    points = _drawn([*sites["estimate"], pooled["low"], pooled["high"], about.null], about)
    if not len(points):
        return (0.5, 2.0) if about.is_ratio else (0.0, 1.0)
    inner, outer = points.min(), points.max()
    room = REACH * max(outer - inner, 0.05 * max(abs(inner), abs(outer), 1e-9))
    following = pooled[["prediction_low", "prediction_high"]]
    ends = _drawn([*sites["low"], *sites["high"], *following], about)
    low = max(inner - room, min([*ends, inner]))
    high = min(outer + room, max([*ends, outer]))
    margin = 0.04 * (high - low)
    limits = np.array([low - margin, high + margin])
    low, high = np.exp(limits) if about.is_ratio else limits
    return float(low), float(high)


def _drawn(values: Any, about: Statistic) -> np.ndarray:
    """Those that have a place on the axis, logarithms of a ratio."""
    found = np.array(values, dtype=float)
    found = found[np.isfinite(found)]
    return np.log(found[found > 0]) if about.is_ratio else found


def forest_ticks(limits: tuple[float, float], about: Statistic) -> list[float]:
    """Round numbers inside the limits; 1, 2 and 5 times powers of ten on a long axis of ratios."""
    low, high = limits
    for factors in ((1, 2, 5), (1,)) if about.is_ratio else ():
        powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high))
        found = [float(p * f) for p in powers for f in factors if low <= p * f <= high]
        if 3 <= len(found) <= MOST_TICKS:
            return found
    even = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(t) for t in even if low <= t <= high]


def _area(site: pd.Series, sites: pd.DataFrame, pooled: pd.Series) -> float:
    between = pooled["tau2"] if np.isfinite(pooled["tau2"]) else 0.0
    weights = 1 / (sites["standard_error"] ** 2 + between)
    own = 1 / (site["standard_error"] ** 2 + between)
    share = own / weights.max() if np.isfinite(own) else 0.0
    return SMALLEST + (LARGEST - SMALLEST) * share


def _draw_site(ax: Axes, y: int, site: pd.Series, area: float, ends: tuple[float, float]) -> None:
    if np.isfinite(site["low"]):
        _bar(ax, y, site["low"], site["high"], ends, style.INK, 1.2)
    if np.isfinite(site["estimate"]):
        ax.scatter(
            np.clip(site["estimate"], *ends), y, s=area, marker="s", color=style.BLUE, zorder=3
        )


def _bar(
    ax: Axes, y: int, low: float, high: float, ends: tuple[float, float], colour: str, width: float
) -> None:
    """A horizontal bar; an arrow where it goes on beyond the axis."""
    ax.plot(np.clip([low, high], *ends), [y, y], color=colour, linewidth=width, zorder=2)
    for end, value, marker in ((ends[0], low, "<"), (ends[1], high, ">")):
        if (value < ends[0] and marker == "<") or (value > ends[1] and marker == ">"):
            ax.plot(end, y, marker, color=colour, markersize=5, clip_on=False, zorder=2)


def _draw_mean(ax: Axes, y: int, pooled: pd.Series) -> None:
    if np.isfinite(pooled["low"]):
        centre = pooled["estimate"]
        corners = [(pooled["low"], y), (centre, y + 0.3), (pooled["high"], y), (centre, y - 0.3)]
        ax.add_patch(Polygon(corners, closed=True, facecolor=style.BLUE, zorder=3))


def _draw_next(ax: Axes, y: int, pooled: pd.Series, ends: tuple[float, float]) -> None:
    if np.isfinite(pooled["prediction_low"]):
        low, high = pooled["prediction_low"], pooled["prediction_high"]
        _bar(ax, y, low, high, ends, style.VERMILLION, 3.0)


def _write(ax: Axes, sites: pd.DataFrame, pooled: pd.Series) -> None:
    """Names at the left, numbers of rows and events, estimates with intervals at the right."""
    n = len(sites)
    names = [*map(str, sites.index), "mean over sites", "next site (95 % prediction)"]
    places = [*range(n + 1, 1, -1), 1, 0]
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)

    def write(y: float, counts: str, text: str, weight: str = "normal") -> None:
        for place, shown in zip(COLUMNS, (counts, text), strict=True):
            ax.annotate(
                shown,
                (1, y),
                xycoords=ax.get_yaxis_transform(),
                xytext=(place, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
                color=style.INK,
                weight=weight,
            )

    events = sites["events"].notna().all()
    write(n + 1.7, "events / rows" if events else "rows", "estimate (95 % CI)", "bold")
    for y, (_, site) in zip(places, sites.iterrows(), strict=False):
        counts = (
            f"{int(site['events'])} / {int(site['rows'])}" if events else f"{int(site['rows'])}"
        )
        write(y, counts, interval_text(site["estimate"], site["low"], site["high"]))
    write(
        1, _heterogeneity(pooled), interval_text(pooled["estimate"], pooled["low"], pooled["high"])
    )
    write(0, "", interval_text(np.nan, pooled["prediction_low"], pooled["prediction_high"]))


def _heterogeneity(pooled: pd.Series) -> str:
    return f"I² {percent(float(pooled['i2']))}" if np.isfinite(pooled["i2"]) else ""
