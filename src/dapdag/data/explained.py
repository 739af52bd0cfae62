"""Share of a label's variation that one column explains, or several together.

Every row is left out of its own prediction, so that chance explains nothing.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_BINS, N_LEVELS = 20, 10
RIDGES = np.array([0.1, 1.0, 10.0, 100.0, 1000.0])


def explained_alone(column: pd.Series, indicators: NDArray[np.float64]) -> float:
    """Share of the label's variation that bins of one column explain, each row left out in turn.

    `indicators` [rows, k] are a number, or one column for each class.
    """
    bins = _bins(column)
    counts = np.bincount(bins)
    sums = np.stack([np.bincount(bins, weights=k) for k in indicators.T], axis=1)
    others = (counts[bins] - 1)[:, None]
    mean = indicators.mean(0)
    alone = np.where(others > 0, (sums[bins] - indicators) / np.maximum(others, 1), mean)
    return _share(indicators, alone)


def explained_together(X: pd.DataFrame, indicators: NDArray[np.float64]) -> float:
    """The same by a ridge regression on all columns."""
    if not X.shape[1]:
        return 0.0
    design = np.column_stack([_design(X[name]) for name in X])
    design = design - design.mean(0)
    u, d, _ = np.linalg.svd(design, full_matrices=False)
    centred, shares = indicators - indicators.mean(0), []
    for ridge in RIDGES:
        weights = d**2 / (d**2 + ridge)
        leverage = np.minimum((u**2 * weights).sum(1) + 1 / len(u), 0.999)[:, None]
        residual = (centred - u @ (weights[:, None] * (u.T @ centred))) / (1 - leverage)
        shares.append(_share(centred, centred - residual))
    return max(0.0, *shares)


def _bins(column: pd.Series) -> NDArray[np.intp]:
    """Codes of few values or of quantiles; missing cells have one of their own."""
    if _is_quantity(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        edges = np.unique(np.nanquantile(values, np.linspace(0, 1, N_BINS + 1)[1:-1]))
        codes = np.searchsorted(edges, values, side="right")
        return np.where(np.isnan(values), len(edges) + 1, codes)
    codes, _ = pd.factorize(column.astype(object), use_na_sentinel=False)
    return codes


def _is_quantity(column: pd.Series) -> bool:
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return bool(numeric and column.nunique() > N_BINS)


def _design(column: pd.Series) -> NDArray[np.float64]:
    """Ranks of a quantity with a mark for missing cells, or 0/1 columns of its levels."""
    if _is_quantity(column):
        ranks = column.rank().to_numpy(dtype=float)
        known = ~np.isnan(ranks)
        scaled = (ranks - ranks[known].mean()) / (ranks[known].std() or 1.0)
        return np.column_stack([np.where(known, scaled, 0.0), ~known])
    codes = _bins(column)
    common: Sequence[int] = np.argsort(-np.bincount(codes))[:N_LEVELS].tolist()
    return (codes[:, None] == np.asarray(common)).astype(float)


def _share(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    total = float(((truth - truth.mean(0)) ** 2).sum())
    return 1 - float(((truth - predicted) ** 2).sum()) / total if total else 0.0
