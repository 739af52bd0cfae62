"""What a training returns."""

from dataclasses import dataclass

import equinox as eqx
import numpy as np

from ..inference.stacking import LeftOut
from .problem import Problem
from .structure import Structure


@dataclass(frozen=True)
class TrainingResult:
    """Weights and what is known about how they came about; a leading axis of lanes everywhere."""

    vectors: np.ndarray
    parents: np.ndarray
    stack_weights: np.ndarray
    inflation: np.ndarray  # of the label's squared error at a site that was not trained on
    left_out: LeftOut | None
    structure: Structure
    strength: np.ndarray  # of the edges, with the final weights
    env_strength: np.ndarray
    history: list[np.ndarray]  # per lane [epochs, terms]
    broken: np.ndarray
    interrupted: bool

    def applied_to(self, problem: Problem) -> Problem:
        """The problem with the graph and the stacking weights that were learned."""
        return eqx.tree_at(
            lambda p: (p.parents, p.stack_weights), problem, (self.parents, self.stack_weights)
        )
