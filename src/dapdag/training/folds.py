"""Folds of sources: which networks of the label's experts are trained on which domains."""

import numpy as np

from ..model import Sizes
from ..model.constants import FOLDS


def fold_of(sizes: Sizes, n_sources: int, member: int) -> np.ndarray:
    """The fold that each network of `sizes.n_fold` leaves out; a source d is in fold d mod folds.

    There are at most `FOLDS`; the networks of a further member continue with the next ones. The
    less is left out, the more these networks resemble those that will predict.
    """
    folds = max(min(n_sources, FOLDS), sizes.n_fold)
    return (np.arange(sizes.n_fold) + member * sizes.n_fold) % folds


def leaves_out(sizes: Sizes, n_sources: int, member: int) -> np.ndarray:
    """[sources, fold networks], whether a network leaves a source out."""
    folds = max(min(n_sources, FOLDS), sizes.n_fold)
    own = fold_of(sizes, n_sources, member)
    return np.asarray(np.arange(n_sources)[:, None] % folds == own[None, :])


def fold_masks(sizes: Sizes, n_domains: int, n_sources: int, member: int) -> np.ndarray:
    """[domains, networks], 1 where a network is trained on a domain; networks in the order of
    `Sizes.n_outputs`."""
    mask = np.ones((n_domains, sizes.n_outputs), dtype=np.float32)
    if sizes.n_fold:
        out = leaves_out(sizes, n_sources, member)
        first = sizes.n_predictors
        for start in (first, first + sizes.n_fold + sizes.n_pooled):
            mask[:n_sources, start : start + sizes.n_fold][out] = 0.0
    return mask


def equal_weights(sizes: Sizes) -> np.ndarray:
    """Weights of the networks that are trained on all sources, with and without E alike."""
    weights = np.ones(sizes.n_outputs, dtype=np.float32)
    if sizes.n_fold:
        first = sizes.n_predictors
        weights[first : first + sizes.n_fold] = 0.0
        weights[-sizes.n_fold :] = 0.0
    return weights / weights.sum()
