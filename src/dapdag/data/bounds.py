"""Bounds that no label can leave, such as 0 of a count."""

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..model.constants import ENOUGH_NEAR, NEAR_ZERO
from .sample import Sample

Bounds = tuple[float, float]
OPEN: Bounds = (-np.inf, np.inf)


def checked_bounds(given: Any) -> Bounds | str:
    """The parameter `label_bounds` as two numbers, infinite where open; or "auto"."""
    if given is None:
        return OPEN
    if isinstance(given, str):
        if given == "auto":
            return given
    elif isinstance(given, Sequence | np.ndarray) and len(given) == 2:
        low, high = (
            (otherwise if v is None else v) for v, otherwise in zip(given, OPEN, strict=True)
        )
        if all(isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in (low, high)):
            if low < high:  # not so for NaN
                return float(low), float(high)
            raise ValueError(f"label_bounds must hold the lower bound first, not {given!r}")
    raise ValueError(
        "label_bounds must be None, 'auto' or a pair of numbers such as (0, None), where None is "
        f"open, not {given!r}"
    )


def label_bounds(given: Any, labels: NDArray[np.float64]) -> Bounds:
    """The bounds; "auto" is 0 from below for labels that stop there, see `NEAR_ZERO`."""
    bounds = checked_bounds(given)
    if not isinstance(bounds, str):
        return bounds
    known = labels[~np.isnan(labels)]
    if known.min() < 0 or not known.max():
        return OPEN
    known = known / known.max()  # squares of very large or small labels are no numbers
    return (0.0, np.inf) if (known < NEAR_ZERO * known.std()).sum() >= ENOUGH_NEAR else OPEN


def refuse_labels_outside(sample: Sample, given: Any) -> None:
    """ValueError that names the rows and sites of labels outside the bounds that were given."""
    bounds = checked_bounds(given)
    if sample.classes is not None and bounds not in (OPEN, "auto"):
        raise ValueError(
            "label_bounds is for numbers, a class has none: leave it None, or predict a number "
            "(DAPDAGRegressor; --task regression on the command line)"
        )
    if isinstance(bounds, str) or sample.classes is not None:
        return
    rows = sample.labelled
    values = sample.y[rows].astype(float)
    outside = rows[(values < bounds[0]) | (values > bounds[1])]
    if not len(outside):
        return
    low, high = bounds
    names = pd.unique(pd.Series([_named(sample, int(k)) for k in outside]))
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    raise ValueError(
        f"label_bounds is ({low:g}, {high:g}), but {len(outside)} label(s) of "
        f"{sample.label_name!r} lie outside: {some}; correct them or widen the bounds"
    )


def _named(sample: Sample, row: int) -> str:
    site: Hashable = sample.domain_labels[sample.domain[row]]
    return f"{sample.y[row]:g} in row {sample.X.index[row]!r} of site {site!r}"
