"""Which parent sets of a variable are scored: small ones, and larger ones that grow from the best.

A set is scored in full only if the models of its subsets do not show already that it is worse than
one of them. One and two parents are screened with a small dictionary; candidates that add to none
of these sets are left out of the large one.
"""

from __future__ import annotations

import numpy as np

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Features
from dapdag.structure.parents import ParentScores
from dapdag.structure.statistics import Array
from dapdag.structure.targets import target_of


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
    n, first = len(candidates), len(required)
    limit = min(max_parents, n)
    penalty = c.EDGE_PENALTY + np.log(features.table.n_columns)
    raw = np.full(1 << n, -np.inf)
    scorer = target_of(features, target, candidates, screening=limit > first + 1)

    def columns(masks: list[int]) -> list[tuple[int, ...]]:
        return [tuple(k for p, k in enumerate(candidates) if m >> p & 1) for m in masks]

    layer = [sum(1 << candidates.index(k) for k in required)]
    joining = list(range(n))
    for size in range(first, limit + 1):
        if size > first + 1:
            raw[layer] = scorer.estimates(columns(layer)) - penalty * size
        if size == first + 2:
            joining = _joining(raw, n)
            kept = {*required, *(candidates[p] for p in joining)}
            scorer = scorer.with_all_terms(tuple(sorted(kept)))
        contending = [m for m in layer if size <= first + 1 or _contends(raw, m, n)]
        raw[contending] = scorer.scores(columns(contending)) - penalty * size
        grown = layer if size < first + c.FULL_SIZE else _beam(raw, layer, n)
        layer = sorted({m | 1 << p for m in grown for p in joining if not m >> p & 1})
        if not layer:
            break
    return ParentScores(candidates, raw, penalty, scorer.known_models)


def _best_subset(raw: Array, mask: int, n: int) -> float:
    """Score of the best subset with one parent less."""
    return float(max(raw[mask & ~(1 << p)] for p in range(n) if mask >> p & 1))


def _contends(raw: Array, mask: int, n: int) -> bool:
    """Whether a set may be better than its subsets, by its estimate."""
    return bool(raw[mask] >= _best_subset(raw, mask, n) - c.SCREEN_MARGIN)


def _joining(raw: Array, n: int) -> list[int]:
    """Candidates that may add to some set: the others are not tried in larger ones."""
    masks = np.flatnonzero(raw > -np.inf)
    out = []
    for p in range(n):
        having = masks[masks >> p & 1 == 1]
        if (raw[having] - raw[having ^ (1 << p)] >= -c.SCREEN_MARGIN).any():
            out.append(p)
    return out


def _beam(raw: Array, layer: list[int], n: int) -> list[int]:
    """Sets that are worth growing: the best of all, and the best without each candidate.

    The latter matter to orders in which that candidate, often a child, comes later. A set that is
    clearly worse than one of its subsets is not grown.
    """
    promising = [mask for mask in layer if raw[mask] >= _best_subset(raw, mask, n) - c.BEAM_MARGIN]
    promising.sort(key=lambda mask: (-raw[mask], mask))
    kept = set(promising[: c.BEAM_WIDTH])
    for p in range(n):
        kept.update([mask for mask in promising if not mask >> p & 1][: c.BEAM_WITHOUT])
    return sorted(kept)
