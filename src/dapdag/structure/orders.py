"""Search over orders: given an order, every variable takes its best parents among those before.

Moving one variable changes only its own score and those of the variables that have it as a
candidate. Between two neighbours of either kind its exact place does not matter, so that all
places of a variable are scored at the cost of a few table look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.parents import ParentScores
from dapdag.structure.statistics import Array

_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class OrderTables:
    """Score of each variable for every mask of candidates that precede it."""

    tables: tuple[list[float], ...]
    candidates: tuple[tuple[int, ...], ...]
    children: tuple[tuple[tuple[int, int], ...], ...]  # (variable, bit of this one there)

    @classmethod
    def of(cls, candidates: list[tuple[int, ...]], tables: list[Array]) -> OrderTables:
        children: list[list[tuple[int, int]]] = [[] for _ in candidates]
        for j, own in enumerate(candidates):
            for bit, k in enumerate(own):
                children[k].append((j, 1 << bit))
        return cls(
            tuple(table.tolist() for table in tables),
            tuple(candidates),
            tuple(tuple(found) for found in children),
        )

    def mask(self, variable: int, place: list[int]) -> int:
        """Candidates of a variable that precede it."""
        own = place[variable]
        return sum(1 << p for p, k in enumerate(self.candidates[variable]) if place[k] < own)

    def total(self, order: list[int]) -> float:
        """Score of an order."""
        place = places(order)
        return sum(self.tables[j][self.mask(j, place)] for j in order)

    def moves(self, variable: int, place: list[int]) -> tuple[list[int], list[float]]:
        """Scores of the places of a variable, relative to a constant.

        Returns the places of its neighbours in ascending order; score k is that of any place
        between neighbours k − 1 and k.
        """
        bits = {k: 1 << p for p, k in enumerate(self.candidates[variable])}
        switch: dict[int, float] = {}
        after = 0.0
        for child, bit in self.children[variable]:
            mask, table = self.mask(child, place), self.tables[child]
            with_it, without = table[mask | bit], table[mask & ~bit]
            after += with_it
            switch[child] = without - with_it
        neighbours = sorted({*bits, *switch}, key=place.__getitem__)
        own, before = self.tables[variable], 0
        scores = [own[0] + after]
        for k in neighbours:
            before |= bits.get(k, 0)
            after += switch.get(k, 0.0)
            scores.append(own[before] + after)
        return [place[k] for k in neighbours], scores


def places(order: list[int]) -> list[int]:
    """Place of each variable in an order."""
    place = [0] * len(order)
    for k, j in enumerate(order):
        place[j] = k
    return place


def climb(tables: OrderTables, order: list[int]) -> list[int]:
    """Move one variable after the other to its best place until nothing improves."""
    order = list(order)
    place = places(order)
    improved = True
    while improved:
        improved = False
        for variable in list(order):
            at, scores = tables.moves(variable, place)
            current = sum(k < place[variable] for k in at)
            best = max(range(len(scores)), key=scores.__getitem__)
            if scores[best] > scores[current] + _GAIN:
                # right after neighbour best − 1, or before the first one
                _move(order, place[variable], at[best - 1] + 1 if best else at[0])
                place = places(order)
                improved = True
    return order


def _move(order: list[int], start: int, to: int) -> None:
    """Move an entry in front of the one that is now at place `to`."""
    variable = order.pop(start)
    order.insert(to - 1 if to > start else to, variable)


def search_orders(tables: OrderTables, seed: int) -> list[int]:
    """Iterated local search: from random orders, and from perturbations of the best."""
    rng = np.random.default_rng(seed)
    d = len(tables.candidates)
    best: list[int] = []
    value = -np.inf
    start = rng.permutation(d).tolist()
    for trial in range(c.RESTARTS):
        order = climb(tables, start)
        score = tables.total(order)
        if score > value + _GAIN:
            best, value = order, score
        if trial % 3 == 2:
            start = rng.permutation(d).tolist()
        else:
            start = list(best)
            for _ in range(max(2, d // 5)):
                start.insert(int(rng.integers(d)), start.pop(int(rng.integers(d))))
    return best


def best_graph(scores: list[ParentScores], order: list[int]) -> NDArray[np.bool_]:
    """Edges i → j of the best graph that agrees with an order."""
    edge = np.zeros((len(order), len(order)), dtype=bool)
    place = places(order)
    for j, own in enumerate(scores):
        mask = sum(1 << p for p, k in enumerate(own.candidates) if place[k] < place[j])
        edge[list(own.parents(int(own.best_within[1][mask]))), j] = True
    return edge
