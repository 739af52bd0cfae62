"""Scores of the parent sets of one variable within its candidates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.batch import Batch, make_batch
from dapdag.structure.dictionary import Dictionary, build_dictionary
from dapdag.structure.models import (
    Choice,
    best_models,
    better_of,
    contenders,
    extended_models,
    residual_coefficients,
    stack,
    with_unequal_noise,
)
from dapdag.structure.nesting import EXACT_MODELS
from dapdag.structure.residuals import density_gain, marginal_gain, stratified_gain
from dapdag.structure.statistics import Array

# Stands for a parent set without a required parent: finite, so that differences are numbers.
IMPOSSIBLE = -1e12


@dataclass(frozen=True, eq=False)
class ParentScores:
    """Scores of a variable's parent sets; bit p of a mask stands for ``candidates[p]``."""

    candidates: tuple[int, ...]
    raw: Array  # [2^candidates]: score of each set, −inf if it was not scored
    penalty: float = 0.0  # nats that an edge costs, part of the scores
    models: dict[tuple[int, ...], Choice] = field(default_factory=dict)  # of a numeric variable

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

    def mask(self, parents: tuple[int, ...]) -> int:
        """Mask of a set of candidates."""
        return sum(1 << self.candidates.index(k) for k in parents)

    def with_candidates(self, new: list[int]) -> ParentScores:
        """The same scores with more candidates, whose sets have not been scored."""
        candidates = tuple(sorted({*self.candidates, *new}))
        if candidates == self.candidates:
            return self
        old = np.arange(len(self.raw))
        place = np.zeros_like(old)
        for p, k in enumerate(self.candidates):
            place |= (old >> p & 1) << candidates.index(k)
        raw = np.full(1 << len(candidates), -np.inf)
        raw[place] = self.raw
        return ParentScores(candidates, raw, self.penalty, self.models)

    def parents(self, mask: int) -> tuple[int, ...]:
        """Columns that a mask stands for."""
        return tuple(k for p, k in enumerate(self.candidates) if mask >> p & 1)


class NumericTarget:
    """Evidence of parent sets of a numeric variable, with the density of its residuals.

    Parents are given by the numbers of their columns, in ascending order.
    """

    def __init__(
        self, dictionary: Dictionary, known: dict[tuple[int, ...], Choice] | None = None
    ) -> None:
        self.dictionary = dictionary
        table = dictionary.features.table
        self._bounds = table.bounds
        self._n_distinct = int(table.n_distinct[dictionary.target])
        self._known: dict[tuple[int, ...], Choice] = dict(known or {})
        self._score: dict[tuple[int, ...], float] = {}
        self._kept: dict[tuple[int, ...], NDArray[np.float32]] = {}  # residuals
        self._strata: dict[tuple[int, ...], NDArray[np.intp]] = {}
        self._codes = {
            k: np.unique(table.values[:, k], return_inverse=True)[1]
            for k in dictionary.candidates
            if table.levels[k]
        }

    @cached_property
    def normal_scale_gain(self) -> float:
        """Log likelihood gained by the transform to normal scores."""
        own = self.dictionary.features.table.values[:, self.dictionary.target]
        return marginal_gain(own, self._n_distinct)

    @property
    def known_models(self) -> dict[tuple[int, ...], Choice]:
        """Models of the parent sets that were scored or estimated."""
        return self._known

    def with_all_terms(self, candidates: tuple[int, ...]) -> NumericTarget:
        """The same target with all joint terms of some of its candidates."""
        features, target = self.dictionary.features, self.dictionary.target
        # models of at most one parent have no joint terms
        out = NumericTarget(build_dictionary(features, target, candidates), self._known)
        out._score, out._kept = dict(self._score), dict(self._kept)
        vars(out)["normal_scale_gain"] = self.normal_scale_gain
        return out

    def scores(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets of one size under their most probable models."""
        for at in self._slices(parent_sets):
            self._learn(parent_sets[at], self._with_density(self._batch(parent_sets[at])))
        return np.array([self._score[parents] for parents in parent_sets])

    def estimates(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets under the models of their subsets with one parent less.

        The level of site effects, the noise, the scale and the density of the residuals are those
        of the best subset; the level of any other subset is tried as well. It is close to the
        evidence where the further parent does not matter, and shows where it does.
        """
        for at in self._slices(parent_sets):
            subsets = [[s for s in one_less(p) if s in self._known] for p in parent_sets[at]]
            best = [max(own, key=self._score.__getitem__) for own in subsets]
            choice = stack([self._known[own] for own in best])
            if self._codes:
                choice = self._restratified(parent_sets[at], best, choice)
            levels = [{int(self._known[s].level[0]) for s in own} for own in subsets]
            batch = self._batch(parent_sets[at])
            choice = extended_models(batch, choice, levels, self.normal_scale_gain)
            self._learn(parent_sets[at], choice)
        return np.array([self._score[parents] for parents in parent_sets])

    def _restratified(
        self, parent_sets: list[tuple[int, ...]], subsets: list[tuple[int, ...]], choice: Choice
    ) -> Choice:
        """Models of subsets, with densities by the levels of all discrete parents of the sets."""
        density = choice.density.copy()
        for k, (parents, own) in enumerate(zip(parent_sets, subsets, strict=True)):
            self._kept[parents] = self._kept[own]
            density[k] = max(density[k], self._stratified_gain(self._kept[own], parents))
        return replace(choice, density=density)

    def _learn(self, parent_sets: list[tuple[int, ...]], choice: Choice) -> None:
        """Keep models and scores.

        The score is the evidence minus what a further parent can gain by the error of an
        approximation. Splines and networks follow a curve to within a share of what it explains. A
        variable that depends on a parent picks up some of the rest, and must not count as a parent
        for it.
        """
        approximate = ~np.isin(choice.model, EXACT_MODELS) | c.APPROXIMATE_LEVELS[choice.level]
        share = c.MISFIT * max(len(parent_sets[0]) - 1, 0) * approximate
        score = choice.value - share * np.maximum(choice.value - self._alone, 0.0)
        for k, parents in enumerate(parent_sets):
            self._known[parents] = choice.take(np.array([k]))
            self._score[parents] = float(score[k])

    @cached_property
    def _alone(self) -> float:
        """Evidence without parents."""
        return float(self.model(())[1].value[0])

    def model(self, parents: tuple[int, ...]) -> tuple[Batch, Choice]:
        """Moments and chosen model of one parent set."""
        batch = self._batch([parents])
        if parents not in self._known:
            self._known[parents] = self._with_density(batch)
        return batch, self._known[parents]

    def residuals(self, parents: tuple[int, ...]) -> NDArray[np.float32]:
        """Residuals of one parent set, in units of the noise of their site: [rows]."""
        batch, choice = self.model(parents)
        return np.asarray(self._residuals(batch, choice)[0])

    def _batch(self, parent_sets: list[tuple[int, ...]]) -> Batch:
        place = self.dictionary.candidates.index
        return make_batch(self.dictionary, [tuple(map(place, own)) for own in parent_sets])

    def _slices(self, parent_sets: list[tuple[int, ...]]) -> list[slice]:
        """Parts of a list of parent sets of one size whose moments fit in memory."""
        if not parent_sets:
            return []
        layout, some = self.dictionary.layout, tuple(range(len(parent_sets[0])))
        n_terms = len(layout.additive(some)) + len(layout.products(some)) + 2
        numbers = n_terms**2 * len(self.dictionary.moments.count)
        size = max(1, c.BATCH_SIZE // numbers)
        return [slice(at, at + size) for at in range(0, len(parent_sets), size)]

    def _with_density(self, batch: Batch) -> Choice:
        """The most probable models, with the density of their residuals."""
        equal, *others = best_models(batch, self.normal_scale_gain)
        own = with_unequal_noise(batch, equal, 0.0)
        residuals = self._residuals(batch, own)
        best = own.with_density(self._density_gains(batch, own, residuals))
        for other in others:
            which = contenders(equal, other, best.density)
            if len(which):
                some = batch.take(which)
                chosen = with_unequal_noise(some, other.take(which), self.normal_scale_gain)
                again = self._residuals(some, chosen)
                found = chosen.with_density(self._density_gains(some, chosen, again))
                taken = found.value > best.value[which]
                residuals[which[taken]] = again[taken]
                best = better_of(best, found, which)
        if self._codes:
            for k, parents in enumerate(self._parents(batch)):
                self._kept[parents] = residuals[k]
        return best

    def _residuals(self, batch: Batch, choice: Choice) -> NDArray[np.float32]:
        """Residuals of each set, in units of the noise of their site: [sets, rows]."""
        coefficients = residual_coefficients(batch, choice)
        coefficients = (coefficients * np.sqrt(choice.weight)[:, :, None]).astype(np.float32)
        values = self.dictionary.values
        residuals = np.empty((len(coefficients), values.shape[1]), dtype=np.float32)
        for columns, own, out in zip(batch.columns, coefficients, residuals, strict=True):
            terms = values[columns]
            for m, (a, b) in enumerate(pairwise(self._bounds.tolist())):
                np.matmul(own[m], terms[:, a:b], out=out[a:b])
        return residuals

    def _density_gains(self, batch: Batch, choice: Choice, residuals: NDArray[np.float32]) -> Array:
        """What a density other than the normal adds for the residuals of each set."""
        gain = density_gain(residuals, self._n_distinct)
        if self._codes:
            for k, parents in enumerate(self._parents(batch)):
                gain[k] = max(gain[k], self._stratified_gain(residuals[k], parents))
        return np.asarray(np.where(choice.noise > 2 * c.NOISE_FLOOR, gain, 0.0))

    def _stratified_gain(self, residuals: NDArray[np.float32], parents: tuple[int, ...]) -> float:
        """What densities by the levels of discrete parents add; 0 without such a parent."""
        discrete = tuple(k for k in parents if k in self._codes)
        if not discrete or self._n_distinct < c.MIN_DENSITY_VALUES:
            return 0.0
        if discrete not in self._strata:
            code = np.zeros(len(residuals), dtype=np.intp)
            for k in discrete:
                code = np.unique(code * c.MAX_LEVELS + self._codes[k], return_inverse=True)[1]
            self._strata[discrete] = code
        strata = self._strata[discrete]
        if strata.max() >= c.MAX_STRATA:
            return 0.0
        return stratified_gain(residuals, strata, self._n_distinct)

    def _parents(self, batch: Batch) -> list[tuple[int, ...]]:
        """Columns of the parents of each set of a batch."""
        layout = self.dictionary.layout
        first = batch.columns[:, 1 : 1 + batch.n_parents * layout.width : layout.width]
        place = (first - layout.main(0).start) // layout.width
        return [tuple(self.dictionary.candidates[p] for p in own) for own in place.tolist()]


def one_less(parents: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Subsets with one parent less."""
    return [parents[:k] + parents[k + 1 :] for k in range(len(parents))]
