"""Columns of a summarised table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.statistics import Array

_MANY = 3


@dataclass(frozen=True, eq=False)
class Column:
    """What all rows say of one column; without a value it may still turn out to be of any kind."""

    name: Hashable
    levels: tuple[Hashable, ...] | None  # of text, categories and booleans, sorted; None: numbers
    distinct: Array  # the `_MANY` smallest values of a column of numbers
    n_observed: int

    def __add__(self, other: Column) -> Column:
        count = self.n_observed + other.n_observed
        if not self.n_observed or not other.n_observed:
            return replace(self if self.n_observed else other, n_observed=count)
        if (self.levels is None) != (other.levels is None):
            raise ValueError(
                f"Column {self.name!r} holds numbers in one part of the table and text, categories "
                "or booleans in another: read all parts with the same type."
            )
        if self.levels is None or other.levels is None:
            both = np.union1d(self.distinct, other.distinct)[:_MANY]
            return replace(self, distinct=both, n_observed=count)
        levels = sorted_labels({*self.levels, *other.levels})
        return replace(self, levels=_checked(self.name, levels), n_observed=count)


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


def read_column(
    name: Hashable, column: pd.Series, site: NDArray[np.intp], sites: tuple[Hashable, ...]
) -> tuple[Column, Array]:
    """Summary and values of a column; codes if it has levels."""
    n_observed = int(column.notna().sum())
    if not n_observed:
        return Column(name, None, np.zeros(0), 0), np.full(len(column), np.nan)
    column = column.infer_objects()
    if column.dtype.kind in "mMc" or isinstance(column.dtype, pd.PeriodDtype):
        raise ValueError(
            f"Column {name!r} holds dates, durations or complex numbers ({column.dtype}): turn it "
            "into numbers, days since a fixed date for instance, or leave it out."
        )
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        try:
            codes, levels = numbered(column)
        except TypeError:
            raise ValueError(
                f"Column {name!r} holds lists or other values that are neither numbers nor levels."
            ) from None
        values = np.where(codes < 0, np.nan, codes).astype(float)
        return Column(name, _checked(name, levels), np.zeros(0), n_observed), values
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if len(infinite := np.flatnonzero(np.isinf(values))):
        raise ValueError(
            f"Column {name!r} has {len(infinite)} infinite value(s), the first at site "
            f"{sites[site[infinite[0]]]!r} (row {infinite[0]}): replace them by NaN or by a finite "
            "number."
        )
    return Column(name, None, _few_distinct(values), n_observed), values


def _few_distinct(values: Array) -> Array:
    """The `_MANY` smallest distinct values."""
    found: list[float] = []
    left = values[~np.isnan(values)]
    while len(left) and len(found) < _MANY:
        found.append(float(left.min()))
        left = left[left > found[-1]]
    return np.array(found)


def _checked(name: Hashable, levels: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    if len(levels) > c.MAX_LEVELS:
        raise ValueError(
            f"Column {name!r} holds text or categories with {len(levels)} levels, more than "
            f"{c.MAX_LEVELS}: merge rare levels, turn it into numbers, or leave it out."
        )
    return levels


# Distinct values of a number that are counted: two make it binary.
