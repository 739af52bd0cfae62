"""Search over orders against exhaustive search and dynamic programming."""

from itertools import permutations

import numpy as np
import pytest

from dapdag.structure.exact import exact_edge_probability, exact_order
from dapdag.structure.orders import OrderTables, best_graph, climb, search_orders
from dapdag.structure.parents import ParentScores
from dapdag.structure.probabilities import sampled_edge_probability


def _random_scores(d, n_candidates, seed):
    rng = np.random.default_rng(seed)
    scores = []
    for j in range(d):
        others = [k for k in range(d) if k != j]
        own = tuple(sorted(rng.choice(others, size=min(n_candidates, d - 1), replace=False)))
        raw = rng.normal(scale=5, size=1 << len(own))
        raw[rng.random(len(raw)) < 0.3] = -np.inf
        raw[0] = 0.0
        scores.append(ParentScores(tuple(int(k) for k in own), raw))
    return scores


def _tables(scores):
    return [s.candidates for s in scores], [s.best_within[0] for s in scores]


def test_dynamic_programming_finds_the_best_of_all_orders():
    scores = _random_scores(5, 4, seed=0)
    candidates, best = _tables(scores)
    tables = OrderTables.of(candidates, best)
    found = tables.total(exact_order(candidates, best))
    assert found == pytest.approx(max(tables.total(list(p)) for p in permutations(range(5))))


@pytest.mark.parametrize("seed", range(6))
def test_local_search_finds_the_exact_optimum(seed):
    candidates, best = _tables(_random_scores(9, 5, seed))
    tables = OrderTables.of(candidates, best)
    exact = tables.total(exact_order(candidates, best))
    assert tables.total(search_orders(tables, seed=0)) == pytest.approx(exact)


def test_moves_are_scored_as_the_whole_order():
    candidates, best = _tables(_random_scores(7, 4, seed=3))
    tables = OrderTables.of(candidates, best)
    order = climb(tables, list(range(7)))
    total = tables.total(order)
    for variable in range(7):
        rest = [k for k in order if k != variable]
        for at in range(7):
            assert tables.total([*rest[:at], variable, *rest[at:]]) <= total + 1e-9


def test_the_graph_of_an_order_follows_it_and_has_its_score():
    scores = _random_scores(6, 4, seed=5)
    candidates, best = _tables(scores)
    order = exact_order(candidates, best)
    edge = best_graph(scores, order)
    place = {j: k for k, j in enumerate(order)}
    assert all(place[i] < place[j] for i, j in np.argwhere(edge))
    value = sum(
        s.raw[sum(1 << s.candidates.index(i) for i in np.flatnonzero(edge[:, j]))]
        for j, s in enumerate(scores)
    )
    assert value == pytest.approx(OrderTables.of(candidates, best).total(order))


def test_exact_probabilities_are_those_of_all_orders():
    scores = _random_scores(4, 3, seed=1)
    candidates = [s.candidates for s in scores]
    log_sum = [s.log_sum_within(2.0) for s in scores]
    weight, expected = 0.0, np.zeros((4, 4))
    for order in permutations(range(4)):
        total, parts = 1.0, np.zeros((4, 4))
        for at, j in enumerate(order):
            own = scores[j]
            allowed = [
                m
                for m in range(len(own.raw))
                if np.isfinite(own.raw[m]) and set(own.parents(m)) <= set(order[:at])
            ]
            w = np.exp(own.raw[allowed] / 2.0)
            for m, share in zip(allowed, w / w.sum(), strict=True):
                parts[list(own.parents(m)), j] += share
            total *= w.sum()
        weight += total
        expected += total * parts
    np.testing.assert_allclose(
        exact_edge_probability(candidates, log_sum), expected / weight, atol=1e-10
    )


def test_sampled_probabilities_approach_the_exact_ones():
    scores = _random_scores(6, 4, seed=2)
    candidates = [s.candidates for s in scores]
    log_sum = [s.log_sum_within(3.0) for s in scores]
    sampled = sampled_edge_probability(candidates, log_sum, list(range(6)), seed=0, sweeps=3000)
    np.testing.assert_allclose(sampled, exact_edge_probability(candidates, log_sum), atol=0.05)
