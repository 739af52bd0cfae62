"""Parent sets next to those of the best graph, which screening and beam may have left out.

A cause that acts through a product with another cause may show in no pair of columns and in no
forward step. It shows in what the parents found so far leave unexplained: the residuals of a
variable are correlated with it, or with its products with the parents.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Features
from dapdag.structure.parents import NumericTarget, ParentScores
from dapdag.structure.statistics import Array
from dapdag.structure.targets import DiscreteTarget, target_of

_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Refinement:
    """Low-order features of all columns, centred within sites: [columns * k, rows]."""

    features: Features
    centred: Array
    squared: Array

    @classmethod
    def of(cls, features: Features) -> Refinement:
        table = features.table
        everything = slice(0, table.n_rows)
        k = c.SCREEN_FEATURES
        block = np.concatenate(
            [features.of(j, everything)[:, :k].T for j in range(table.n_columns)]
        )
        centred = _centre(block, table.bounds)
        return cls(features, centred, centred**2)

    def refine(
        self,
        target: int,
        scores: ParentScores,
        parents: tuple[int, ...],
        allowed: NDArray[np.bool_],
        required: tuple[int, ...],
        max_parents: int,
    ) -> ParentScores:
        """Score the sets that differ from `parents` by one member and may be better."""
        features = self.features
        model = target_of(features, target, parents, known=scores.models)
        dropped = {k: tuple(m for m in parents if m != k) for k in parents if k not in required}
        sets = list(dropped.values())
        if features.table.levels[target] <= 2:
            barred = ~allowed
            barred[[target, *parents]] = True
            if len(parents) < max_parents:
                sets += self._additions(model, scores, parents, barred)
            if len(parents) > c.FULL_SIZE:
                sets += self._exchanges(model, scores, dropped, barred)
        new = sorted({k for own in sets for k in own} - set(scores.candidates))
        scores = scores.with_candidates(new)
        sets = [own for own in sets if scores.raw[scores.mask(own)] == -np.inf]
        if not sets:
            return scores
        union = tuple(sorted({*parents, *(k for own in sets for k in own)}))
        scorer = target_of(features, target, union, known=scores.models)
        raw = scores.raw.copy()
        for size in sorted({len(own) for own in sets}):
            layer = sorted({own for own in sets if len(own) == size})
            raw[[scores.mask(own) for own in layer]] = scorer.scores(layer) - scores.penalty * size
        return ParentScores(scores.candidates, raw, scores.penalty, scorer.known_models)

    def _additions(
        self,
        model: NumericTarget | DiscreteTarget,
        scores: ParentScores,
        parents: tuple[int, ...],
        barred: NDArray[np.bool_],
    ) -> list[tuple[int, ...]]:
        """Sets with one more parent that have not been scored, the most promising ones."""
        gain = np.where(barred, -np.inf, self._gains(model, parents))
        for k in scores.candidates:
            if k not in parents and scores.raw[scores.mask((*parents, k))] > -np.inf:
                gain[k] = -np.inf
        order = np.argsort(-gain, kind="stable")[: c.REFINE_ADDED]
        return [tuple(sorted((*parents, int(k)))) for k in order if gain[k] > scores.penalty]

    def _exchanges(
        self,
        model: NumericTarget | DiscreteTarget,
        scores: ParentScores,
        dropped: dict[int, tuple[int, ...]],
        barred: NDArray[np.bool_],
    ) -> list[tuple[int, ...]]:
        """Sets in which another column takes the place of a parent that it may stand for.

        Larger sets grow from the best ones, which often hold effects of the variable. The set of
        its causes can be two steps away, with a worse one between.
        """
        out = []
        for k, rest in dropped.items():
            gain = self._gains(model, rest)
            least = gain[k] - c.SCREEN_MARGIN
            gain[barred] = -np.inf
            order = np.argsort(-gain, kind="stable")[: c.REFINE_EXCHANGED]
            out += [tuple(sorted((*rest, int(m)))) for m in order if gain[m] > least]
        return out

    def _gains(self, model: NumericTarget | DiscreteTarget, parents: tuple[int, ...]) -> Array:
        """Nats that each column adds to the parents, at least: [columns].

        By the correlation of its features, alone or in products with a parent, with the residuals
        over all sites, at each site, or with an effect that moves along the axis of the sites.
        """
        if isinstance(model, DiscreteTarget):
            model = NumericTarget(model.dictionary)
        table, k = self.features.table, c.SCREEN_FEATURES
        r = _centre(model.residuals(parents)[None].astype(float), table.bounds)[0]
        sites = list(pairwise(table.bounds.tolist()))
        own = np.array([r[a:b] @ r[a:b] for a, b in sites])
        best = np.full(len(self.centred), -np.inf)
        for factor in (None, *(self.centred[p * k] for p in parents)):
            weighted = r if factor is None else r * factor
            squares = None if factor is None else factor**2
            cross = np.stack([self.centred[:, a:b] @ weighted[a:b] for a, b in sites])
            square = np.stack(
                [
                    self.squared[:, a:b].sum(axis=1)
                    if squares is None
                    else self.squared[:, a:b] @ squares[a:b]
                    for a, b in sites
                ]
            )
            best = np.maximum(best, self._best_test(cross, square, own))
        return best.reshape(-1, k).max(axis=1)

    def _best_test(self, cross: Array, square: Array, own: Array) -> Array:
        """The best of three tests from sums of products at each site [sites, columns]."""
        count, e = np.diff(self.features.table.bounds).astype(float), self.features.position
        n, total = count.sum(), own.sum()
        pooled = _information(cross.sum(axis=0), square.sum(axis=0), total, n)
        along = _information(e @ cross, e**2 @ square, total, n)
        large = count > 2
        by_site = _information(
            cross[large], square[large], own[large, None], count[large, None]
        ).sum(axis=0)
        return np.maximum(np.maximum(pooled, along), by_site)


def _centre(block: Array, bounds: NDArray[np.intp]) -> Array:
    """Rows of [k, rows of the table] minus their site means."""
    out = block.copy()
    for start, stop in pairwise(bounds.tolist()):
        out[:, start:stop] -= out[:, start:stop].mean(axis=1, keepdims=True)
    return out


def _information(cross: Array, square: Array, own: Any, n_rows: Any) -> Array:
    """−n/2 log(1 − r²) − 1/2 log n."""
    r2 = np.minimum(cross**2 / np.maximum(square * own, _TINY), 1 - _TINY)
    return np.asarray(-0.5 * n_rows * np.log1p(-r2) - 0.5 * np.log(n_rows))
