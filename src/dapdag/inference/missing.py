"""Predictive effect of a missing feature, estimated by masking held-out rows.

After training every feature is hidden in turn from the held-out rows (and from the rows that E is
inferred from). For numbers, the increase of the squared error is added to the variance of rows
without the feature. For classes, the probabilities of such rows are shrunk towards the predicted
class proportions of their site, by the slope of the logits that was best on the held-out rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..data.columns import Discrete
from ..data.table import Table
from ..model.constants import FEWEST_MISSING_ROWS, LEAST_ERROR, MISSING_SLOPES
from .recalibration import all_classes, class_proportions, site_proportions


class MissingEffects(NamedTuple):
    """Effect of each feature's absence, [features] each.

    Attributes
    ----------
    penalty : what a prediction allows for: added variance of the standardised label, or the slope
        of the logits.
    importance : relative increase of the error of held-out rows (its root mean square, or the
        log-loss), with that allowance; NaN where there are too few of them to tell.
    """

    penalty: NDArray[np.float64]
    importance: NDArray[np.float64]


def learn_missing_effects(
    table: Table, blocks: Blocks, means: NDArray, hidden: NDArray
) -> MissingEffects:
    """From the predictions of validation rows, `means` [members, domains, rows, columns], and those
    of the first rows of each domain with one feature hidden, `hidden` [features, members, …]."""
    first = hidden.shape[3]
    means = means[:, :, :first]
    present, observed, values = (
        np.asarray(a)[:, :, :first]
        for a in (blocks.valid_present, blocks.valid_observed, blocks.valid_values)
    )
    known = present * observed[..., -1] > 0
    classes = isinstance(table.label, Discrete)
    if known.sum() < FEWEST_MISSING_ROWS:
        neutral = np.full(len(hidden), 1.0 if classes else 0.0)
        return MissingEffects(neutral, np.full(len(hidden), np.nan))
    width = table.label.width
    label = values[..., -means.shape[-1] :][..., :width][known]
    # Rows without the feature show no increase: it is that of the rows with it.
    had = observed[..., : len(hidden)][known]
    share = np.maximum(had.mean(0), 0.05)
    full, *without = (m[..., :width][known] for m in (means, *hidden))

    def increase(losses: list[float], loss: float) -> NDArray[np.float64]:
        return np.maximum(np.asarray(losses) - loss, 0.0) / share

    if not classes:
        error = float(np.mean((label - full) ** 2))
        penalty = increase([float(np.mean((label - m) ** 2)) for m in without], error)
        importance = np.sqrt(1.0 + penalty / max(error, LEAST_ERROR)) - 1.0
        return MissingEffects(penalty, importance)
    overall = class_proportions(table.label)  # type: ignore[arg-type]
    truth, site = all_classes(label), np.ravel_multi_index(np.nonzero(known)[:2], known.shape[:2])
    best = [
        _best_slope(p, truth, _own_proportions(p, site, overall)) for p in map(all_classes, without)
    ]
    slopes, losses = map(list, zip(*best, strict=True))
    loss = _log_loss(all_classes(full), truth)
    return MissingEffects(np.array(slopes), increase(losses, loss) / max(loss, LEAST_ERROR))


def _own_proportions(
    probabilities: NDArray, site: NDArray[np.intp], overall: NDArray
) -> NDArray[np.float64]:
    """For every row the predicted class proportions of its site."""
    proportions = np.empty_like(probabilities)
    for one in np.unique(site):
        proportions[site == one] = site_proportions(probabilities[site == one], overall)
    return proportions


def shrink_to_prevalence(
    probabilities: NDArray[np.float64], slope: NDArray[np.float64], proportions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log p′ ∝ s·log p + (1 − s)·log π for probabilities [rows, classes] and class proportions π,
    which are one for all rows or one for each."""
    logits = np.log(np.clip(probabilities, 1e-12, 1.0))
    mixed = slope[:, None] * logits + (1.0 - slope[:, None]) * np.log(proportions)
    mixed = np.exp(mixed - mixed.max(1, keepdims=True))
    return mixed / mixed.sum(1, keepdims=True)


def _best_slope(found: NDArray, truth: NDArray, proportions: NDArray) -> tuple[float, float]:
    """The slope with the least log-loss, and that loss."""

    def loss(slope: float) -> float:
        shrunk = shrink_to_prevalence(found, np.full(len(found), slope), proportions)
        return _log_loss(shrunk, truth)

    losses = [loss(slope) for slope in MISSING_SLOPES[::-1]]
    return float(MISSING_SLOPES[::-1][np.argmin(losses)]), min(losses)


def _log_loss(probabilities: NDArray, truth: NDArray) -> float:
    return float(-np.log(np.maximum((probabilities * truth).sum(1), 1e-12)).mean())


def hiding_masks(variables: int) -> NDArray[np.float32]:
    """Which variables stay visible where each feature is hidden in turn."""
    return 1.0 - np.eye(variables, dtype=np.float32)[:-1]
