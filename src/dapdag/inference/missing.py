"""What a missing feature costs: learned on held-out rows of the sources, paid at prediction.

After training every feature is hidden in turn from the held-out rows (and from the rows that tell
E). For numbers, the growth of the squared error is added to the variance of rows that lack the
feature. For classes, probabilities of such rows are drawn towards the shares of the classes that
are foretold for their site, by the factor that would have been best on the held-out rows.
"""

from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..data.columns import Discrete
from ..data.table import Table
from .recalibration import all_classes, class_shares, site_shares

SLOPES = np.linspace(0.2, 1.0, 17)
FEWEST_ROWS = 30
# Growth is told as a share of the error, which may be none at all.
LEAST_ERROR = 1e-6


class Lacking(NamedTuple):
    """What a row loses that lacks a feature, [features] each.

    Attributes
    ----------
    cost : what its prediction allows for: added variance of the standardised label, or the slope
        of the logits.
    worth : by what share the error of held-out rows grows (its root mean square, or the log-loss),
        with that allowance; NaN where there are too few of them to tell.
    """

    cost: NDArray[np.float64]
    worth: NDArray[np.float64]


def learn_lacking(table: Table, blocks: Blocks, means: NDArray, hidden: NDArray) -> Lacking:
    """From the predictions of validation rows, `means` [members, domains, rows, columns], and the
    same with one feature hidden, `hidden` [features, members, …]."""
    known = np.asarray(blocks.valid_present * blocks.valid_observed[..., -1]) > 0
    classes = isinstance(table.label, Discrete)
    if known.sum() < FEWEST_ROWS:
        neutral = np.full(len(hidden), 1.0 if classes else 0.0)
        return Lacking(neutral, np.full(len(hidden), np.nan))
    width = table.label.width
    label = np.asarray(blocks.valid_values)[..., -means.shape[-1] :][..., :width][known]
    # Rows that lack the feature anyway show no growth: it is that of the rows that have it.
    had = np.asarray(blocks.valid_observed)[..., : len(hidden)][known]
    share = np.maximum(had.mean(0), 0.05)
    full, *without = (m[..., :width][known] for m in (means, *hidden))

    def growth(losses: list[float], loss: float) -> NDArray[np.float64]:
        return np.maximum(np.asarray(losses) - loss, 0.0) / share

    if not classes:
        error = float(np.mean((label - full) ** 2))
        cost = growth([float(np.mean((label - m) ** 2)) for m in without], error)
        return Lacking(cost, np.sqrt(1.0 + cost / max(error, LEAST_ERROR)) - 1.0)
    overall = class_shares(table.label)  # type: ignore[arg-type]
    truth, site = all_classes(label), np.ravel_multi_index(np.nonzero(known)[:2], known.shape[:2])
    best = [_best_slope(p, truth, _own_shares(p, site, overall)) for p in map(all_classes, without)]
    slopes, losses = map(list, zip(*best, strict=True))
    loss = _log_loss(all_classes(full), truth)
    return Lacking(np.array(slopes), growth(losses, loss) / max(loss, LEAST_ERROR))


def _own_shares(
    probabilities: NDArray, site: NDArray[np.intp], overall: NDArray
) -> NDArray[np.float64]:
    """For every row the shares of the classes that are foretold for its site."""
    shares = np.empty_like(probabilities)
    for one in np.unique(site):
        shares[site == one] = site_shares(probabilities[site == one], overall)
    return shares


def drawn_back(
    probabilities: NDArray[np.float64], slope: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities [rows, classes] on the way (1 − slope) from themselves to the shares, which are
    one for all rows or one for each."""
    logits = np.log(np.clip(probabilities, 1e-12, 1.0))
    mixed = slope[:, None] * logits + (1.0 - slope[:, None]) * np.log(shares)
    mixed = np.exp(mixed - mixed.max(1, keepdims=True))
    return mixed / mixed.sum(1, keepdims=True)


def _best_slope(found: NDArray, truth: NDArray, shares: NDArray) -> tuple[float, float]:
    """The slope with the least log-loss, and that loss."""

    def loss(slope: float) -> float:
        return _log_loss(drawn_back(found, np.full(len(found), slope), shares), truth)

    losses = [loss(slope) for slope in SLOPES[::-1]]
    return float(SLOPES[::-1][np.argmin(losses)]), min(losses)


def _log_loss(probabilities: NDArray, truth: NDArray) -> float:
    return float(-np.log(np.maximum((probabilities * truth).sum(1), 1e-12)).mean())


def hiding_masks(variables: int) -> NDArray[np.float32]:
    """Which variables stay visible: all of them, then each feature hidden in turn."""
    hidden = 1.0 - np.eye(variables, dtype=np.float32)
    return np.concatenate([np.ones((1, variables), dtype=np.float32), hidden[:-1]])


def masked(blocks: Blocks, visible: jax.Array) -> Blocks:
    """The blocks with some variables hidden everywhere."""
    return Blocks(
        blocks.values,
        blocks.observed * visible,
        blocks.n_rows,
        blocks.valid_values,
        blocks.valid_observed * visible,
        blocks.valid_present,
    )
