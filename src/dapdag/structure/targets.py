"""Evidence of the parent sets of a variable, by its kind."""

from __future__ import annotations

import numpy as np

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Dictionary, Features, build_dictionary
from dapdag.structure.discrete import Rows, discrete_evidence, discrete_rows
from dapdag.structure.models import Choice
from dapdag.structure.parents import NumericTarget, one_less
from dapdag.structure.statistics import Array


class DiscreteTarget:
    """Evidence of parent sets of a binary or categorical variable.

    A linear regression of a binary variable shows at little cost whether a further parent adds.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.rows: Rows = discrete_rows(dictionary)
        self.known_models: dict[tuple[int, ...], Choice] = {}
        self._score: dict[tuple[int, ...], float] = {}
        binary = dictionary.features.table.levels[dictionary.target] == 2
        self._linear = NumericTarget(dictionary) if binary else None

    def with_all_terms(self, candidates: tuple[int, ...]) -> DiscreteTarget:
        """The target itself: its dictionary has all terms."""
        del candidates
        return self

    def levels(self, parents: tuple[int, ...]) -> Array:
        """Evidence at each level of site effects."""
        place = self.dictionary.candidates.index
        return discrete_evidence(self.dictionary, self.rows, tuple(map(place, parents)))

    def scores(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of parent sets of one size."""
        for parents in parent_sets:
            self._score[parents] = float(self.levels(parents).max())
        if self._linear and parent_sets:
            self._linear.scores(parent_sets)
        return np.array([self._score[parents] for parents in parent_sets])

    def estimates(self, parent_sets: list[tuple[int, ...]]) -> Array:
        """Evidence of the best subset, and what a linear regression gains over it."""
        if self._linear is None:
            return np.full(len(parent_sets), np.inf)
        self._linear.estimates(parent_sets)
        linear = self._linear.known_models
        for parents in parent_sets:
            subsets = [s for s in one_less(parents) if s in self._score]
            best = max(subsets, key=self._score.__getitem__)
            gain = linear[parents].value[0] - linear[best].value[0]
            self._score[parents] = self._score[best] + float(gain)
        return np.array([self._score[parents] for parents in parent_sets])


Target = NumericTarget | DiscreteTarget


def target_of(
    features: Features,
    target: int,
    candidates: tuple[int, ...],
    screening: bool = False,
    known: dict[tuple[int, ...], Choice] | None = None,
) -> Target:
    """The evidence of one variable, by its kind.

    A numeric one may have a small dictionary, and models of parent sets that are known.
    """
    if features.table.levels[target]:
        return DiscreteTarget(build_dictionary(features, target, candidates, c.N_PRODUCTS))
    if screening:
        small = build_dictionary(features, target, candidates, c.N_PRODUCTS, has_triples=False)
        return NumericTarget(small, known)
    return NumericTarget(build_dictionary(features, target, candidates), known)
