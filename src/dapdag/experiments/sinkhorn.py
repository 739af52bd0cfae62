"""The Sinkhorn distance of two tables, through POT."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Entropy as a share of the mean cost: near the exact transport, yet fast.
ENTROPY = 0.05
MAX_ITERATIONS = 2000
PRECISION = 1e-5


def sinkhorn_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """2-Wasserstein distance of the rows of two tables by Sinkhorn's iterations.

    The root of the transported squared Euclidean distance; rows weigh the same.
    """
    try:
        import ot
    except ImportError as error:
        raise ValueError("Sinkhorn distances need POT: pip install 'dapdag[bench]'") from error
    cost = ot.dist(a, b)
    scale = cost.mean()
    if scale == 0:
        return 0.0
    # What one row pays wherever it goes does not change the plan, but the kernel of a far outlier
    # would be zero in all its entries.
    reduced = cost / scale
    reduced = reduced - reduced.min(axis=1, keepdims=True)
    reduced = reduced - reduced.min(axis=0, keepdims=True)
    weights = [np.full(len(rows), 1.0 / len(rows)) for rows in (a, b)]
    plan = ot.sinkhorn(*weights, reduced, ENTROPY, numItermax=MAX_ITERATIONS, stopThr=PRECISION)
    return float(np.sqrt((plan * cost).sum() / plan.sum()))
