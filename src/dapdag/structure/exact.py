"""Dynamic programming over sets of variables: the best order, and exact edge probabilities.

A set S is reached by orders whose first |S| variables are S. With f_j(S) the score of variable j
when S precedes it,

    best(S) = max_{j ∈ S} best(S∖j) + f_j(S∖j)              (Silander and Myllymäki, 2006)
    sum(S)  = log Σ_{j ∈ S} exp(sum(S∖j) + f_j(S∖j))        (Koivisto and Sood, 2004)

Memory and time grow as 2^d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dapdag.structure.statistics import Array


def local_masks(candidates: tuple[int, ...], n_variables: int) -> NDArray[np.intp]:
    """Mask over the candidates for every mask over all variables."""
    everything = np.arange(1 << n_variables)
    out = np.zeros_like(everything)
    for p, k in enumerate(candidates):
        out |= (everything >> k & 1) << p
    return out


def _layers(n_variables: int) -> list[NDArray[np.intp]]:
    """Masks by their number of members."""
    size = np.bitwise_count(np.arange(1 << n_variables))
    return [np.flatnonzero(size == k) for k in range(n_variables + 1)]


def exact_order(candidates: list[tuple[int, ...]], best: list[Array]) -> list[int]:
    """The order with the highest score; `best` are the tables of `ParentScores.best_within`."""
    d = len(candidates)
    value = np.full(1 << d, -np.inf)
    value[0] = 0.0
    last = np.zeros(1 << d, dtype=np.intp)
    local = [local_masks(own, d) for own in candidates]
    for layer in _layers(d)[1:]:
        for j in range(d):
            masks = layer[layer >> j & 1 == 1]
            before = masks ^ (1 << j)
            score = value[before] + best[j][local[j][before]]
            better = score > value[masks]
            value[masks[better]] = score[better]
            last[masks[better]] = j
    order, mask = [], (1 << d) - 1
    while mask:
        order.append(int(last[mask]))
        mask ^= 1 << order[-1]
    return order[::-1]


def exact_edge_probability(candidates: list[tuple[int, ...]], log_sum: list[Array]) -> Array:
    """Posterior probability of every edge i → j under a uniform prior on orders.

    `log_sum` are the tables of `ParentScores.log_sum_within`.
    """
    d = len(candidates)
    local = [local_masks(own, d) for own in candidates]
    layers = _layers(d)
    forward = np.full(1 << d, -np.inf)
    forward[0] = 0.0
    backward = np.full(1 << d, -np.inf)
    backward[-1] = 0.0
    for layer in layers[1:]:
        for j in range(d):
            masks = layer[layer >> j & 1 == 1]
            before = masks ^ (1 << j)
            score = forward[before] + log_sum[j][local[j][before]]
            forward[masks] = np.logaddexp(forward[masks], score)
    for layer in layers[-2::-1]:
        for j in range(d):
            masks = layer[layer >> j & 1 == 0]
            after = masks | 1 << j
            score = backward[after] + log_sum[j][local[j][masks]]
            backward[masks] = np.logaddexp(backward[masks], score)
    probability = np.zeros((d, d))
    everything = np.arange(1 << d)
    for j in range(d):
        masks = everything[everything >> j & 1 == 0]
        weight = forward[masks] + log_sum[j][local[j][masks]] + backward[masks | 1 << j]
        share = np.bincount(
            local[j][masks], np.exp(weight - forward[-1]), minlength=len(log_sum[j])
        )
        probability[list(candidates[j]), j] = share @ inclusion(log_sum[j], len(candidates[j]))
    return np.clip(probability, 0.0, 1.0)


def inclusion(log_sum: Array, n_candidates: int) -> Array:
    """Probability that each candidate is a parent, for every mask: [masks, candidates]."""
    masks = np.arange(len(log_sum))
    return (
        np.stack(
            [
                np.where(masks >> p & 1, -np.expm1(log_sum[masks & ~(1 << p)] - log_sum), 0.0)
                for p in range(n_candidates)
            ],
            axis=1,
        )
        if n_candidates
        else np.zeros((len(log_sum), 0))
    )
