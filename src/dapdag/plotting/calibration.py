"""Calibration: predicted probabilities and intervals against observations."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dapdag.inference.reliability import (
    N_BINS,
    calibration_error,
    equal_bins,
    interval_coverage,
    wilson,
)
from dapdag.plotting import style
from dapdag.plotting.predictions import column
from dapdag.record import Bin

# Where the columns of counts stand in a calibration plot.
FOOT = -0.2
LEVELS = np.arange(1, 20) / 20


def plot_calibration(y_true: ArrayLike, proba: ArrayLike, ax: Axes | None = None) -> Axes:
    """Observed frequency against predicted probability, in ten equal bins.

    Bars of the points are 95 % (Wilson) intervals; the columns at the foot show how many rows
    each bin holds. The title gives the expected calibration error: the mean distance from the
    diagonal, weighted by rows.

    Parameters
    ----------
    y_true : array-like
        Array of shape (n,) 0 and 1, or booleans.
    proba : array of shape (n,) or (n, 2)
        Probability of class 1, or of both classes.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    probability = np.asarray(proba, dtype=float)
    if probability.ndim == 2 and probability.shape[1] == 2:
        probability = probability[:, 1]
    probability, true = column("proba", probability), column("y_true", y_true)
    if true.shape != probability.shape or not len(true):
        raise ValueError(
            f"y_true and proba need the same length, got {len(true)} and {len(probability)}."
        )
    if not np.isin(true, [0, 1]).all():
        raise ValueError(f"y_true must hold 0 and 1 only, got {np.unique(true)[:5].tolist()}.")
    if probability.min() < 0 or probability.max() > 1:
        raise ValueError("proba must lie between 0 and 1.")

    bins = equal_bins(true, probability)
    predicted, observed = (
        np.array([getattr(b, k) for b in bins]) for k in ("predicted", "observed")
    )
    ax = style.axes(ax, (4.8, 4.8))
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, zorder=1)
    _draw_counts(ax, bins)
    bars = np.abs(wilson(observed, [b.rows for b in bins]) - observed)
    ax.errorbar(predicted, observed, bars, fmt="none", ecolor=style.BLUE + "88", elinewidth=1.4)
    ax.plot(predicted, observed, "o-", color=style.BLUE, markersize=6, linewidth=1.2, zorder=3)
    title = f"Calibration: {calibration_error(bins):.3f} from the diagonal on average"
    style.tidy(ax, title, "predicted probability", "observed frequency")
    ax.set(xlim=(-0.02, 1.02), ylim=(FOOT, 1.03), aspect="equal")
    ax.set_yticks(np.linspace(0, 1, 6))
    return ax


def _draw_counts(ax: Axes, bins: list[Bin]) -> None:
    """Columns below zero, where no point lies, with the number of rows on top."""
    rows = np.array([b.rows for b in bins])
    height = 0.1 * rows / rows.max()
    cell = np.minimum((np.array([b.predicted for b in bins]) * N_BINS).astype(int), N_BINS - 1)
    centre = (cell + 0.5) / N_BINS
    ax.bar(centre, height, width=0.9 / N_BINS, bottom=FOOT, color=style.GREY, alpha=0.4, zorder=2)
    for x, top, count in zip(centre, FOOT + height, rows, strict=True):
        text = f"{count}" if count < 10_000 else f"{count / 1000:.0f}k"
        ax.text(x, top + 0.008, text, ha="center", fontsize="x-small", color=style.INK)


def plot_coverage(
    y_true: ArrayLike, y_pred: ArrayLike, y_std: ArrayLike, ax: Axes | None = None
) -> Axes:
    """Share of rows inside their central interval against the interval's nominal level.

    Below the diagonal the intervals are too narrow, above it too wide. The shaded band
    is where 95 % of samples of this size would lie if the intervals were right.

    Parameters
    ----------
    y_true : array-like
        Actual values.
    y_pred : array-like
        Predictions.
    y_std : array-like
        Their standard deviations.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    true, pred, std = (
        column(name, values)
        for name, values in (("y_true", y_true), ("y_pred", y_pred), ("y_std", y_std))
    )
    if not true.shape == pred.shape == std.shape:
        raise ValueError(
            "y_true, y_pred and y_std need the same length, got "
            f"{len(true)}, {len(pred)} and {len(std)}."
        )
    if (std < 0).any():
        raise ValueError("y_std needs one non-negative number per prediction.")
    found = np.array([c.observed for c in interval_coverage(true, pred, std, LEVELS)])
    ax = style.axes(ax, (4.8, 4.8))
    _draw_chance(ax, len(true))
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, zorder=1)
    ax.plot(LEVELS, found, "o-", color=style.BLUE, markersize=4.5, linewidth=1.2, zorder=3)
    at_90 = found[np.argmin(np.abs(LEVELS - 0.9))]
    title = f"Coverage: 90 % intervals hold {at_90:.0%} of {len(true):,} rows"
    style.tidy(ax, title, "nominal level of the interval", "share of rows inside")
    ax.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    return ax


def _draw_chance(ax: Axes, n: int) -> None:
    low, high = _chance(LEVELS, n)
    ax.fill_between(LEVELS, low, high, color=style.BLUE, alpha=0.12, linewidth=0, zorder=0)


def _chance(level: NDArray[np.float64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    half = style.Z95 * np.sqrt(level * (1 - level) / n)
    return np.clip(level - half, 0, 1), np.clip(level + half, 0, 1)
