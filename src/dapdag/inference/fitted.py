"""A fitted model as numbers: all that prediction needs."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.graph_layout import GraphSizes, blanket_of, on_graph
from ..data.layout import layout_of
from ..data.table import Table
from ..graph import DAG
from ..model import Layout, Sizes
from ..model.formulation import Formulation
from ..model.mechanisms import Blanket
from ..record import Record
from .combination import Combination
from .expected_scores import ScoreErrors
from .graph_expert import EffectPrior
from .labels import SiteVariation, level_scale
from .missing import MissingEffects
from .recalibration import Calibration


@dataclass(frozen=True)
class Rules:
    """Which rules beyond the paper a prediction applies (see `parts`)."""

    refines_env: bool = True
    clips_env: bool = True
    narrow_is_mean: bool = True
    estimates_effects: bool = True
    has_referee: bool = True


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
    worst_source_loss: NDArray[np.float64]  # [features], see `novelty`
    normal: NDArray[np.float64]  # [draws, dim], the fixed standard normal draws
    missing: MissingEffects
    combination: Combination  # of the experts
    calibration: Calibration  # at a site that was not trained on
    score_errors: ScoreErrors  # of expected scores, likewise
    effects: EffectPrior | None  # of sites on mechanisms; None without inference on the graph
    label_range: tuple[float, float]  # of a number, standardised, with a margin
    rules: Rules = Rules()

    def site_variation(self, mean: NDArray[np.float64]) -> SiteVariation:
        """How far predictions for a new site may be off, on the scale of the link.

        `mean` [rows, label columns] are some of them.
        """
        found, kind = self.calibration, self.table.label.kind
        return SiteVariation.of(found.between * level_scale(mean, kind), found.n_sites, kind)

    @functools.cached_property
    def source_span(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest E among the sources: [members, dim] each."""
        return self.source_mean.min(1), self.source_mean.max(1)

    @functools.cached_property
    def _layout(self) -> Layout:
        layout = layout_of(self.table, self.sizes.indicators)
        return on_graph(layout, self.parents, self.sizes.reads) if self.sizes.reads else layout

    @functools.cached_property
    def layout(self) -> Layout:
        return jax.tree.map(jnp.asarray, self._layout)

    @functools.cached_property
    def blanket(self) -> Blanket | None:
        """Label and children, for inference on the graph."""
        s = self.sizes
        sizes = GraphSizes(s.reads, s.slots, s.slot_inputs, s.slot_columns)
        return blanket_of(self._layout, self.parents, sizes) if s.slots else None

    @functools.cached_property
    def network_weights(self) -> NDArray[np.float64]:
        """Equal weights of the networks of each expert: [f0 and f1, members, networks].

        Where no network is pooled, f0 has the same ones as f1.
        """
        shape = len(self.vectors), self.sizes.n_outputs
        weights = np.zeros((2, *shape))
        first = max(self.sizes.n_predictors, 1)
        weights[1, :, :first] = 1.0
        weights[0, :, first if self.sizes.n_pooled else 0 :] = 1.0
        return weights / weights.sum((1, 2), keepdims=True)

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
    adjacency: NDArray[np.float64]  # filter norms, [V, V] unpadded
    dag: DAG
    edge_probability: NDArray[np.float64]  # [V, V]; NaN where the graph was not searched
    shifts: NDArray[np.float64]  # [V, columns of `mechanism_shift_`]; NaN likewise
    strength: NDArray[np.float64]
    env_strength: NDArray[np.float64]
    history: pd.DataFrame
    n_epochs: int
    interrupted: bool
    record: Record
