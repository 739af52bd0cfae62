"""A fitted model as numbers: all that prediction needs."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.layout import layout_of
from ..data.table import Table
from ..graph import DAG
from ..model import Layout, Sizes
from ..model.formulation import Formulation
from ..record import Record
from .missing import MissingEffects
from .recalibration import Prevalence


@dataclass(frozen=True)
class Rules:
    """Which rules beyond the paper a prediction applies (see `parts`)."""

    refines_env: bool = True
    clips_env: bool = True
    narrow_is_mean: bool = True


@dataclass(frozen=True)
class FittedModel:
    """All that prediction needs. Arrays of weights have a leading member axis."""

    table: Table
    sizes: Sizes
    formulation: Formulation
    vectors: NDArray[np.float32]  # [members, parameters]
    parents: NDArray[np.float32]  # [variables, variables], 1 where an edge may act
    prior_precision: float
    source_mean: NDArray[np.float64]  # [members, sources, dim]
    source_variance: NDArray[np.float64]
    label_scale: NDArray[np.float64]  # [members], noise of the standardised label
    inflation: float  # of the label's squared error at a site that was not trained on
    worst_source_loss: NDArray[np.float64]  # [features], see `novelty`
    prevalence: Prevalence | None  # of the classes at the sources; None for numbers
    normal: NDArray[np.float64]  # [draws, dim], the fixed standard normal draws
    missing: MissingEffects
    stack_weights: NDArray[np.float64]  # [networks], sums to 1
    rules: Rules = Rules()

    @functools.cached_property
    def source_span(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest E among the sources: [members, dim] each."""
        return self.source_mean.min(1), self.source_mean.max(1)

    @functools.cached_property
    def layout(self) -> Layout:
        return jax.tree.map(jnp.asarray, layout_of(self.table, self.sizes.indicators))

    @property
    def n_members(self) -> int:
        return len(self.vectors)


@dataclass(frozen=True)
class EnvPosterior:
    """Posterior of one domain's E under each member: [members, dim]."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A fitted model and the record of its training."""

    model: FittedModel
    adjacency: NDArray[np.float64]  # filter norms when the graph was read off, [V, V] unpadded
    dag: DAG
    strength: NDArray[np.float64]
    env_strength: NDArray[np.float64]
    history: pd.DataFrame
    n_epochs: int
    interrupted: bool
    record: Record
