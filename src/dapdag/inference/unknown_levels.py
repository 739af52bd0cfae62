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


def with_unknown_levels(
    table: Table, X: pd.DataFrame, excess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`novelty.unexplained` of a site, with the surprise of its unknown levels: [features]."""
    found = excess.copy()
    for j, variable in enumerate(table.features):
        if not isinstance(variable, Discrete):
            continue
        column = X.iloc[:, j]
        cells = int(column.notna().sum())
        unknown = cells - int(variable.known(column).sum())
        if unknown:
            surprise = np.log(sum(variable.shares) + len(variable.levels) + 1)
            known = np.nan_to_num(excess[j]) * (cells - unknown)
            found[j] = (known + surprise * unknown) / (cells + NOVELTY_PSEUDO_ROWS)
    return found
