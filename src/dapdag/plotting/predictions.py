"""Predictions against what was observed."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score

from dapdag.plotting import _style as style

N_BINS = 10
# Where the columns of counts stand in a calibration plot.
FOOT = -0.2


def plot_predictions(
    y_true: ArrayLike, y_pred: ArrayLike, y_std: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Predicted against actual values, with R².

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n,)
    y_std : array of shape (n,), optional
        Standard deviations of the predictions. The band around the diagonal is then the typical
        95 % interval at each actual value, and the share of rows that lie in their own interval
        is written into the plot.
    ax : Axes, optional
    """
    true, pred = _column("y_true", y_true), _column("y_pred", y_pred)
    if true.shape != pred.shape or len(true) < 2:
        raise ValueError(
            f"y_true and y_pred need the same length, at least 2; got {len(true)} and {len(pred)}."
        )
    ax = style.axes(ax, (4.8, 4.8))
    low, high = min(true.min(), pred.min()), max(true.max(), pred.max())
    margin = 0.04 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    ax.axline((0, 0), slope=1, color=style.GREY, linewidth=1, zorder=1)
    if y_std is not None:
        _interval_band(ax, true, pred, _column("y_std", y_std), limits)
    crowd = np.clip(300 / len(true), 0.15, 0.85)
    ax.plot(
        true,
        pred,
        "o",
        color=style.BLUE,
        alpha=float(crowd),
        markersize=4 if len(true) > 200 else 5.5,
        markeredgewidth=0,
        rasterized=len(true) > 5000,
        zorder=2,
    )
    title = f"Predicted against actual: R² = {r2_score(true, pred):.2f}"
    style.tidy(ax, title, "actual", "predicted")
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    return ax


def _interval_band(
    ax: Axes,
    true: NDArray[np.float64],
    pred: NDArray[np.float64],
    std: NDArray[np.float64],
    limits: tuple[float, float],
) -> None:
    if std.shape != true.shape or (std < 0).any():
        raise ValueError("y_std needs one non-negative number per prediction.")
    edges = np.quantile(true, np.linspace(0, 1, min(N_BINS, len(true) // 10 + 1) + 1))
    group = np.clip(np.searchsorted(edges, true, side="right") - 1, 0, len(edges) - 2)
    used = np.unique(group)
    centre = [np.median(true[group == k]) for k in used]
    half = [style.Z95 * np.median(std[group == k]) for k in used]
    x = np.unique(np.concatenate([limits, centre]))
    reach = np.interp(x, centre, half)
    ax.fill_between(x, x - reach, x + reach, color=style.BLUE, alpha=0.12, linewidth=0, zorder=0)
    covered = np.mean(np.abs(true - pred) <= style.Z95 * std)
    ax.text(
        0.03,
        0.97,
        f"95 % intervals (band: typical width)\nhold {covered:.0%} of the rows",
        transform=ax.transAxes,
        va="top",
        fontsize="small",
        color=style.INK,
        bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 1.5},
        zorder=4,
    )


def plot_calibration(y_true: ArrayLike, proba: ArrayLike, ax: Axes | None = None) -> Axes:
    """Observed frequency against predicted probability, in ten equal bins.

    Bars of the points are 95 % (Wilson) intervals; the columns at the foot show how many rows
    each bin holds. The title gives the expected calibration error: the mean distance from the
    diagonal, weighted by rows.

    Parameters
    ----------
    y_true : array of shape (n,)
        0 and 1, or booleans.
    proba : array of shape (n,) or (n, 2)
        Probability of class 1, or of both classes.
    ax : Axes, optional
    """
    probability = np.asarray(proba, dtype=float)
    if probability.ndim == 2 and probability.shape[1] == 2:
        probability = probability[:, 1]
    probability, true = _column("proba", probability), _column("y_true", y_true)
    if true.shape != probability.shape or not len(true):
        raise ValueError(
            f"y_true and proba need the same length, got {len(true)} and {len(probability)}."
        )
    if not np.isin(true, [0, 1]).all():
        raise ValueError(f"y_true must hold 0 and 1 only, got {np.unique(true)[:5].tolist()}.")
    if probability.min() < 0 or probability.max() > 1:
        raise ValueError("proba must lie between 0 and 1.")

    group = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    count = np.bincount(group, minlength=N_BINS)
    used = np.flatnonzero(count)
    predicted = np.bincount(group, probability, N_BINS)[used] / count[used]
    observed = np.bincount(group, true, N_BINS)[used] / count[used]

    ax = style.axes(ax, (4.8, 4.8))
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, zorder=1)
    _draw_counts(ax, count)
    bars = np.abs(_wilson(observed, count[used]) - observed)
    ax.errorbar(predicted, observed, bars, fmt="none", ecolor=style.BLUE + "88", elinewidth=1.4)
    ax.plot(predicted, observed, "o-", color=style.BLUE, markersize=6, linewidth=1.2, zorder=3)
    error = np.sum(count[used] * np.abs(predicted - observed)) / len(true)
    title = f"Calibration: {error:.3f} from the diagonal on average"
    style.tidy(ax, title, "predicted probability", "observed frequency")
    ax.set(xlim=(-0.02, 1.02), ylim=(FOOT, 1.03), aspect="equal")
    ax.set_yticks(np.linspace(0, 1, 6))
    return ax


def _draw_counts(ax: Axes, count: NDArray[np.int_]) -> None:
    """Columns below zero, where no point lies, with the number of rows on top."""
    height = 0.1 * count / count.max()
    centre = (np.arange(N_BINS) + 0.5) / N_BINS
    ax.bar(centre, height, width=0.9 / N_BINS, bottom=FOOT, color=style.GREY, alpha=0.4, zorder=2)
    for x, top, rows in zip(centre, FOOT + height, count, strict=True):
        if rows:
            text = f"{rows}" if rows < 10_000 else f"{rows / 1000:.0f}k"
            ax.text(x, top + 0.008, text, ha="center", fontsize="x-small", color=style.INK)


def _wilson(share: NDArray[np.float64], count: NDArray[np.int_]) -> NDArray[np.float64]:
    """Wilson's 95 % interval of a share, which stays within 0 and 1: array of shape (2, k)."""
    z2 = style.Z95**2 / count
    centre = (share + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    return np.clip([np.minimum(centre - half, share), np.maximum(centre + half, share)], 0, 1)


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float).squeeze()
    array = np.atleast_1d(array)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one value per row, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds {(~np.isfinite(array)).sum()} missing or infinite values.")
    return array
