"""Levels of discrete features that no source has, as evidence that a site is unlike them all.

To the networks such a cell is missing, so that the decoder cannot judge it. By Laplace's rule of
succession a level that did not occur among n cells has the probability 1 / (n + levels + 1).
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.columns import Discrete
from ..data.table import Table
from ..model.constants import NOVELTY_PSEUDO_ROWS


def level_counts(table: Table, X: pd.DataFrame) -> NDArray[np.int64]:
    """How many cells of each discrete feature have a value, and how many of these an unknown level:
    [2, features]. Counts of parts of a site add up."""
    counts = np.zeros((2, len(table.features)), dtype=np.int64)
    for j, variable in enumerate(table.features):
        if isinstance(variable, Discrete):
            column = X.iloc[:, j]
            counts[0, j] = column.notna().sum()
            counts[1, j] = counts[0, j] - variable.known(column).sum()
    return counts


def with_unknown_levels(
    table: Table, counts: NDArray[np.int64], excess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`novelty.unexplained` of a site, with the surprise of its unknown levels: [features]."""
    found = excess.copy()
    for j, variable in enumerate(table.features):
        cells, unknown = counts[:, j].tolist()
        if isinstance(variable, Discrete) and unknown:
            surprise = np.log(sum(variable.shares) + len(variable.levels) + 1)
            known = np.nan_to_num(excess[j]) * (cells - unknown)
            found[j] = (known + surprise * unknown) / (cells + NOVELTY_PSEUDO_ROWS)
    return found
