"""Stacking of the label networks with and without E, by their losses on left-out sources.

Beside each label network that sees E there is a pooled one that does not. On sources that neither
was trained on, their losses show how much of the prediction should come from the networks with E
(the stacking weight), and how much larger errors are at a site that was not trained on.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from ..model.constants import (
    MAX_INFLATION,
    MAX_SOURCE_GAIN,
    STACK_GRID,
)
from .parts import ALL, Parts


class LeftOut(NamedTuple):
    """Predictions for domains by networks that were not trained on them; NaN where all were.

    Attributes
    ----------
    losses : of each domain, for every stacking weight of `STACK_GRID`.
    inflation : loss of a domain's validation rows, less that under networks trained on the domain.
    levels : mean of the label over the rows that have one: predicted by the networks with E, by
        those without, and observed.
    rows : how many these are.
    """

    losses: Float[Array, "lanes domains grid"]
    inflation: Float[Array, "lanes domains grid"]
    levels: Float[Array, "lanes domains 3 label_columns"]
    rows: Float[Array, "lanes domains"]

    @staticmethod
    def nothing() -> "LeftOut":
        """Before anything is known."""
        return LeftOut(*[np.zeros(0)] * 4)  # type: ignore[arg-type]


def equal_weights(networks: int) -> np.ndarray:
    return np.full(networks, 1.0 / networks, dtype=np.float32)


def initial_weights(n_predictors: int, n_pooled: int, parts: Parts) -> np.ndarray:
    """Stacking weights before any source was left out."""
    if n_pooled and not parts.pooled_networks:
        return _with_share(1.0, n_predictors, n_pooled)
    return equal_weights(max(n_predictors + n_pooled, 1))


def stacking_weights(
    losses: np.ndarray, n_predictors: int, n_pooled: int, parts: Parts = ALL
) -> np.ndarray:
    """Weights of one estimator's networks, from its members' losses [members, domains, grid].

    Domains count alike; those without labels, or that all networks were trained on, are NaN.
    """
    if not n_pooled:
        return equal_weights(max(n_predictors, 1))
    if not parts.pooled_networks:
        return initial_weights(n_predictors, n_pooled, parts)
    share = STACK_GRID[_best_share(losses, parts)] if parts.stacking_weight else 0.5
    return _with_share(share, n_predictors, n_pooled)


def _with_share(share: float, n_predictors: int, n_pooled: int) -> np.ndarray:
    """`share` divided among the networks with E, the rest among the pooled ones."""
    weights = np.repeat([share / n_predictors, (1 - share) / n_pooled], [n_predictors, n_pooled])
    return weights.astype(np.float32)


def _best_share(losses: np.ndarray, parts: Parts) -> int:
    """Position in `STACK_GRID` of the weight with the least mean loss over left-out sources.

    The difference from the loss without E is capped for every source, so that one on which one kind
    of network fails does not decide for all.
    """
    known = np.isfinite(losses).all(-1)
    seen = known.any(0)
    if not seen.any():
        return len(STACK_GRID) // 2
    total = np.where(known[..., None], losses, 0.0).sum(0)[seen]
    mean = total / known.sum(0)[seen, None]  # [domains, grid], over the members that left it out
    gain = mean - mean[:, :1]
    if parts.source_cap:
        gain *= MAX_SOURCE_GAIN / np.maximum(np.abs(gain).max(1, keepdims=True), MAX_SOURCE_GAIN)
    return int(gain.mean(0).argmin())


def variance_inflation(weights: np.ndarray, n_predictors: int, inflation: np.ndarray) -> float:
    """Ratio of the squared error at a site that was not trained on to that at a source, at least 1.

    `inflation` [members, domains, grid] are differences of its logarithm, NaN where not known.
    """
    at_share = inflation[..., np.abs(STACK_GRID - weights[:n_predictors].sum()).argmin()]
    known = np.isfinite(at_share)
    ratio = np.exp(at_share[known].mean()) if known.any() else 1.0
    return float(np.clip(ratio, 1.0, MAX_INFLATION))
