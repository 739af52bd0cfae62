"""Encoding of a table: what kind each column is, on scales that the search can use."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dapdag._runtime.warning import DataWarning
from dapdag.structure.constants import COPY_R2, KNOTS
from dapdag.structure.filling import fill_missing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Columns that vary, rows sorted by site, both in an order that only the content decides.

    A numeric column has mean 0 and variance 1 and a sign such that it is skewed to the right. A
    categorical column holds codes 0, 1, …, the most frequent level first.
    """

    names: tuple[Hashable, ...]
    values: Array  # [rows, columns]
    normal: Array  # [rows, columns]: normal scores of the ranks
    normal_scale: Array  # [columns]: their standard deviation
    levels: tuple[int, ...]  # number of levels of a binary or categorical column, 0 if numeric
    n_distinct: NDArray[np.intp]  # [columns]
    knots: tuple[Array, ...]  # of cubic splines, per column
    site: NDArray[np.intp]  # [rows], sorted
    bounds: NDArray[np.intp]  # [sites + 1]: first row of each site

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.values.shape[1])

    @property
    def n_sites(self) -> int:
        return len(self.bounds) - 1


@dataclass(frozen=True, eq=False)
class Table:
    """Names, sites, and the columns as numbers with NaN for missing."""

    names: tuple[Hashable, ...]
    values: Array  # [rows, columns]; codes for categorical columns
    levels: tuple[int, ...]
    site: NDArray[np.intp]
    site_names: tuple[Hashable, ...]


def encode(table: Table, seed: int) -> Encoded:
    """Drop constant columns, fix the order of columns and rows, fill missing cells, add ranks."""
    values, position = _canonical(table.values, table.levels, table.names)
    rows = _row_order(values, table.site)
    values, site = values[rows], table.site[rows]
    bounds = np.searchsorted(site, np.arange(len(table.site_names) + 1)).astype(np.intp)
    levels = tuple(table.levels[k] for k in position)
    values = fill_missing(values, bounds, levels, seed)
    return _with_ranks(tuple(table.names[k] for k in position), values, levels, site, bounds)


def content_order(
    values: Array, levels: Sequence[int], names: Sequence[Hashable], site: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Order of the rows that is the same for permuted rows and columns and for other scales."""
    return _row_order(_canonical(values, levels, names)[0], site)


def _canonical(
    values: Array, levels: Sequence[int], names: Sequence[Hashable]
) -> tuple[Array, list[int]]:
    """Columns that vary, on scales and in an order that only the content decides; their places."""
    varied = [j for j in range(len(names)) if varies(values[:, j])]
    values = values[:, varied].copy()
    keys = []
    for k, j in enumerate(varied):
        scaled = _frequent_first if levels[j] else _standardise
        values[:, k], key = scaled(values[:, k])
        keys.append((levels[j], *key, str(names[j])))
    order = sorted(range(len(varied)), key=keys.__getitem__)
    return values[:, order], [varied[k] for k in order]


def _row_order(values: Array, site: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows sorted by site, then by their values, by as many columns as tell them apart."""
    n_columns, n_keys = values.shape[1], 1
    while True:
        keys = [values[:, k] for k in reversed(range(min(n_keys, n_columns)))]
        rows = np.lexsort([*keys, site])
        tied = site[rows[1:]] == site[rows[:-1]]
        for key in keys:
            a, b = key[rows[1:]], key[rows[:-1]]
            tied &= (a == b) | (np.isnan(a) & np.isnan(b))
        if n_keys >= n_columns or not tied.any():
            return rows
        n_keys *= 2


def _with_ranks(
    names: tuple[Hashable, ...],
    values: Array,
    levels: tuple[int, ...],
    site: NDArray[np.intp],
    bounds: NDArray[np.intp],
) -> Encoded:
    normal = np.empty_like(values)
    n_distinct = np.empty(len(names), dtype=np.intp)
    for k, n_levels in enumerate(levels):
        if n_levels <= 2:
            values[:, k] = _scaled(values[:, k])
        normal[:, k], n_distinct[k] = normal_scores(values[:, k])
    scale = normal.std(axis=0) if len(names) else np.ones(0)
    knots = tuple(_spline_knots(values[:, k]) for k in range(len(names)))
    return Encoded(names, values, normal, scale, levels, n_distinct, knots, site, bounds)


def normal_scores(values: Array) -> tuple[Array, int]:
    """Φ⁻¹ of mid-ranks, and the number of distinct values."""
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(count) - count / 2) / len(values)
    return ndtri(middle)[inverse], len(count)


def _spline_knots(values: Array) -> Array:
    """Interior knots at quantiles between those of the smallest and the largest value."""
    low, high = values.min(), values.max()
    inner = np.unique(np.quantile(values, KNOTS))
    inner = inner[(inner > low) & (inner < high)]
    return np.concatenate([np.full(4, low), inner, np.full(4, high)])


def warn_of_copies(table: Encoded) -> None:
    """Warn once of pairs of numeric columns that are linear functions of each other."""
    numeric = [j for j, n in enumerate(table.levels) if n <= 2]
    Z = table.values[:, numeric]
    r2 = np.triu((Z.T @ Z / len(Z)) ** 2, k=1)
    pairs = [
        f"{table.names[numeric[a]]!r} and {table.names[numeric[b]]!r}"
        for a, b in np.argwhere(r2 >= COPY_R2).tolist()
    ]
    if pairs:
        shown = "; ".join(pairs[:5]) + ("; …" if len(pairs) > 5 else "")
        warnings.warn(
            f"Columns that are copies of each other: {shown}. Which of them is a cause cannot be "
            "told from data; leave one of each pair out for a graph that can be read.",
            DataWarning,
            stacklevel=3,
        )


def varies(values: Array) -> bool:
    """Whether a column has two values."""
    observed = values[~np.isnan(values)]
    return bool(len(observed) and np.ptp(observed) > 0)


def _frequent_first(codes: Array) -> tuple[Array, tuple[float, ...]]:
    """Codes renumbered by falling frequency, and the frequencies.

    Equally frequent levels keep the order of their codes.
    """
    known = ~np.isnan(codes)
    count = np.bincount(codes[known].astype(int))
    rank = np.empty(len(count))
    rank[np.argsort(-count, kind="stable")] = np.arange(len(count))
    out = np.full(len(codes), np.nan)
    out[known] = rank[codes[known].astype(int)]
    return out, tuple(np.sort(count)[::-1].tolist())


def _standardise(values: Array) -> tuple[Array, tuple[float, ...]]:
    """Mean 0, variance 1, skewed to the right; and a key that ignores scale and row order."""
    z = _scaled(values)
    known = z[~np.isnan(z)]
    skewness, kurtosis = float(np.mean(known**3)), float(np.mean(known**4))
    key = (round(abs(skewness), 7), round(kurtosis, 7), len(known))
    return z if skewness >= 0 else -z, key


def _scaled(values: Array) -> Array:
    # A power of two changes no digit, and keeps squares of huge or tiny numbers finite.
    values = np.ldexp(values, -int(np.frexp(np.nanmax(np.abs(values)))[1]))
    # sums of sorted values do not depend on the order of the rows, to the last digit
    ascending = np.sort(values[~np.isnan(values)])
    mean = ascending.mean()
    return np.asarray((values - mean) / (ascending - mean).std())
