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
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class OrderTables:
    """Score of each variable for every mask of candidates that precede it.

    The neighbours of a variable are its candidates and the variables it is a candidate of.
    """

    flat: Array  # the tables of all variables, one after the other
    offset: Indices  # [variables]: where each begins
    candidates: tuple[tuple[int, ...], ...]
    neighbours: tuple[Indices, ...]
    own_bit: tuple[Indices, ...]  # bit of each neighbour in the variable's mask, 0 if none
    child_bit: tuple[Indices, ...]  # bit of the variable in each neighbour's mask, 0 if none

    @classmethod
    def of(cls, candidates: list[tuple[int, ...]], tables: list[Array]) -> OrderTables:
        bits: list[dict[int, list[int]]] = [{} for _ in candidates]
        for j, own in enumerate(candidates):
            for p, k in enumerate(own):
                bits[j].setdefault(k, [0, 0])[0] = 1 << p
                bits[k].setdefault(j, [0, 0])[1] = 1 << p
        pairs = [np.array(list(found.values()), dtype=np.intp).reshape(-1, 2) for found in bits]
        return cls(
            np.concatenate(tables),
            np.cumsum([0, *(len(table) for table in tables[:-1])], dtype=np.intp),
            tuple(candidates),
            tuple(np.array(list(found), dtype=np.intp) for found in bits),
            tuple(pair[:, 0] for pair in pairs),
            tuple(pair[:, 1] for pair in pairs),
        )

    def total(self, order: list[int]) -> float:
        """Score of an order."""
        return float(self.flat[self.offset + Order(self, order).mask].sum())


class Order:
    """An order of the variables, and for each of them the mask of candidates that precede it."""

    def __init__(self, tables: OrderTables, order: list[int]) -> None:
        self.tables = tables
        self.sequence = np.array(order, dtype=np.intp)
        self.place = np.empty(len(order), dtype=np.intp)
        self.place[self.sequence] = np.arange(len(order))
        self.mask = np.zeros(len(order), dtype=np.intp)
        for j, near in enumerate(tables.neighbours):
            self.mask[j] = tables.own_bit[j][self.place[near] < self.place[j]].sum()

    def moves(self, variable: int) -> tuple[Indices, Array]:
        """Scores of the places of a variable, relative to a constant.

        Returns the places of its neighbours in ascending order; score k is that of any place
        between neighbours k − 1 and k.
        """
        t = self.tables
        near, bit = t.neighbours[variable], t.child_bit[variable]
        at = self.place[near]
        ascending = at.argsort()
        base, mask = t.offset[near], self.mask[near]
        # what each child loses when the variable comes after it
        switch = t.flat[base + (mask & ~bit)] - t.flat[base + (mask | bit)]
        scores = np.zeros(len(near) + 1)
        switch[ascending].cumsum(out=scores[1:])
        before = np.zeros(len(near) + 1, dtype=np.intp)
        t.own_bit[variable][ascending].cumsum(out=before[1:])
        scores += t.flat[t.offset[variable] + before]
        return at[ascending], scores

    def move(self, variable: int, to: int) -> None:
        """Move a variable to a place among the others."""
        start = int(self.place[variable])
        if start == to:
            return
        low, high = min(start, to), max(start, to)
        if start < to:
            self.sequence[low:high] = self.sequence[low + 1 : high + 1]
        else:
            self.sequence[low + 1 : high + 1] = self.sequence[low:high].copy()
        self.sequence[to] = variable
        self.place[self.sequence[low : high + 1]] = np.arange(low, high + 1)
        t = self.tables
        near, bit = t.neighbours[variable], t.child_bit[variable]
        first = self.place[near] < to
        self.mask[variable] = t.own_bit[variable][first].sum()
        self.mask[near] = np.where(first, self.mask[near] & ~bit, self.mask[near] | bit)


def climb(tables: OrderTables, order: list[int]) -> list[int]:
    """Move one variable after the other to its best place until nothing improves."""
    state = Order(tables, order)
    improved = True
    while improved:
        improved = False
        for variable in state.sequence.tolist():
            at, scores = state.moves(variable)
            own = state.place[variable]
            current = int((at < own).sum())
            best = int(scores.argmax())
            if scores[best] > scores[current] + _GAIN:
                # right after neighbour best − 1, or before the first one
                to = int(at[best - 1]) + 1 if best else int(at[0])
                state.move(variable, to - (to > own))
                improved = True
    return [int(k) for k in state.sequence]


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
    place = {j: k for k, j in enumerate(order)}
    for j, own in enumerate(scores):
        mask = sum(1 << p for p, k in enumerate(own.candidates) if place[k] < place[j])
        edge[list(own.parents(int(own.best_within[1][mask]))), j] = True
    return edge
