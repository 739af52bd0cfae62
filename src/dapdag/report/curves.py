"""Calibration and decision curves with their confidence bands, as inline SVG."""

import numpy as np
import pandas as pd

from .._runtime.text import number
from .markup import Markup, tag
from .svg import Frame, chart, padded, polyline

# Net benefit is shown down to this share of its largest value.
LOWEST = -0.2


def calibration_picture(curve: pd.DataFrame, axes: tuple[str, str], binary: bool) -> Markup:
    """Observed against predicted, with the diagonal."""
    values = curve[["predicted", "observed", "low", "high"]].to_numpy()
    limits = (0.0, 1.0) if binary else padded(float(values.min()), float(values.max()))
    frame = Frame(limits, limits, 300.0)
    marks = [
        polyline(frame, limits, limits, "diagonal"),
        band(frame, curve["predicted"], curve["low"], curve["high"]),
        polyline(frame, curve["predicted"], curve["observed"], "line"),
    ]
    chosen = curve.iloc[[0, len(curve) // 2, -1]]
    said = "; ".join(
        f"{number(float(p), 2)} → {number(float(o), 2)}"
        for p, o in zip(chosen["predicted"], chosen["observed"], strict=True)
    )
    return chart(frame, marks, *axes, f"Smooth calibration curve, predicted → observed: {said}.")


def decision_picture(curve: pd.DataFrame) -> Markup:
    """Net benefit of treating by the model, all, or none."""
    top = float(curve[["net_benefit", "treat_all"]].to_numpy().max())
    top = top if top > 0 else 0.01
    frame = Frame((0.0, 1.0), (LOWEST * top, 1.08 * top), 300.0)

    def kept(values: pd.Series) -> np.ndarray:
        return np.clip(values.to_numpy(dtype=float), *frame.y)

    t = curve["threshold"]
    marks = [
        band(frame, t, kept(curve["low"]), kept(curve["high"])),
        *_inside(frame, t, curve["treat_all"], "treat-all"),
        polyline(frame, [0.0, 1.0], [0.0, 0.0], "diagonal"),
        *_inside(frame, t, curve["net_benefit"], "line"),
    ]
    description = (
        "Decision curve: net benefit of treating by the model, of treating all and of treating "
        "none, over the threshold probability."
    )
    return chart(frame, marks, "threshold probability", "net benefit per row", description)


def _inside(frame: Frame, x: pd.Series, y: pd.Series, class_: str) -> list[Markup]:
    """The parts of a curve above the lower end of the frame."""
    shown = (y >= frame.y[0]).to_numpy()
    parts = np.split(np.arange(len(y)), np.flatnonzero(np.diff(shown)) + 1)
    return [polyline(frame, x.iloc[k], y.iloc[k], class_) for k in parts if shown[k].all()]


def band(frame: Frame, x: object, low: object, high: object) -> Markup:
    """The area between two curves."""
    along = np.asarray(frame.across(np.asarray(x, dtype=float)))
    lower, upper = (np.asarray(frame.up(np.asarray(v, dtype=float))) for v in (low, high))
    there = [f"{a:.1f},{b:.1f}" for a, b in zip(along, upper, strict=True)]
    back = [f"{a:.1f},{b:.1f}" for a, b in zip(along[::-1], lower[::-1], strict=True)]
    return tag("polygon", points=" ".join([*there, *back]), class_="area")
