"""Scores of the parent sets of one variable within its candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.batch import Batch, make_batch
from dapdag.structure.dictionary import Dictionary, Features, build_dictionary
from dapdag.structure.discrete import Rows, discrete_evidence, discrete_rows
from dapdag.structure.models import (
    Choice,
    best_models,
    better_of,
    contenders,
    residual_coefficients,
)
from dapdag.structure.nesting import EXACT_MODELS
from dapdag.structure.residuals import density_gain, marginal_gain
from dapdag.structure.statistics import Array

# Stands for a parent set without a required parent: finite, so that differences are numbers.
IMPOSSIBLE = -1e12


@dataclass(frozen=True, eq=False)
class ParentScores:
    """Scores of a variable's parent sets; bit p of a mask stands for ``candidates[p]``."""

    candidates: tuple[int, ...]
    raw: Array  # [2^candidates]: score of each set, −inf if it was not scored

    @cached_property
    def best_within(self) -> tuple[Array, NDArray[np.intp]]:
        """Score and mask of the best set among the subsets of each mask."""
        best = np.maximum(self.raw, IMPOSSIBLE)
        arg = np.arange(len(best))
        for p in range(len(self.candidates)):
            having = np.flatnonzero(np.arange(len(best)) >> p & 1)
            lacking = having ^ (1 << p)
            take = best[lacking] > best[having]
            best[having] = np.where(take, best[lacking], best[having])
            arg[having] = np.where(take, arg[lacking], arg[having])
        return best, arg

    def log_sum_within(self, temperature: float) -> Array:
        """log Σ exp(score / temperature) over the scored subsets of each mask."""
        total = np.maximum(self.raw, IMPOSSIBLE) / temperature
        total[~np.isfinite(self.raw)] = IMPOSSIBLE
        for p in range(len(self.candidates)):
            having = np.flatnonzero(np.arange(len(total)) >> p & 1)
            total[having] = np.logaddexp(total[having], total[having ^ (1 << p)])
        return total

    def parents(self, mask: int) -> tuple[int, ...]:
        """Columns that a mask stands for."""
        return tuple(k for p, k in enumerate(self.candidates) if mask >> p & 1)


class NumericTarget:
    """Evidence of parent sets of a numeric variable, with the density of its residuals."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        table = dictionary.features.table
        self._bounds = table.bounds
        self._n_distinct = int(table.n_distinct[dictionary.target])
        # densities do not need double precision
        self._block = dictionary.rows(slice(0, table.n_rows)).astype(np.float32)
        own = table.values[:, dictionary.target]
        self.normal_scale_gain = marginal_gain(own, self._n_distinct)

    def scores(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets of one size."""
        found = [self._less_misfit(batch, choice) for batch, choice in self.models(parent_sets)]
        return np.concatenate(found)

    def _less_misfit(self, batch: Batch, choice: Choice) -> Array:
        """Evidence minus what a further parent can gain by the error of an approximation.

        Splines and networks follow a curve to within a share of what it explains. A variable
        that depends on a parent picks up some of the rest, and must not count as a parent for it.
        """
        approximate = ~np.isin(choice.model, EXACT_MODELS) | c.APPROXIMATE_LEVELS[choice.level]
        explained = np.maximum(choice.value - self._alone, 0.0)
        return np.asarray(
            choice.value - c.MISFIT * batch.n_parents * np.where(approximate, explained, 0.0)
        )

    @cached_property
    def _alone(self) -> float:
        """Evidence without parents."""
        ((_, choice),) = self.models([()])
        return float(choice.value[0])

    def models(self, parent_sets: list[tuple[int, ...]]) -> list[tuple[Batch, Choice]]:
        """Moments and chosen models of parent sets of one size, in batches that fit in memory.

        The value of a choice includes the density of its residuals.
        """
        layout = self.dictionary.layout
        n_terms = len(layout.additive(parent_sets[0])) + len(layout.products(parent_sets[0])) + 2
        numbers = n_terms**2 * len(self.dictionary.moments.count)
        size = max(1, c.BATCH_SIZE // numbers)
        out = []
        for at in range(0, len(parent_sets), size):
            batch = make_batch(self.dictionary, parent_sets[at : at + size])
            out.append((batch, self._with_density(batch)))
        return out

    def _with_density(self, batch: Batch) -> Choice:
        own, *others = best_models(batch, self.normal_scale_gain)
        best = replace(own, value=own.value + self.density_gains(batch, own))
        for other in others:
            which = contenders(own, other)
            if len(which):
                some, chosen = batch.take(which), other.take(which)
                gain = self.density_gains(some, chosen)
                best = better_of(best, replace(chosen, value=chosen.value + gain), which)
        return best

    def density_gains(self, batch: Batch, choice: Choice) -> Array:
        """What a density other than the normal adds for the residuals of each set."""
        coefficients = residual_coefficients(batch, choice)
        n_sets, n_sites, _ = coefficients.shape
        # [sites, dictionary, sets]
        spread = np.zeros((n_sites, self.dictionary.layout.size, n_sets), dtype=np.float32)
        for k in range(n_sets):
            spread[:, batch.columns[k], k] = coefficients[k]
        residuals = np.empty((len(self._block), n_sets), dtype=np.float32)
        for m, (a, b) in enumerate(pairwise(self._bounds.tolist())):
            scale = np.sqrt(choice.weight[:, m]).astype(np.float32)
            residuals[a:b] = (self._block[a:b] @ spread[m]) * scale
        gain = density_gain(residuals, self._n_distinct)
        return np.asarray(np.where(choice.noise > 2 * c.NOISE_FLOOR, gain, 0.0))


class DiscreteTarget:
    """Evidence of parent sets of a binary or categorical variable."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.rows: Rows = discrete_rows(dictionary)

    def levels(self, parents: tuple[int, ...]) -> Array:
        """Evidence at each level of site effects."""
        n_sites = self.dictionary.features.table.n_sites
        return discrete_evidence(self.dictionary, self.rows, parents, n_sites)

    def scores(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets."""
        return np.array([self.levels(parents).max() for parents in parent_sets])


def target_of(
    features: Features, target: int, candidates: tuple[int, ...]
) -> NumericTarget | DiscreteTarget:
    """The evidence of one variable, by its kind."""
    dictionary = build_dictionary(features, target, candidates)
    if features.table.levels[target]:
        return DiscreteTarget(dictionary)
    return NumericTarget(dictionary)


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
    for size in range(len(required), min(max_parents, n) + 1):
        raw[level] = scorer.scores([_members(mask, n) for mask in level])
        raw[level] -= penalty * size
        grown = level if size < c.FULL_SIZE else _beam(raw, level, n)
        level = sorted({m | 1 << p for m in grown for p in range(n) if not m >> p & 1})
        if not level:
            break
    return ParentScores(candidates, raw)


def _beam(raw: Array, level: list[int], n: int) -> list[int]:
    """Sets that are worth growing: the best of all, and the best without each candidate.

    The latter matter to orders in which that candidate, often a child, comes later. A set that is
    clearly worse than one of its subsets is not grown.
    """
    promising = [
        mask
        for mask in level
        if raw[mask]
        >= max(raw[mask & ~(1 << p)] for p in range(n) if mask >> p & 1) - c.BEAM_MARGIN
    ]
    promising.sort(key=lambda mask: (-raw[mask], mask))
    kept = set(promising[: c.BEAM_WIDTH])
    for p in range(n):
        kept.update([mask for mask in promising if not mask >> p & 1][: c.BEAM_WITHOUT])
    return sorted(kept)


def _members(mask: int, n: int) -> tuple[int, ...]:
    return tuple(p for p in range(n) if mask >> p & 1)
