"""What the search needs of a table, in a form to which chunks and sites add up.

Kinds of columns, levels, sites and counts come from all rows. Everything else comes from a bounded
sample of rows, which is the whole table up to `MAX_ROWS` rows: the sums of products of the joint
terms need the candidates, which are known only after a look at the rows, and the density of
residuals is another one for every parent set. All terms of a score must count the same rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.warning import DataWarning
from dapdag.data.domains import domain_array
from dapdag.structure import constants as c
from dapdag.structure.columns import Table, content_order, varies
from dapdag.structure.statistics import Array
from dapdag.structure.summary_columns import Column, numbered, read_column, sorted_labels


@dataclass(frozen=True, eq=False)
class Statistics:
    """Summary of a table or of a part of it; summaries of disjoint parts add up.

    It holds up to `MAX_ROWS` rows of the table (a few more where sites are small), so that it is
    as confidential as they are.

    Attributes
    ----------
    columns : tuple of Column
        The columns.
    sites : tuple
        Labels of the sites.
    count : array
        Rows of the table, by site.
    values : Array
        Kept rows: codes of levels, NaN for missing.
    site : array
        Site of every kept row.
    key : Array
        Key of every kept row; those with the smallest are kept.
    """

    columns: tuple[Column, ...]
    sites: tuple[Hashable, ...]
    count: NDArray[np.intp]  # [sites]: rows of the table
    values: Array  # [kept rows, columns]; codes of levels, NaN for missing
    site: NDArray[np.intp]  # [kept rows]
    key: Array  # [kept rows]: rows with the smallest keys are kept

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_rows(self) -> int:
        """Rows of the table.

        Returns
        -------
        int
            Their number.
        """
        return int(self.count.sum())

    @property
    def n_kept(self) -> NDArray[np.intp]:
        """Rows of each site that are kept.

        Returns
        -------
        array of int
            Their number, by site.
        """
        return np.bincount(self.site, minlength=len(self.sites))

    def __add__(self, other: Statistics) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        other = other._in_order_of(self.names)
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        if np.isin(self.key, other.key).any():
            raise ValueError(
                "A part of the table is added twice, or two parts have the same content or the "
                "same `chunk`: give each a `chunk` of its own."
            )
        sites = sorted_labels({*self.sites, *other.sites})
        parts = [part._renumbered(columns, sites) for part in (self, other)]
        whole = Statistics(
            columns,
            sites,
            np.sum([part.count for part in parts], axis=0),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.site for part in parts]),
            np.concatenate([part.key for part in parts]),
        )
        return whole._bounded()

    def __radd__(self, other: object) -> Statistics:
        return self if other == 0 else NotImplemented  # sum() begins with 0

    def table(self) -> Table:
        """The rows that the search reads; raises if they are no table."""
        if self.n_rows < 2 or not self.columns:
            raise ValueError(
                f"X must have at least two rows and one column, got {self.n_rows} rows and "
                f"{len(self.columns)} columns."
            )
        values, levels = self.values.copy(), []
        for k, column in enumerate(self.columns):
            if not column.n_observed:
                raise ValueError(f"Column {column.name!r} has no value in any row: leave it out.")
            n_levels = 0 if column.levels is None else len(column.levels)
            if column.levels is None and len(column.distinct) == 2:
                own, n_levels = values[:, k], 2
                values[:, k] = np.where(np.isnan(own), np.nan, own == column.distinct[1])
            levels.append(n_levels)
        self._warn_of_rare_values()
        return Table(self.names, values, tuple(levels), self.site, self.sites)

    def _warn_of_rare_values(self) -> None:
        if len(self.values) == self.n_rows:
            return
        rare = [
            column.name
            for k, column in enumerate(self.columns)
            if max(len(column.levels or ()), len(column.distinct)) > 1
            and not varies(self.values[:, k])
        ]
        if rare:
            warnings.warn(
                f"Columns {rare} take their second value in too few of the {self.n_rows:,} rows to "
                f"be seen in the {len(self.values):,} that the search reads: they stand alone.",
                DataWarning,
                stacklevel=4,
            )

    def _in_order_of(self, names: tuple[Hashable, ...]) -> Statistics:
        """The same with its columns in another order."""
        if set(names) != set(self.names):
            differing = sorted(map(str, set(names) ^ set(self.names)))
            raise ValueError(f"Parts of a table must have the same columns: differing {differing}.")
        at = [self.names.index(name) for name in names]
        columns = tuple(self.columns[k] for k in at)
        return replace(self, columns=columns, values=self.values[:, at])

    def _renumbered(self, columns: tuple[Column, ...], sites: tuple[Hashable, ...]) -> Statistics:
        """The same with levels and sites numbered as in a larger table."""
        values = self.values.copy()
        for k, (old, new) in enumerate(zip(self.columns, columns, strict=True)):
            if old.levels and new.levels and old.levels != new.levels:
                code = np.array([new.levels.index(level) for level in old.levels], dtype=float)
                known = ~np.isnan(values[:, k])
                values[known, k] = code[values[known, k].astype(np.intp)]
        place = np.array([sites.index(name) for name in self.sites], dtype=np.intp)
        count = np.zeros(len(sites), dtype=np.intp)
        count[place] = self.count
        return Statistics(columns, sites, count, values, place[self.site], self.key)

    def _bounded(self) -> Statistics:
        """The rows with the smallest keys, of all sites together and of each site.

        A row that a larger table keeps is kept in every part of it: what is dropped here would be
        dropped later.
        """
        if len(self.key) <= c.MAX_ROWS:
            return self
        order = np.lexsort([self.key, self.site])
        site = self.site[order]
        rank = np.arange(len(order)) - np.searchsorted(site, site)
        kept = np.zeros(len(order), dtype=bool)
        kept[order[rank < min(c.MIN_SITE_ROWS, c.MAX_ROWS // len(self.sites))]] = True
        kept[np.argpartition(self.key, c.MAX_ROWS)[: c.MAX_ROWS]] = True
        return replace(self, values=self.values[kept], site=self.site[kept], key=self.key[kept])


def summarise(
    X: Any, sample_domain: Any = None, chunk: Hashable | None = None, random_state: int = 0
) -> Statistics:
    """Summarise a table or a part of it: ``GraphSearch().fit_statistics(summarise(a) + …)``.

    Parameters
    ----------
    X : DataFrame or array of shape (rows, columns)
        Rows of the table, with the columns that all parts have.
    sample_domain : sequence of labels, one per row, optional
        Site of every row. By default all rows are one site.
    chunk : int or str, optional
        Number or name that no other part has; by default the content decides, and only parts of
        equal content need one. Rows of long tables are drawn with it, and a part that is added
        twice is known by it.
    random_state : int, default=0
        Seed of that draw, the same for all parts.

    Returns
    -------
    Statistics
        To be added to those of other parts.
    """
    check_integer("random_state", random_state, 0)
    frame = X if isinstance(X, pd.DataFrame) else _frame(X)
    if repeated := sorted({str(n) for n in frame.columns[frame.columns.duplicated()]}):
        raise ValueError(f"Column names must be distinct; repeated: {repeated}.")
    site, sites = _sites(sample_domain, len(frame))
    read = [read_column(name, frame.iloc[:, j], site, sites) for j, name in enumerate(frame)]
    values = np.stack([own for _, own in read], axis=1) if read else np.zeros((len(frame), 0))
    columns = tuple(column for column, _ in read)
    key = _keys(values, columns, site, chunk, random_state)
    count = np.bincount(site, minlength=len(sites))
    return Statistics(columns, sites, count, values, site, key)._bounded()


def _keys(
    values: Array,
    columns: tuple[Column, ...],
    site: NDArray[np.intp],
    chunk: Hashable | None,
    seed: int,
) -> Array:
    """A random number for every row; with a given chunk, order and scale do not matter."""
    levels = [0 if column.levels is None else len(column.levels) for column in columns]
    order = content_order(values, levels, [column.name for column in columns], site)
    content = values[order].tobytes() if chunk is None else repr(chunk).encode()
    own = int.from_bytes(blake2b(content, digest_size=8).digest(), "big")
    key = np.empty(len(values))
    key[order] = np.random.default_rng([seed, own]).random(len(values))
    return key


def check_integer(name: str, value: Any, least: int) -> None:
    """Raise unless a setting is an integer of at least `least`."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def _frame(X: Any) -> pd.DataFrame:
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must be a table with rows and columns, got shape {values.shape}.")
    return pd.DataFrame(values).infer_objects()


def _sites(sample_domain: Any, n_rows: int) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Number and name of each row's site; sites are numbered in the order of their names."""
    if sample_domain is None:
        return np.zeros(n_rows, dtype=np.intp), ("all rows",)
    return numbered(domain_array(sample_domain, n_rows))
