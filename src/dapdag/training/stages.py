"""The two stages of training on a graph: encoder and decoder first, then the label's experts."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..model import Network
from ..model import objective as obj
from ..model.formulation import cell_losses
from ..model.parameters import slices_of
from .problem import Problem
from .step import Trainer


@dataclass(frozen=True)
class StructureTrainer(Trainer):
    """Encoder and decoder on the graph; early stopping follows the reconstruction."""

    def validation_loss(
        self, problem: Problem, network: Network, batch: obj.Batch
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        layout = problem.layout
        inputs = layout.inputs(batch.values, batch.observed)
        env = self.environment(problem, network, batch.values, batch.observed, batch.present)
        outputs = network.decoder.reconstruct(layout, problem.parents, inputs, env)
        losses = cell_losses(self.formulation, layout, network.decoder, outputs, batch.values)
        seen = batch.observed * batch.present[:, None]
        return obj.reconstruction(losses, seen), batch.present.sum()


@dataclass(frozen=True)
class LabelTrainer(Trainer):
    """Label networks and mechanisms on an encoder that stays as it is."""

    def loss(
        self,
        problem: Problem,
        weights: obj.Weights,
        network: Network,
        domain: Array,
        batch: obj.Batch,
        normal: Float[Array, " dim"],
    ) -> tuple[Float[Array, ""], Float[Array, " terms"]]:
        return obj.label_objective(
            *(self.formulation, weights, network, problem.layout, problem.blanket, batch),
            *(self.decoder_rows, normal, problem.in_fold[domain]),
        )

    def trained(self, length: int) -> Bool[Array, " parameters"]:
        return jnp.arange(length) >= slices_of(self.sizes).label.start
