"""A validated table with labels and domains, and how it becomes arrays."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .columns import Discrete, Standardised, Variable, learn_feature
from .domains import natural_positions
from .layout import Encoded, encode
from .table import Table


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

    @property
    def is_source(self) -> NDArray[np.bool_]:
        return self.domain < self.n_sources

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


def in_fixed_order(sample: Sample) -> Sample:
    """The sample with domains and rows in an order that their content decides: no result depends
    on the order in which they came, nor on the domains' names."""
    key = pd.util.hash_pandas_object(sample.X, index=False).to_numpy()
    label = pd.factorize(sample.y, sort=True)[0]
    least = np.full(len(sample.domain_labels), np.iinfo(np.uint64).max)
    np.minimum.at(least, sample.domain, key)
    ranked = np.lexsort((least, np.arange(len(least)) >= sample.n_sources))
    domain = np.argsort(ranked)[sample.domain]
    order = np.lexsort((label, key, domain))
    return replace(
        sample,
        X=sample.X.iloc[order].reset_index(drop=True),
        y=sample.y[order],
        domain=domain[order],
        domain_labels=tuple(sample.domain_labels[d] for d in ranked),
    )


def learn_table(sample: Sample) -> Table:
    """Types, scales and ranges of the columns, from the sources' rows alone."""
    X = sample.X.iloc[np.flatnonzero(sample.is_source)]
    y = sample.y[sample.is_source]
    label: Variable
    if sample.classes is None:
        label = Standardised.learn(sample.label_name, y.astype(float))
    else:
        counts = pd.Series(y).value_counts()
        shares = tuple(float(counts.get(c, 0.0)) for c in sample.classes)
        label = Discrete(sample.label_name, tuple(sample.classes), shares)
    features = tuple(
        learn_feature(name, X.iloc[:, j], name in sample.categorical) for j, name in enumerate(X)
    )
    return Table(features, label)


def encode_sample(table: Table, sample: Sample) -> Encoded:
    return encode(table, *table.encode(sample.X), table.encode_label(sample.y))
