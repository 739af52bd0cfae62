"""The domain of every row, as users give it."""

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def domain_array(sample_domain: Any, n_rows: int) -> NDArray:
    """One domain label per row, as an object or integer array."""
    labels = np.asarray(sample_domain)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"sample_domain must hold one label per row: X has {n_rows} rows, sample_domain has "
            f"shape {labels.shape}"
        )
    missing = pd.isna(labels)
    if missing.any():
        raise ValueError(
            f"sample_domain is missing in {int(missing.sum())} row(s), the first at position "
            f"{int(np.argmax(missing))}: every row must belong to a domain"
        )
    if labels.dtype.kind == "f":
        if not np.all(labels == labels.astype(np.int64)):
            raise ValueError("sample_domain must be integers or strings, not fractions")
        labels = labels.astype(np.int64)
    return labels


def rows_by_domain(domain: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """Positions of the rows of every domain, in one pass over the rows."""
    order = np.argsort(domain, kind="stable")
    ends = np.cumsum(np.bincount(domain))
    return np.split(order, ends[:-1])


def natural_positions(labels: Sequence[Hashable]) -> list[int]:
    """Positions of the labels in natural order: numbers by size, then texts, in which "site 9"
    comes before "site 10"."""
    return sorted(range(len(labels)), key=lambda k: _natural_key(labels[k]))


def _natural_key(label: Hashable) -> tuple[Any, ...]:
    if isinstance(label, int | float | np.number):
        return (0, float(label))
    parts = re.split(r"(\d+)", str(label))
    return (1, *((int(p), "") if p.isdigit() else (-1, p) for p in parts))
