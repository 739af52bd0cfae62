"""Labels of sites and levels, in an order that does not depend on the order of the rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def numbered(labels: Any) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Position of each label among the sorted ones, −1 for a missing one, and those."""
    codes, found = pd.factorize(labels)
    found = list(found.tolist() if isinstance(found, np.ndarray) else found)
    names = sorted_labels(found)
    number = np.array([*(names.index(label) for label in found), -1], dtype=np.intp)
    return number[codes], names


def sorted_labels(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Labels by type, then by value; by their text where values cannot be compared."""
    by_type: dict[str, list[Any]] = {}
    for label in labels:
        by_type.setdefault(str(type(label)), []).append(label)
    out: list[Hashable] = []
    for _, own in sorted(by_type.items()):
        try:
            out += sorted(own)
        except TypeError:
            out += sorted(own, key=str)
    return tuple(out)
