"""Decision curves and flexible calibration curves, with confidence bands."""

from collections.abc import Hashable

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dapdag.evaluate.clinical.estimates import BINARY
from dapdag.evaluate.clinical.validation import Validation
from dapdag.plotting import style

# Below this share of the best net benefit, treating all is off the axis.
LOWEST = -0.25


def plot_decision_curve(
    validation: Validation,
    target: Hashable | None = None,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Net benefit over the threshold from which one would treat, against treating all or none.

    Parameters
    ----------
    validation : Validation
        What `Evaluation.validation` or `validate` returned, of an event.
    target : hashable, optional
        A site; by default the first.
    method : str, optional
        By default the last one.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    target = validation.targets[0] if target is None else target
    curve = validation.decision_curve(target, method)
    ax = style.axes(ax, (5.4, 4.2))
    t = curve["threshold"]
    ax.fill_between(t, curve["low"], curve["high"], color=style.BLUE, alpha=0.18, linewidth=0)
    ax.plot(t, curve["net_benefit"], color=style.BLUE, label=method or validation.best())
    ax.plot(t, curve["treat_all"], color=style.VERMILLION, linewidth=1.2, label="treat all")
    ax.plot(t, curve["treat_none"], color=style.GREY, linewidth=1.2, label="treat none")
    top = float(curve[["net_benefit", "treat_all"]].to_numpy().max())
    title = f"{target}: net benefit of treating by the model"
    style.tidy(ax, title, "threshold probability", "net benefit (per row)")
    ax.set(xlim=(0, 1), ylim=(LOWEST * top, 1.1 * top))
    ax.legend(frameon=False, fontsize="small", labelcolor=style.INK)
    return ax


def plot_calibration_curve(
    validation: Validation,
    target: Hashable | None = None,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Outcome against prediction as a smooth curve with its 95 % confidence band.

    The marks at the foot are the predictions. See `Validation.calibration_curve`.

    Parameters
    ----------
    validation : Validation
        What `Evaluation.validation` or `validate` returned.
    target : hashable, optional
        A site; by default the first.
    method : str, optional
        By default the last one.
    ax : Axes, optional
        Axes to draw on. By default a new figure is made.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.
    """
    target = validation.targets[0] if target is None else target
    curve = validation.calibration_curve(target, method)
    _, p = validation.rows_of(target, method)
    ax = style.axes(ax, (4.8, 4.8))
    ends = _range(validation, p, curve.to_numpy())
    ax.plot(ends, ends, color=style.GREY, linewidth=1, zorder=1)
    at = curve["predicted"]
    ax.fill_between(at, curve["low"], curve["high"], color=style.BLUE, alpha=0.18, linewidth=0)
    ax.plot(at, curve["observed"], color=style.BLUE, zorder=3)
    ax.plot(
        p,
        np.full(len(p), 0.012),
        "|",
        color=style.INK,
        alpha=0.35,
        markersize=6,
        transform=ax.get_xaxis_transform(),
    )
    events = validation.task == BINARY
    axis = ("predicted probability", "observed share") if events else ("predicted", "observed")
    style.tidy(ax, f"{target}: calibration of {method or validation.best()}", *axis)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    return ax


def _range(validation: Validation, p: NDArray, curve: NDArray) -> tuple[float, float]:
    if validation.task == BINARY:
        return 0.0, 1.0
    low, high = min(p.min(), curve.min()), max(p.max(), curve.max())
    margin = 0.03 * (high - low)
    return float(low - margin), float(high + margin)
