"""Checks of what `fit` is told about rows: how much each counts, and which belong together."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.warning import DataWarning


def checked_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """One weight per row, not negative; None where none are given."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers ({error})") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number per row: X has {n_rows} rows, sample_weight has "
            f"shape {weight.shape}"
        )
    for wrong, what in (
        (np.isnan(weight), "is missing (NaN)"),
        (np.isinf(weight), "is infinite"),
        (weight < 0, "is negative"),
    ):
        if wrong.any():
            raise ValueError(
                f"sample_weight {what} in {int(wrong.sum())} row(s), the first at position "
                f"{int(np.argmax(wrong))}: give every row a number of at least 0; 0 leaves it out"
            )
    if not weight.any():
        raise ValueError("sample_weight is zero in every row: there is nothing to learn from")
    return weight


def relative(weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Positive weights scaled to mean 1; None where they are all the same."""
    if weight is None or np.ptp(weight) == 0:
        return None
    scaled = weight / weight.max()  # neither sum nor mean may overflow
    return np.asarray(scaled / scaled.mean())


def checked_groups(groups: Any, n_rows: int) -> NDArray[np.intp] | None:
    """The code of every row's group; None where none are given."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must hold one label per row: X has {n_rows} rows, groups has shape "
            f"{labels.shape}"
        )
    missing = pd.isna(labels)
    if missing.any():
        raise ValueError(
            f"groups is missing in {int(missing.sum())} row(s), the first at position "
            f"{int(np.argmax(missing))}: give a row that belongs to no other a label of its own"
        )
    return np.asarray(pd.factorize(labels)[0], dtype=np.intp)


def warn_of_lost_domains(dropped: NDArray, kept: NDArray) -> None:
    """Tell of domains all of whose rows have weight 0, given the domains of either kind of rows."""
    gone = [name for name in pd.unique(dropped) if name not in set(kept)]
    if gone:
        warnings.warn(
            f"sample_weight is 0 in every row of {', '.join(repr(str(v)) for v in gone[:4])}"
            f"{' …' if len(gone) > 4 else ''}: nothing is learned from there",
            DataWarning,
            stacklevel=5,
        )


def warn_of_shared_groups(group: NDArray[np.intp], domain: NDArray) -> None:
    """Tell of groups with rows in several domains."""
    several = pd.Series(domain, dtype=object).groupby(group).nunique()
    shared = several.index[several > 1]
    if len(shared):
        found = [str(v) for v in pd.unique(domain[group == shared[0]])[:2]]
        warnings.warn(
            f"{len(shared)} of {len(several)} groups have rows in several domains (one of them in "
            f"{found[0]!r} and {found[1]!r}): all rows of a group are on one side of the "
            "validation split, but a domain that is left out is not new to networks that saw its "
            "groups elsewhere",
            DataWarning,
            stacklevel=5,
        )
