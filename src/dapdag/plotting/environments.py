"""Where the domains lie on the axis, or in the plane, of the environment E."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from dapdag.plotting import style
from dapdag.plotting.labels import shortened
from dapdag.plotting.plane import name_points, plane_of, plot_plane

SOURCE, TARGET, OUTSIDE = "source", "target", "target outside the sources"
COLORS = {SOURCE: style.BLUE, TARGET: style.GREEN, OUTSIDE: style.VERMILLION}
MARKERS = {SOURCE: "o", TARGET: "D", OUTSIDE: "X"}
RANGE_COLOR, SPAN = "#DCE9F3", "span of the source means"
# Beyond this many, names of domains are thinned out or left to the targets.
MAX_NAMES = 60


def plot_environments(
    sources: pd.DataFrame,
    targets: pd.DataFrame | None = None,
    ax: Axes | None = None,
    true: Mapping[Any, float] | ArrayLike | None = None,
) -> Axes:
    """Map of the inferred environments, with 95 % intervals.

    One dimension: a row per domain, sorted by mean. Two: the plane. More: the plane in which the
    domains differ most, turned so that its axes are their principal ones.

    Parameters
    ----------
    sources : DataFrame indexed by domain
        Columns ``E1_mean, E1_sd, E2_mean, …``; targets may have the boolean column ``outside``.
    targets : DataFrame indexed by domain, optional
        Columns ``E1_mean, E1_sd, E2_mean, …``; targets may have the boolean column ``outside``.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.
    true : mapping or sequence of float, optional
        True E by domain, or one value per row (sources, then targets). Drawn in one dimension only,
        after the linear map that fits the sources best, because E is only known up to such a map.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import pandas as pd
    >>> from dapdag.plotting import plot_environments
    >>> sources = pd.DataFrame({"E1_mean": [-1.0, 0.9], "E1_sd": [0.2, 0.1]}, index=["A", "B"])
    >>> ax = plot_environments(sources)
    """
    table = _together(sources, targets)
    if "E2_mean" in table:
        if true is not None:
            raise ValueError("true can be drawn for one dimension of E only, but E has several.")
        return _plot_plane(table, ax)
    return _plot_rows(table, ax, None if true is None else _true_values(true, table))


def plot_true_vs_inferred(
    true_env: Mapping[Any, float] | ArrayLike,
    sources: pd.DataFrame,
    targets: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Inferred against true E, with 95 % intervals, their correlation and the sources' line.

    The sign of E is arbitrary: a correlation of −1 is as good as one of 1.

    Parameters
    ----------
    true_env : mapping or sequence of float
        True E by domain, or one value per row (sources, then targets).
    sources : DataFrame
        As in `plot_environments`. Of several dimensions, the one is shown that correlates best with
        the truth over the sources.
    targets : DataFrame, optional
        As in `plot_environments`. Of several dimensions, the one is shown that correlates best with
        the truth over the sources.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    table = _together(sources, targets)
    true = _true_values(true_env, table)
    is_source = (table["kind"] == SOURCE).to_numpy()
    names = [str(c).removesuffix("_mean") for c in table if str(c).endswith("_mean")]
    name = max(names, key=lambda n: abs(_correlation(true[is_source], table[is_source], n)))

    ax = style.axes(ax, (5.2, 4.6))
    _draw_fit(ax, true[is_source], table[is_source], name)
    for kind, group in table.groupby("kind", sort=False):
        at = true[(table["kind"] == kind).to_numpy()]
        ax.errorbar(
            at, group[f"{name}_mean"], style.Z95 * group[f"{name}_sd"], **_point_look(str(kind))
        )
    correlation = f"{_correlation(true, table, name):.2f}".replace("-", "−")
    title = f"Inferred against true environment: correlation {correlation}"
    style.tidy(ax, title, "true E", f"inferred {name} (95 % interval)")
    if table["kind"].nunique() > 1:
        style.legend_above(ax, _point_handles(table))
    return ax


def _together(sources: pd.DataFrame, targets: pd.DataFrame | None) -> pd.DataFrame:
    """Sources and targets in one table with the column ``kind``."""
    tables = [sources.assign(kind=SOURCE)]
    if targets is not None:
        outside = targets.get("outside", pd.Series(False, index=targets.index)).astype(bool)
        tables.append(targets.assign(kind=np.where(outside, OUTSIDE, TARGET)))
    for table in tables:
        needed = [c for c in sources.columns if str(c).endswith("_mean")] or ["E1_mean"]
        needed += [c.removesuffix("_mean") + "_sd" for c in needed]
        if absent := [c for c in needed if c not in table]:
            raise ValueError(
                f"A table of environments needs columns like E1_mean and E1_sd; {absent} missing "
                f"among {[c for c in table if c != 'kind']}."
            )
    return pd.concat(tables)


def _true_values(true: Mapping[Any, float] | ArrayLike, table: pd.DataFrame) -> NDArray[np.float64]:
    if isinstance(true, Mapping | pd.Series):
        if absent := [domain for domain in table.index if domain not in true]:
            raise ValueError(f"The true environment lacks these domains: {absent}.")
        true = [true[domain] for domain in table.index]
    values = np.asarray(true, dtype=float)
    if values.size != len(table):
        raise ValueError(
            f"The true environment needs one number per domain ({len(table)}), got {values.shape}."
        )
    return values.reshape(len(table))


def _correlation(true: NDArray[np.float64], table: pd.DataFrame, name: str) -> float:
    """Pearson's correlation; 0 where it is not defined."""
    inferred = table[f"{name}_mean"].to_numpy(dtype=float)
    if len(true) < 2 or not true.std() or not inferred.std():
        return 0.0
    return float(np.corrcoef(true, inferred)[0, 1])


def _draw_fit(ax: Axes, true: NDArray[np.float64], table: pd.DataFrame, name: str) -> None:
    if len(true) > 2:
        slope, intercept = _line(true, table, name)
        ax.axline((0, intercept), slope=slope, color=style.GREY, linewidth=1, zorder=1)


def _plot_rows(table: pd.DataFrame, ax: Axes | None, true: NDArray[np.float64] | None) -> Axes:
    order = np.argsort(table["E1_mean"].to_numpy(), kind="stable")
    n = len(table)
    ax = style.axes(ax, (6.4, min(1.4 + 0.24 * n, 11.0)))
    means = table.loc[table["kind"] == SOURCE, "E1_mean"]
    handles = _point_handles(table)
    if len(means) > 1:
        ax.axvspan(means.min(), means.max(), color=RANGE_COLOR, linewidth=0, zorder=0)
        handles.append(Patch(color=RANGE_COLOR, label=SPAN))

    row = np.empty(n)
    row[order] = np.arange(n)
    for kind, group in table.groupby("kind", sort=False):
        ax.errorbar(
            group["E1_mean"],
            row[(table["kind"] == kind).to_numpy()],
            xerr=style.Z95 * group["E1_sd"],
            **_point_look(str(kind)),
        )
    if true is not None:
        is_source = (table["kind"] == SOURCE).to_numpy()
        slope, intercept = _line(true[is_source], table[is_source], "E1")
        ax.plot(
            slope * true + intercept,
            row,
            "|",
            color=style.INK,
            markersize=11,
            markeredgewidth=1.6,
            zorder=4,
        )
        look = {"color": style.INK, "marker": "|", "markersize": 10, "markeredgewidth": 1.6}
        handles.append(Line2D([], [], linestyle="none", label="true E, aligned", **look))  # type: ignore[arg-type]

    style.tidy(ax, "Environment of each domain", "E (mean and 95 % interval)", "", grid="x")
    kinds = table["kind"].to_numpy()[order]
    named = _named_rows(kinds == SOURCE)
    ax.set_yticks(named, [shortened(str(domain)) for domain in table.index[order[named]]])
    ax.tick_params(axis="y", length=0, labelsize="small" if n > 15 else "medium")
    for tick, kind in zip(ax.get_yticklabels(), kinds[named], strict=True):
        tick.set_color(COLORS[kind])
        tick.set_parse_math(False)
    ax.set_ylim(-0.8, n - 0.2)
    ax.spines["left"].set_visible(False)
    style.legend_above(ax, handles)
    return ax


def _named_rows(is_source: NDArray[np.bool_]) -> NDArray[np.int_]:
    """All targets and, of many sources, every k-th that does not overlap a target."""
    step = -(-len(is_source) // MAX_NAMES)
    targets = np.flatnonzero(~is_source)
    sources = [
        row
        for row in range(0, len(is_source), step)
        if is_source[row] and (np.abs(targets - row) >= step).all()
    ]
    return np.sort(np.concatenate([targets, np.array(sources, dtype=int)]))


def _line(true: NDArray[np.float64], table: pd.DataFrame, name: str) -> tuple[float, float]:
    """Slope and intercept of the inferred on the true values; the identity for too few."""
    if len(true) < 3 or not true.std():
        return 1.0, 0.0
    slope, intercept = np.polyfit(true, table[f"{name}_mean"].to_numpy(dtype=float), 1)
    return float(slope), float(intercept)


def _plot_plane(table: pd.DataFrame, ax: Axes | None) -> Axes:
    is_source = (table["kind"] == SOURCE).to_numpy()
    plane = plane_of(table, is_source)
    ax = style.axes(ax, (6.0, 5.4))
    handles = _point_handles(table)
    if plane.is_whole and is_source.sum() > 1:
        low, high = plane.points[is_source].min(0), plane.points[is_source].max(0)
        look: dict[str, Any] = {
            "facecolor": "#F3F7FA",
            "edgecolor": style.GREY,
            "linestyle": (0, (4, 3)),
        }
        ax.add_patch(Rectangle(tuple(low), *(high - low), zorder=0, **look))
        handles.append(Patch(label=SPAN, **look))
    looks = {kind: {k: _point_look(kind)[k] for k in POINT_KEYS} for kind in COLORS}
    plot_plane(ax, plane, table, looks)
    style.tidy(ax, "Environment of each domain", *plane.titles)
    style.legend_above(ax, handles)
    name_points(ax, plane, table, COLORS, is_source)
    return ax


POINT_KEYS = ("color", "marker", "markersize", "linestyle", "markeredgecolor", "zorder")


def _point_look(kind: str) -> dict[str, Any]:
    return {
        "color": COLORS[kind],
        "marker": MARKERS[kind],
        "markersize": 8 if kind == OUTSIDE else 6,
        "linestyle": "none",
        "markeredgecolor": "white",
        "zorder": 3,
        "elinewidth": 1.6,
        "ecolor": COLORS[kind] + "99",
    }


def _point_handles(table: pd.DataFrame) -> list[Any]:
    present = [kind for kind in (SOURCE, TARGET, OUTSIDE) if (table["kind"] == kind).any()]
    return [
        Line2D([], [], label=kind, **{k: _point_look(kind)[k] for k in POINT_KEYS})
        for kind in present
    ]
