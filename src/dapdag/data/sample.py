"""A validated table with labels and domains, and how it becomes arrays."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .columns import Discrete, Standardised, Variable, learn_feature
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
    def labelled(self) -> NDArray[np.intp]:
        """Positions of the sources' rows that have a label."""
        return np.flatnonzero(self.is_source & pd.notna(self.y))


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
