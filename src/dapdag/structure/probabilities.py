"""Probabilities of edges: an average over orders, exact or by Markov chain Monte Carlo.

The scores are divided by a temperature before they are exponentiated, because the model is an
approximation and its errors add up over rows as the evidence does.
"""

from __future__ import annotations

import numpy as np

from dapdag.structure import constants as c
from dapdag.structure.exact import exact_edge_probability, inclusion
from dapdag.structure.orders import OrderTables, places
from dapdag.structure.parents import ParentScores
from dapdag.structure.statistics import Array


def edge_probability(scores: list[ParentScores], order: list[int], seed: int) -> Array:
    """Probability of every edge i → j; `order` starts the chain where the sum is not exact."""
    candidates = [s.candidates for s in scores]
    log_sum = [s.log_sum_within(c.TEMPERATURE) for s in scores]
    if len(scores) <= c.EXACT_VARIABLES:
        return exact_edge_probability(candidates, log_sum)
    return sampled_edge_probability(candidates, log_sum, order, seed)


def sampled_edge_probability(
    candidates: list[tuple[int, ...]],
    log_sum: list[Array],
    order: list[int],
    seed: int,
    sweeps: int = c.MCMC_SWEEPS,
) -> Array:
    """Order MCMC by Gibbs sampling: each variable draws its place given the order of the others."""
    rng = np.random.default_rng(seed)
    d = len(candidates)
    tables = OrderTables.of(candidates, log_sum)
    parents = [inclusion(table, len(own)) for table, own in zip(log_sum, candidates, strict=True)]
    order = list(order)
    place = places(order)
    total = np.zeros((d, d))
    burn_in = int(c.MCMC_BURN_IN * sweeps)
    for sweep in range(sweeps):
        for variable in rng.permutation(d).tolist():
            to = _draw_place(tables, variable, place, float(rng.random()), float(rng.random()))
            order.remove(variable)
            order.insert(to, variable)
            low, high = sorted((place[variable], to))
            for k in range(low, high + 1):
                place[order[k]] = k
        if sweep >= burn_in:
            for j, own in enumerate(candidates):
                total[list(own), j] += parents[j][tables.mask(j, place)]
    return np.clip(total / (sweeps - burn_in), 0.0, 1.0)


def _draw_place(
    tables: OrderTables, variable: int, place: list[int], u: float, within: float
) -> int:
    """A place among the others, with probability proportional to exp(score)."""
    at, scores = tables.moves(variable, place)
    own = place[variable]
    # places of the neighbours once the variable is taken out; the gaps between them
    edges = np.array([-1, *(k - (k > own) for k in at), len(place) - 1])
    slots = np.diff(edges)
    weight = np.array(scores)
    weight = np.exp(weight - weight.max()) * slots
    cumulative = np.cumsum(weight)
    gap = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    gap = min(gap, len(slots) - 1)
    return int(edges[gap]) + 1 + int(within * slots[gap])
