"""Posterior predictive check per feature: is a site of a kind that the sources do not know?

The decoder gives the likelihood of each feature given its parents and E. A feature whose cells are
much less likely than in the source that it fits worst is out of distribution, whatever E is.
"""

from collections.abc import Hashable

import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from ..data.chunks import padded
from ..data.layout import Encoded
from ..model.constants import NOVEL_ABOVE, NOVELTY_PSEUDO_ROWS
from .fitted import EnvPosterior, FittedModel
from .programs import MemberDecoder, per_member


def worst_source_losses(losses: NDArray, parents: NDArray) -> NDArray[np.float64]:
    """Mean loss of each feature in the source that it fits worst: [features].

    `losses` [members, domains, features] are means over held-out rows. Infinite where nothing is
    known, and for children of the label, which is not known at a new site.
    """
    known = np.isfinite(losses)
    mean = np.where(known, losses, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    worst = np.where(known.any(0), mean, -np.inf).max(0)
    usable = np.isfinite(worst) & (parents[-1, : len(worst)] == 0)
    return np.where(usable, worst, np.inf)


def unexplained(model: FittedModel, some: Encoded, q: EnvPosterior) -> NDArray[np.float64]:
    """Mean negative log-density of each feature's cells, less that in its worst source.

    `some` are at most `NOVELTY_ROWS` rows of the site.

    NaN for features that depend on the label and for those that the site lacks. Few rows are
    smoothed by pseudo-rows without surprise.
    """
    worst = model.worst_source_loss
    n = len(some.values)
    if not n or not np.isfinite(worst).any():
        return np.full(len(worst), np.nan)
    data = padded(some)
    found = per_member(model, _losses, (q.mean,), data.values, data.observed).mean(0)
    seen = some.observed[:, : len(worst)]
    cells = seen.sum(0)
    total = (found[:n, : len(worst)] * seen).sum(0)
    usable = (cells > 0) & np.isfinite(worst)
    excess = np.full(len(worst), np.nan)
    surprise = total[usable] - cells[usable] * worst[usable]
    excess[usable] = surprise / (cells[usable] + NOVELTY_PSEUDO_ROWS)
    return excess


def is_novel(excess: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether any feature of a domain is out of distribution: [domains, features] → [domains]."""
    return np.asarray((np.nan_to_num(excess, nan=-np.inf) > NOVEL_ABOVE).any(1))


def novel_features(model: FittedModel, excess: NDArray[np.float64]) -> list[Hashable]:
    """The features of one domain that are out of distribution, the worst first."""
    worst_first = np.argsort(-np.nan_to_num(excess), kind="stable")
    return [model.table.features[j].name for j in worst_first if excess[j] > NOVEL_ABOVE]


def _losses(member: MemberDecoder, env: Array, values: Array, observed: Array) -> Array:
    return member.losses(values, observed, env)
