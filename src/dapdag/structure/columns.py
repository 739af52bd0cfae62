"""Encoding of a table: what kind each column is, on scales that the search can use."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from dapdag._runtime.warning import DataWarning
from dapdag.data.domains import domain_array
from dapdag.structure.constants import COPY_R2, KNOTS, MAX_LEVELS, MAX_ROWS
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
    """What the user gave: names, sites, and the columns as numbers with NaN for missing."""

    names: tuple[Hashable, ...]
    values: Array  # [rows, columns]; codes for categorical columns
    levels: tuple[int, ...]
    site: NDArray[np.intp]
    site_names: tuple[Hashable, ...]


def read_table(X: Any, sample_domain: Any) -> Table:
    """Check the input and turn every column into numbers."""
    frame = X if isinstance(X, pd.DataFrame) else _frame(X)
    if repeated := sorted({str(n) for n in frame.columns[frame.columns.duplicated()]}):
        raise ValueError(f"Column names must be distinct; repeated: {repeated}.")
    if frame.shape[0] < 2 or frame.shape[1] < 1:
        raise ValueError(f"X must have at least two rows and one column, got {frame.shape}.")
    site, site_names = _sites(sample_domain, len(frame))
    columns = [_numbers(name, frame.iloc[:, j], site, site_names) for j, name in enumerate(frame)]
    return Table(
        tuple(frame.columns),
        np.stack([values for values, _ in columns], axis=1),
        tuple(levels for _, levels in columns),
        site,
        site_names,
    )


def encode(table: Table, seed: int) -> Encoded:
    """Drop constant columns, fix the order of columns and rows, fill missing cells, add ranks."""
    varied = [j for j in range(len(table.names)) if _varies(table.values[:, j])]
    values = table.values[:, varied].copy()
    names = [table.names[j] for j in varied]
    levels = [table.levels[j] for j in varied]
    keys = []
    for k, n_levels in enumerate(levels):
        if n_levels:
            values[:, k], key = _frequent_first(values[:, k])
        else:
            values[:, k], key = _standardise(values[:, k])
        keys.append((n_levels, *key, str(names[k])))
    order = sorted(range(len(varied)), key=keys.__getitem__)
    values = values[:, order]
    rows = _content_order(values, table.site)
    rows = _equal_share(rows, table.site[rows], seed)
    values, site = values[rows], table.site[rows]
    bounds = np.searchsorted(site, np.arange(len(table.site_names) + 1)).astype(np.intp)
    ordered_levels = tuple(levels[k] for k in order)
    values = fill_missing(values, bounds, ordered_levels, seed)
    return _with_ranks(tuple(names[k] for k in order), values, ordered_levels, site, bounds)


def _content_order(values: Array, site: NDArray[np.intp]) -> NDArray[np.intp]:
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


def _equal_share(rows: NDArray[np.intp], site: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """At most `MAX_ROWS` of rows that are sorted by site, the same share of every site."""
    if len(rows) <= MAX_ROWS:
        return rows
    rng = np.random.default_rng(seed)
    bounds = np.flatnonzero(np.diff(site, prepend=-1, append=-1)).tolist()
    kept = [
        a + np.sort(rng.permutation(b - a)[: max(1, round(MAX_ROWS * (b - a) / len(rows)))])
        for a, b in pairwise(bounds)
    ]
    return rows[np.concatenate(kept)]


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


def _frame(X: Any) -> pd.DataFrame:
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must be a table with rows and columns, got shape {values.shape}.")
    return pd.DataFrame(values).infer_objects()


def _sites(sample_domain: Any, n_rows: int) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Number and name of each row's site; sites are numbered in the order of their names."""
    if sample_domain is None:
        return np.zeros(n_rows, dtype=np.intp), ("all rows",)
    labels = domain_array(sample_domain, n_rows)
    codes, found = pd.factorize(labels)
    order = sorted(range(len(found)), key=lambda k: (str(type(found[k])), found[k]))
    number = np.empty(len(found), dtype=np.intp)
    number[order] = np.arange(len(found))
    return number[codes], tuple(found.tolist()[k] for k in order)


def _numbers(
    name: Hashable, column: pd.Series, site: NDArray[np.intp], site_names: tuple[Hashable, ...]
) -> tuple[Array, int]:
    """Values of a column, and its number of levels if it is binary or categorical."""
    if column.isna().all():
        raise ValueError(f"Column {name!r} has no value in any row: leave it out.")
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return _codes(name, column)
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if len(infinite := np.flatnonzero(np.isinf(values))):
        where = site_names[site[infinite[0]]]
        raise ValueError(
            f"Column {name!r} has {len(infinite)} infinite value(s), the first at site {where!r} "
            f"(row {infinite[0]}): replace them by NaN or by a finite number."
        )
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) != 2:
        return values, 0
    return np.where(np.isnan(values), np.nan, values == distinct[1]), 2


def _codes(name: Hashable, column: pd.Series) -> tuple[Array, int]:
    codes, found = pd.factorize(column)
    if len(found) > MAX_LEVELS:
        raise ValueError(
            f"Column {name!r} holds text or categories with {len(found)} levels, more than "
            f"{MAX_LEVELS}: merge rare levels, turn it into numbers, or leave it out."
        )
    return np.where(codes < 0, np.nan, codes).astype(float), len(found)


def _varies(values: Array) -> bool:
    observed = values[~np.isnan(values)]
    return bool(np.ptp(observed) > 0)


def _frequent_first(codes: Array) -> tuple[Array, tuple[float, ...]]:
    """Codes renumbered by falling frequency, and the frequencies.

    Equally frequent levels keep the order in which they appear.
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
    centred = values - np.nanmean(values)
    return np.asarray(centred / np.nanstd(centred))
