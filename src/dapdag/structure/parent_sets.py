"""Which parent sets of a variable are scored: small ones, and larger ones that grow from the best.

A set is scored in full only if the models of its subsets do not show already that it is worse than
one of them.
"""

from __future__ import annotations

import numpy as np

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Features
from dapdag.structure.parents import ParentScores, target_of
from dapdag.structure.statistics import Array


def score_parents(
    features: Features,
    target: int,
    candidates: tuple[int, ...],
    required: tuple[int, ...],
    max_parents: int,
) -> ParentScores:
    """Score all small parent sets, and larger ones that grow from the best.

    Every set holds the required parents. An edge costs `EDGE_PENALTY` + log d.
    """
    scorer = target_of(features, target, candidates)
    n = len(candidates)
    penalty = c.EDGE_PENALTY + np.log(features.table.n_columns)
    raw = np.full(1 << n, -np.inf)
    level = [sum(1 << candidates.index(k) for k in required)]
    first, joining = len(required), range(n)
    for size in range(first, min(max_parents, n) + 1):
        contending = level
        if size > first + 1:
            raw[level] = scorer.estimates([_members(m, n) for m in level]) - penalty * size
            contending = [m for m in level if raw[m] >= _best_subset(raw, m, n) - c.SCREEN_MARGIN]
            if size == first + 2:
                joining = _joining(raw, n)
        if contending:
            raw[contending] = scorer.scores([_members(m, n) for m in contending]) - penalty * size
        grown = level if size < c.FULL_SIZE else _beam(raw, level, n)
        level = sorted({m | 1 << p for m in grown for p in joining if not m >> p & 1})
        if not level:
            break
    return ParentScores(candidates, raw)


def _best_subset(raw: Array, mask: int, n: int) -> float:
    """Score of the best subset with one parent less."""
    return float(max(raw[mask & ~(1 << p)] for p in range(n) if mask >> p & 1))


def _joining(raw: Array, n: int) -> list[int]:
    """Candidates that add to some set: the others are not tried in larger ones."""
    masks = np.flatnonzero(np.isfinite(raw))
    out = []
    for p in range(n):
        having = masks[masks >> p & 1 == 1]
        gain = raw[having] - raw[having ^ (1 << p)]
        if (gain >= -c.SCREEN_MARGIN).any():
            out.append(p)
    return out


def _beam(raw: Array, level: list[int], n: int) -> list[int]:
    """Sets that are worth growing: the best of all, and the best without each candidate.

    The latter matter to orders in which that candidate, often a child, comes later. A set that is
    clearly worse than one of its subsets is not grown.
    """
    promising = [
        mask
        for mask in level
        if not mask or raw[mask] >= _best_subset(raw, mask, n) - c.BEAM_MARGIN
    ]
    promising.sort(key=lambda mask: (-raw[mask], mask))
    kept = set(promising[: c.BEAM_WIDTH])
    for p in range(n):
        kept.update([mask for mask in promising if not mask >> p & 1][: c.BEAM_WITHOUT])
    return sorted(kept)


def _members(mask: int, n: int) -> tuple[int, ...]:
    return tuple(p for p in range(n) if mask >> p & 1)
