"""Stacking weights of the label networks, from the losses of sources that were left out."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from .parts import ALL, Parts

SHARES = np.linspace(0.0, 1.0, 11)  # of the votes that see E
# Losses that differ by less than this share of a standard error count as alike, once there are more
# than a few domains.
HARDLY, FEW = 0.5, 3
# What one source can say for or against E, as a difference from the loss without it.
MOST = 0.5
MOST_GROWTH = 4.0


class Unseen(NamedTuple):
    """What the votes made of domains that they had not seen; NaN where all had seen one.

    Attributes
    ----------
    losses : of each domain, for every share of E.
    growth : how much larger the loss of a domain's validation rows is than under a vote that has
        seen the domain.
    levels : mean of the label over the rows that have one: as foretold by the votes that see E, by
        those that do not, and as it was.
    rows : how many these are.
    """

    losses: Float[Array, "lanes domains shares"]
    growth: Float[Array, "lanes domains shares"]
    levels: Float[Array, "lanes domains 3 label_columns"]
    rows: Float[Array, "lanes domains"]

    @staticmethod
    def nothing() -> "Unseen":
        """Before anything is known."""
        return Unseen(*[np.zeros(0)] * 4)  # type: ignore[arg-type]


def even_trust(votes: int) -> np.ndarray:
    return np.full(votes, 1.0 / votes, dtype=np.float32)


def first_trust(n_predictors: int, n_pooled: int, parts: Parts) -> np.ndarray:
    """Weights of the votes before anything is known of them."""
    if n_pooled and not parts.pooled_networks:
        return _with_share(1.0, n_predictors, n_pooled)
    return even_trust(max(n_predictors + n_pooled, 1))


def trust_of(
    losses: np.ndarray, n_predictors: int, n_pooled: int, parts: Parts = ALL
) -> np.ndarray:
    """Weights of the votes of one estimator, from its members' losses [members, domains, shares].

    Domains count alike; those without labels, or without a vote that has not seen them, are NaN.
    """
    if not n_pooled:
        return even_trust(max(n_predictors, 1))
    if not parts.pooled_networks:
        return first_trust(n_predictors, n_pooled, parts)
    share = SHARES[_least_share(losses, parts)] if parts.stacking_weight else 0.5
    return _with_share(share, n_predictors, n_pooled)


def _with_share(share: float, n_predictors: int, n_pooled: int) -> np.ndarray:
    weights = np.repeat([share / n_predictors, (1 - share) / n_pooled], [n_predictors, n_pooled])
    return weights.astype(np.float32)


def _least_share(losses: np.ndarray, parts: Parts) -> int:
    """The least share of E that is hardly worse than the best, on the evidence of the domains.

    Where the domains disagree about the gain, less of E is the safer choice. But among few domains
    a vote that has missed one knows much less of E than one that has seen them all, which is
    caution enough. A source on which one kind of vote fails altogether does not decide for all: its
    curve is flattened to `MOST`.
    """
    known = np.isfinite(losses).all(-1)
    seen = known.any(0)
    if not seen.any():
        return len(SHARES) // 2
    total = np.where(known[..., None], losses, 0.0).sum(0)[seen]
    mean = total / known.sum(0)[seen, None]  # [domains, shares], over the members that tell
    gain = mean - mean[:, :1]
    if parts.source_cap:
        gain *= MOST / np.maximum(np.abs(gain).max(1, keepdims=True), MOST)
    excess = gain - gain[:, [gain.mean(0).argmin()]]
    error = excess.std(0) / np.sqrt(max(len(gain) - 1, 1))
    hardly = HARDLY * (1.0 - 0.5 ** max(len(gain) - FEW, 0)) * parts.stacking_margin
    return int(np.argmax(excess.mean(0) <= hardly * error))


def growth_at(trust: np.ndarray, n_predictors: int, growth: np.ndarray) -> float:
    """How many times larger the squared error is on a site that was not seen, at least 1.

    `growth` [members, domains, shares] are differences of its logarithm, NaN where not known.
    """
    at_share = growth[..., np.abs(SHARES - trust[:n_predictors].sum()).argmin()]
    known = np.isfinite(at_share)
    return float(np.clip(np.exp(at_share[known].mean()), 1.0, MOST_GROWTH)) if known.any() else 1.0
