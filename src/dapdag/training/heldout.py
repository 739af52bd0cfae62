"""Predictions and reconstructions of the rows that a lane was not trained on."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._runtime.compile import Effort, jit
from ..data.blocks import Blocks
from ..inference.missing import hiding_masks, masked
from ..model import Network
from ..model.constants import HELDOUT_ENV_ROWS
from ..model.encoder import posterior
from ..model.formulation import cell_losses
from ..model.likelihoods import noise_scale
from .problem import Problem
from .step import Trainer


@jit(Effort.BALANCED)
def evaluate_heldout(
    trainer: Trainer, problem: Problem, vectors: Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Per lane: the learned noise scale of the label, the means predicted for validation rows, and
    the losses of their reconstruction.

    The means come first as they are, then with every feature hidden in turn:
    [variables, lanes, domains, rows, label columns].
    """

    def one_lane(lane: tuple[Problem, Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        problem, vector = lane

        def with_visible(visible: jax.Array) -> jax.Array:
            hiding = eqx.tree_at(lambda p: p.blocks, problem, masked(problem.blocks, visible))
            return heldout_means(trainer, hiding, vector)

        masks = jnp.asarray(hiding_masks(trainer.sizes.variables))
        learned = noise_scale(trainer.network(vector).label_log_scale())
        losses = jnp.full((problem.blocks.n_rows.shape[0], trainer.sizes.variables), jnp.nan)
        if trainer.formulation.uses_structure:
            losses = heldout_losses(trainer, problem, vector)
        return learned, jax.lax.map(with_visible, masks), losses

    learned, means, losses = jax.lax.map(one_lane, (problem, vectors))
    return learned, jnp.swapaxes(means, 0, 1), losses


def heldout_means(
    trainer: Trainer, problem: Problem, vector: Array
) -> Float[Array, "domains rows label_columns"]:
    """The label's mean for the validation rows of one lane, each domain under its own E."""
    network, layout = trainer.network(vector), problem.layout

    def one_domain(own: Blocks) -> Array:
        inputs = layout.inputs(own.valid_values, own.valid_observed)
        env = _environment(trainer, problem, network, own)
        means = network.label_means(layout, problem.parents, inputs, env[None])[0]
        return jnp.tensordot(problem.stack_weights, means, 1)

    return jax.lax.map(one_domain, problem.blocks)


def heldout_losses(
    trainer: Trainer, problem: Problem, vector: Array
) -> Float[Array, "domains variables"]:
    """Mean loss of a cell of every variable, reconstructed in the validation rows of each domain.

    Not a number where no cell is observed.
    """
    network, layout = trainer.network(vector), problem.layout

    def one_domain(own: Blocks) -> Array:
        inputs = layout.inputs(own.valid_values, own.valid_observed)
        env = _environment(trainer, problem, network, own)
        outputs = network.decoder.reconstruct(layout, problem.parents, inputs, env)
        losses = cell_losses(
            trainer.formulation, layout, network.decoder, outputs, own.valid_values
        )
        seen = own.valid_observed * own.valid_present[:, None]
        return (losses * seen).sum(0) / seen.sum(0)

    return jax.lax.map(one_domain, problem.blocks)


def _environment(
    trainer: Trainer, problem: Problem, network: Network, own: Blocks
) -> Float[Array, " dim"]:
    """E of one domain, from its validation rows and some of the others."""
    layout, prior_precision = problem.layout, problem.weights.prior_precision
    few = min(HELDOUT_ENV_ROWS, own.values.shape[0])
    trained = layout.inputs(own.values[:few], own.observed[:few])
    inputs = layout.inputs(own.valid_values, own.valid_observed)
    present = (jnp.arange(few) < own.n_rows).astype(jnp.float32)
    summary = network.summarise(layout, trained, present, prior_precision)
    summary = summary + network.summarise(layout, inputs, own.valid_present, prior_precision)
    return posterior(summary, prior_precision).mean * trainer.formulation.uses_environment
