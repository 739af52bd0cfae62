"""Probabilities of edges: an average over orders, exact or by Markov chain Monte Carlo.

The scores are divided by a temperature before they are exponentiated, because the model is an
approximation and its errors add up over rows as the evidence does.
"""

from __future__ import annotations

import numpy as np

from dapdag.structure import constants as c
from dapdag.structure.exact import exact_edge_probability, inclusion
from dapdag.structure.orders import Order, OrderTables
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
    state = Order(OrderTables.of(candidates, log_sum), order)
    parents = [inclusion(table, len(own)) for table, own in zip(log_sum, candidates, strict=True)]
    visits = [np.zeros(len(table)) for table in log_sum]
    burn_in = int(c.MCMC_BURN_IN * sweeps)
    for sweep in range(sweeps):
        for variable in rng.permutation(d).tolist():
            state.move(variable, _draw_place(state, variable, *rng.random(2).tolist()))
        if sweep >= burn_in:
            for count, mask in zip(visits, state.mask.tolist(), strict=True):
                count[mask] += 1
    probability = np.zeros((d, d))
    for j, own in enumerate(candidates):
        probability[list(own), j] = visits[j] @ parents[j] / (sweeps - burn_in)
    return np.clip(probability, 0.0, 1.0)


def _draw_place(state: Order, variable: int, u: float, within: float) -> int:
    """A place among the others, with probability proportional to exp(score)."""
    at, scores = state.moves(variable)
    # places of the neighbours once the variable is taken out; the gaps between them
    edges = np.empty(len(at) + 2, dtype=np.intp)
    edges[0], edges[-1] = -1, len(state.place) - 1
    edges[1:-1] = at - (at > state.place[variable])
    slots = edges[1:] - edges[:-1]
    cumulative = (np.exp(scores - scores.max()) * slots).cumsum()
    gap = int(cumulative.searchsorted(u * cumulative[-1], side="right"))
    gap = min(gap, len(slots) - 1)
    return int(edges[gap]) + 1 + int(within * slots[gap])
