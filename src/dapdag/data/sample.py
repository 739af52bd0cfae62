"""A validated table with labels and domains, and how it becomes arrays."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .columns import Discrete, Standardised, Variable, learn_feature
from .domains import natural_positions, rows_by_domain
from .layout import Encoded, encode, take
from .table import Table

# Tables of up to so many rows are encoded as a whole, larger ones where their rows are needed.
WHOLE_ROWS = 131_072


@dataclass(frozen=True)
class Sample:
    """A validated table: rows of sources (labelled) and perhaps of targets (not)."""

    X: pd.DataFrame
    y: NDArray  # NaN or None where there is no label
    domain: NDArray[np.intp]  # code of each row's domain, sources first
    domain_labels: tuple[Hashable, ...]
    n_sources: int
    label_name: Hashable
    classes: NDArray | None  # None for a regression
    categorical: frozenset[Hashable] = frozenset()  # columns whose numbers are codes
    weight: NDArray[np.float64] | None = None  # of each row, with mean 1; None: all count alike
    group: NDArray[np.intp] | None = None  # code of what rows belong together, such as a patient

    @property
    def is_source(self) -> NDArray[np.bool_]:
        return self.domain < self.n_sources

    @cached_property
    def rows_of(self) -> list[NDArray[np.intp]]:
        """Positions of the rows of every domain, found in one pass."""
        return rows_by_domain(self.domain)

    @property
    def sources(self) -> pd.DataFrame:
        """Features of the sources' rows: no copy where there are no others."""
        source = self.is_source
        return self.X if source.all() else self.X.iloc[np.flatnonzero(source)]

    @property
    def sources_in_order(self) -> list[int]:
        """Codes of the sources in the natural order of their names, in which people see them."""
        return natural_positions(self.domain_labels[: self.n_sources])

    @property
    def source_names(self) -> tuple[Hashable, ...]:
        """Names of the sources in natural order."""
        return tuple(self.domain_labels[d] for d in self.sources_in_order)

    @property
    def labelled(self) -> NDArray[np.intp]:
        """Positions of the sources' rows that have a label."""
        return np.flatnonzero(self.is_source & pd.notna(self.y))

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Weights of the rows at these positions; None where all count alike."""
        return None if self.weight is None else self.weight[rows]


def taken(sample: Sample, rows: NDArray[np.intp]) -> Sample:
    """The sample with these rows only; its domains stay as they are."""
    return replace(
        sample,
        X=sample.X.iloc[rows],
        y=sample.y[rows],
        domain=sample.domain[rows],
        weight=sample.weights_of(rows),
        group=None if sample.group is None else sample.group[rows],
    )


GOLDEN = 0x9E3779B97F4A7C15  # odd and without pattern: spreads small whole numbers


def in_fixed_order(sample: Sample) -> Sample:
    """The sample with domains and rows in an order that their content decides: no result depends
    on the order in which they came, nor on the domains' names."""
    key = pd.util.hash_pandas_object(sample.X, index=False).to_numpy()
    label = pd.factorize(sample.y, sort=True)[0]
    least = np.full(len(sample.domain_labels), np.iinfo(np.uint64).max)
    np.minimum.at(least, sample.domain, key)
    # Sites may share their least row: then all their rows and labels decide.
    content = (key + np.uint64(GOLDEN) * label.astype(np.uint64)) ** 2
    whole = np.zeros(len(least), dtype=np.uint64)
    np.add.at(whole, sample.domain, content)
    ranked = np.lexsort((whole, least, np.arange(len(least)) >= sample.n_sources))
    domain = np.argsort(ranked)[sample.domain]
    further = [more for more in (sample.group, sample.weight) if more is not None]
    order = np.lexsort((*further, label, key, domain))
    found = taken(sample, order)
    return replace(
        found,
        X=found.X.reset_index(drop=True),
        domain=domain[order],
        domain_labels=tuple(sample.domain_labels[d] for d in ranked),
    )


def learn_table(sample: Sample) -> Table:
    """Types, scales and ranges of the columns, from the sources' rows alone."""
    X, y = sample.sources, sample.y[sample.is_source]
    label: Variable
    if sample.classes is None:
        label = Standardised.learn(sample.label_name, y.astype(float))
    else:
        counts = _class_counts(y, sample.weights_of(np.flatnonzero(sample.is_source)))
        shares = tuple(float(counts.get(c, 0.0)) for c in sample.classes)
        label = Discrete(sample.label_name, tuple(sample.classes), shares)
    features = tuple(
        learn_feature(name, X.iloc[:, j], name in sample.categorical) for j, name in enumerate(X)
    )
    return Table(features, label)


def _class_counts(y: NDArray, weight: NDArray[np.float64] | None) -> pd.Series:
    """Rows of every class, or the sums of their weights."""
    if weight is None:
        return pd.Series(y).value_counts()
    return pd.Series(weight).groupby(pd.Series(y)).sum()


def effective_rows(weight: NDArray[np.float64]) -> float:
    """How many rows of equal weight would estimate a mean as precisely (Kish, 1965)."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def drawn_by_weight(weight: NDArray[np.float64], most: int | None = None) -> NDArray[np.intp]:
    """Positions of rows that stand for the weighted ones and count alike: a systematic sample.

    There are as many as `effective_rows`, so that no estimate from them seems more certain than
    the weighted rows make it. A row of great weight may be there several times.
    """
    size = max(1, round(effective_rows(weight)))
    size = size if most is None else min(size, most)
    reached = np.cumsum(weight) / weight.sum()
    places = (np.arange(size) + 0.5) / size
    return np.minimum(np.searchsorted(reached, places), len(weight) - 1)


def encode_sample(table: Table, sample: Sample) -> Encoded:
    return encode(table, *table.encode(sample.X), table.encode_label(sample.y))


def encode_rows(table: Table, sample: Sample, rows: NDArray[np.intp]) -> Encoded:
    """Some of the rows, by their positions."""
    return encode(table, *table.encode(sample.X.iloc[rows]), table.encode_label(sample.y[rows]))


def row_encoder(table: Table, sample: Sample) -> Callable[[NDArray[np.intp]], Encoded]:
    """A function from positions to encoded rows; a table of ordinary size is encoded once."""
    if len(sample.y) <= WHOLE_ROWS:
        return partial(take, encode_sample(table, sample))
    return partial(encode_rows, table, sample)
