"""Predictions against what was observed."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score

from dapdag.plotting import style

N_BINS = 10


def plot_predictions(
    y_true: ArrayLike, y_pred: ArrayLike, y_std: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Predicted against actual values, with R².

    Parameters
    ----------
    y_true : array-like
        Actual values.
    y_pred : array-like
        Predictions, as many.
    y_std : array of shape (n,), optional
        Standard deviations of the predictions. The band around the diagonal is then the typical 95
        % interval at each actual value, and the share of rows that lie in their own interval is
        written into the plot.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from dapdag.plotting import plot_predictions
    >>> ax = plot_predictions([1.0, 2.0, 3.0], [1.1, 1.8, 3.2])
    """
    true, pred = column("y_true", y_true), column("y_pred", y_pred)
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
        _interval_band(ax, true, pred, column("y_std", y_std), limits)
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


def column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float).squeeze()
    array = np.atleast_1d(array)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one value per row, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds {(~np.isfinite(array)).sum()} missing or infinite values.")
    return array
