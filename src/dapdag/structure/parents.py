"""Scores of the parent sets of one variable within its candidates."""

from __future__ import annotations

from dataclasses import dataclass
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
    extended_models,
    residual_coefficients,
    stack,
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
        own = table.values[:, dictionary.target]
        self.normal_scale_gain = marginal_gain(own, self._n_distinct)
        self._known: dict[tuple[int, ...], Choice] = {}

    def scores(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets of one size under their most probable models."""
        for at in self._slices(parent_sets):
            choice = self._with_density(make_batch(self.dictionary, parent_sets[at]))
            for k, parents in enumerate(parent_sets[at]):
                self._known[parents] = choice.take(np.array([k]))
        return self._known_scores(parent_sets)

    def estimates(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets under the models of their subsets with one parent less.

        The level of site effects, the noise, the scale and the density of the residuals are those
        of the best subset; the level of any other subset is tried as well. It is close to the
        evidence where the further parent does not matter, and shows where it does.
        """
        for at in self._slices(parent_sets):
            sets = parent_sets[at]
            subsets = [[s for s in _one_less(own) if s in self._known] for own in sets]
            scores = [self._known_scores(own) for own in subsets]
            best = [
                self._known[own[int(np.argmax(value))]]
                for own, value in zip(subsets, scores, strict=True)
            ]
            levels = [{int(self._known[s].level[0]) for s in own} for own in subsets]
            batch = make_batch(self.dictionary, sets)
            choice = extended_models(batch, stack(best), levels, self.normal_scale_gain)
            for k, parents in enumerate(sets):
                self._known[parents] = choice.take(np.array([k]))
        return self._known_scores(parent_sets)

    def _known_scores(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence minus what a further parent can gain by the error of an approximation.

        Splines and networks follow a curve to within a share of what it explains. A variable
        that depends on a parent picks up some of the rest, and must not count as a parent for it.
        """
        if not parent_sets:
            return np.zeros(0)
        choice = stack([self._known[parents] for parents in parent_sets])
        approximate = ~np.isin(choice.model, EXACT_MODELS) | c.APPROXIMATE_LEVELS[choice.level]
        explained = np.where(approximate, np.maximum(choice.value - self._alone, 0.0), 0.0)
        return np.asarray(choice.value - c.MISFIT * len(parent_sets[0]) * explained)

    @cached_property
    def _alone(self) -> float:
        """Evidence without parents."""
        return float(self.model(())[1].value[0])

    def model(self, parents: tuple[int, ...]) -> tuple[Batch, Choice]:
        """Moments and chosen model of one parent set."""
        batch = make_batch(self.dictionary, [parents])
        return batch, self._with_density(batch)

    def _slices(self, parent_sets: list[tuple[int, ...]]) -> list[slice]:
        """Parts of a list of parent sets of one size whose moments fit in memory."""
        if not parent_sets:
            return []
        layout = self.dictionary.layout
        n_terms = len(layout.additive(parent_sets[0])) + len(layout.products(parent_sets[0])) + 2
        numbers = n_terms**2 * len(self.dictionary.moments.count)
        size = max(1, c.BATCH_SIZE // numbers)
        return [slice(at, at + size) for at in range(0, len(parent_sets), size)]

    def _with_density(self, batch: Batch) -> Choice:
        """The most probable models, with the density of their residuals."""
        own, *others = best_models(batch, self.normal_scale_gain)
        best = own.with_density(self.density_gains(batch, own))
        for other in others:
            which = contenders(own, other)
            if len(which):
                some, chosen = batch.take(which), other.take(which)
                found = chosen.with_density(self.density_gains(some, chosen))
                best = better_of(best, found, which)
        return best

    def density_gains(self, batch: Batch, choice: Choice) -> Array:
        """What a density other than the normal adds for the residuals of each set."""
        coefficients = residual_coefficients(batch, choice)
        n_sets, n_sites, _ = coefficients.shape
        values = self.dictionary.values
        spread = np.zeros((n_sites, n_sets, len(values)), dtype=np.float32)
        for k in range(n_sets):
            spread[:, k, batch.columns[k]] = coefficients[k] * np.sqrt(choice.weight[k])[:, None]
        residuals = np.empty((n_sets, values.shape[1]), dtype=np.float32)
        for m, (a, b) in enumerate(pairwise(self._bounds.tolist())):
            np.matmul(spread[m], values[:, a:b], out=residuals[:, a:b])
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

    def estimates(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """No estimate: every set contends."""
        return np.full(len(parent_sets), np.inf)

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


def _one_less(parents: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Subsets with one parent less."""
    return [parents[:k] + parents[k + 1 :] for k in range(len(parents))]
