"""A trained model as numbers: all that prediction needs."""

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
from ..model import objective as obj
from ..record import Record
from .missing import Lacking
from .recalibration import Levels


@dataclass(frozen=True)
class Rules:
    """Which rules beyond the paper a prediction applies; `training.parts` says what they are."""

    refines_env: bool = True
    clips_env: bool = True
    weighs_by_distance: bool = True
    narrow_is_mean: bool = True


@dataclass(frozen=True)
class Model:
    """A trained model: all that prediction needs. Arrays of weights have a leading member axis."""

    table: Table
    sizes: Sizes
    formulation: obj.Formulation
    vectors: NDArray[np.float32]  # [members, parameters]
    parents: NDArray[np.float32]  # [variables, variables], 1 where an edge may act
    prior_precision: float
    source_mean: NDArray[np.float64]  # [members, sources, dim]
    source_variance: NDArray[np.float64]
    label_scale: NDArray[np.float64]  # [members], noise of the standardised label
    growth: float  # of the label's squared error from a source to a site that was not seen
    explained: NDArray[np.float64]  # [features], see `unexplained`
    levels: Levels | None  # of the classes at the sources; None for numbers
    normal: NDArray[np.float64]  # [draws, dim], the fixed standard normal draws
    lacking: Lacking  # what a missing cell costs
    trust: NDArray[np.float64]  # [votes], how much each of the label's votes counts
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
    """A trained model and the record of its training."""

    model: Model
    adjacency: NDArray[np.float64]  # filter norms when the graph was read off, [V, V] unpadded
    dag: DAG
    strength: NDArray[np.float64]
    env_strength: NDArray[np.float64]
    history: pd.DataFrame
    n_epochs: int
    interrupted: bool
    record: Record | None = None  # None only while a file is being decoded
