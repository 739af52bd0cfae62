"""What a missing feature costs: learned on held-out rows of the sources, paid at prediction.

After training every feature is hidden in turn from the held-out rows (and from the rows that tell
E). For numbers, the growth of the squared error is added to the variance of rows that lack the
feature. For classes, probabilities of such rows are drawn towards the shares of the classes that
are foretold for their site, by the factor that would have been best on the held-out rows.
"""

import jax
import numpy as np
from numpy.typing import NDArray

from .levels import all_classes, class_shares, site_shares
from .table import Discrete, Table
from .training.blocks import Blocks

SLOPES = np.linspace(0.2, 1.0, 17)
FEWEST_ROWS = 30


def cost_of_lacking(
    table: Table, blocks: Blocks, means: NDArray, hidden: NDArray
) -> NDArray[np.float64]:
    """Per feature: added variance of the standardised label, or the slope of the logits.

    `means` [members, domains, rows, columns] are predictions for validation rows, and `hidden`
    [features, members, …] the same with one feature hidden.
    """
    known = np.asarray(blocks.valid_present * blocks.valid_observed[..., -1]) > 0
    neutral = 1.0 if isinstance(table.label, Discrete) else 0.0
    if known.sum() < FEWEST_ROWS:
        return np.full(len(hidden), neutral)
    width = table.label.width
    label = np.asarray(blocks.valid_values)[..., -means.shape[-1] :][..., :width][known]
    # Rows that lack the feature anyway show no growth: it is that of the rows that have it.
    had = np.asarray(blocks.valid_observed)[..., : len(hidden)][known]
    share = np.maximum(had.mean(0), 0.05)
    if neutral == 0.0:
        full = np.mean((label - means[..., :width][known]) ** 2)
        errors = [np.mean((label - m[..., :width][known]) ** 2) for m in hidden]
        return np.maximum(np.asarray(errors) - full, 0.0) / share
    overall = class_shares(table.label)  # type: ignore[arg-type]
    truth, site = all_classes(label), np.ravel_multi_index(np.nonzero(known)[:2], known.shape[:2])
    found = [all_classes(m[..., :width][known]) for m in hidden]
    return np.array([_best_slope(p, truth, _own_shares(p, site, overall)) for p in found])


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


def _best_slope(found: NDArray, truth: NDArray, shares: NDArray) -> float:
    def loss(slope: float) -> float:
        likelihood = (drawn_back(found, np.full(len(found), slope), shares) * truth).sum(1)
        return float(-np.log(np.maximum(likelihood, 1e-12)).mean())

    return float(min(SLOPES[::-1], key=loss))


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
