"""Predictions and reconstructions of the rows that a lane was not trained on."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._runtime.compile import Effort, jit
from ..data.blocks import SMALLEST_BLOCK, Blocks
from ..inference.missing import hiding_masks
from ..model import Network
from ..model.constants import HELDOUT_CELLS, HELDOUT_ENV_ROWS
from ..model.encoder import posterior
from ..model.formulation import cell_losses
from ..model.likelihoods import noise_scale
from .problem import Problem
from .step import Trainer


@jit(Effort.BALANCED)
def evaluate_heldout(
    trainer: Trainer, problem: Problem, vectors: Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Per lane: the learned noise scale of the label, the means predicted for validation rows
    [lanes, domains, rows, label columns], those of some rows with every feature hidden in turn
    [features, lanes, …], and the losses of the rows' reconstruction.
    """

    def one_lane(lane: tuple[Problem, Array]) -> tuple[jax.Array, ...]:
        problem, vector = lane
        domains, rows = problem.blocks.valid_present.shape
        variables = trainer.sizes.variables
        few = _rows_of_domain(variables, domains, rows)

        def hidden(visible: jax.Array) -> jax.Array:
            return heldout_means(trainer, problem, vector, visible, few)

        means = heldout_means(trainer, problem, vector, jnp.ones(variables), rows)
        without = jax.lax.map(hidden, jnp.asarray(hiding_masks(variables)))
        learned = noise_scale(trainer.network(vector).label_log_scale())
        losses = jnp.full((domains, variables), jnp.nan)
        if trainer.formulation.uses_structure:
            losses = heldout_losses(trainer, problem, vector)
        return learned, means, without, losses

    learned, means, without, losses = jax.lax.map(one_lane, (problem, vectors))
    return learned, means, jnp.swapaxes(without, 0, 1), losses


def heldout_means(
    trainer: Trainer,
    problem: Problem,
    vector: Array,
    visible: Float[Array, " variables"],
    n_rows: int,
) -> Float[Array, "domains rows label_columns"]:
    """The label's mean for the first validation rows of every domain, each under its own E, from
    the visible variables."""
    network, layout = trainer.network(vector), problem.layout

    def one_domain(own: _Domain) -> Array:
        own = own.seen(visible, n_rows)
        env = _environment(trainer, problem, network, own, visible)
        inputs = layout.inputs(own.values, own.observed)
        means = network.label_means(layout, problem.parents, inputs, env[None])[0]
        return jnp.tensordot(problem.stack_weights, means, 1)

    return jax.lax.map(one_domain, _domains(problem.blocks))


def heldout_losses(
    trainer: Trainer, problem: Problem, vector: Array
) -> Float[Array, "domains variables"]:
    """Mean loss of a cell of every variable, reconstructed in the validation rows of each domain.

    Not a number where no cell is observed.
    """
    network, layout = trainer.network(vector), problem.layout

    def one_domain(own: _Domain) -> Array:
        inputs = layout.inputs(own.values, own.observed)
        env = _environment(trainer, problem, network, own, jnp.ones(trainer.sizes.variables))
        outputs = network.decoder.reconstruct(layout, problem.parents, inputs, env)
        losses = cell_losses(trainer.formulation, layout, network.decoder, outputs, own.values)
        seen = own.observed * own.present[:, None]
        return (losses * seen).sum(0) / seen.sum(0)

    return jax.lax.map(one_domain, _domains(problem.blocks))


class _Domain(NamedTuple):
    """Validation rows of one domain."""

    values: Float[Array, "rows columns"]
    observed: Float[Array, "rows variables"]
    present: Float[Array, " rows"]
    domain: Int[Array, ""]

    def seen(self, visible: Float[Array, " variables"], n_rows: int) -> "_Domain":
        """The first rows with some variables hidden."""
        observed = self.observed[:n_rows] * visible
        return _Domain(self.values[:n_rows], observed, self.present[:n_rows], self.domain)


def _domains(blocks: Blocks) -> _Domain:
    return _Domain(
        *(blocks.valid_values, blocks.valid_observed, blocks.valid_present, blocks.valid_domain)
    )


def _rows_of_domain(variables: int, domains: int, most: int) -> int:
    """Rows of each domain that are evaluated once per feature: fewer, the more there are."""
    return min(most, max(HELDOUT_CELLS // (variables * domains), SMALLEST_BLOCK))


def _environment(
    trainer: Trainer,
    problem: Problem,
    network: Network,
    own: _Domain,
    visible: Float[Array, " variables"],
) -> Float[Array, " dim"]:
    """E of one domain, from its validation rows and some of the others."""
    layout, prior_precision = problem.layout, problem.weights.prior_precision
    blocks = problem.blocks
    domains, _ = blocks.valid_present.shape
    few = min(HELDOUT_ENV_ROWS, blocks.values.shape[0])
    few = _rows_of_domain(trainer.sizes.variables, domains, few)
    values, observed, present = blocks.window(own.domain, 0, few)
    trained = layout.inputs(values, observed * visible)
    summary = network.summarise(layout, trained, present, prior_precision)
    inputs = layout.inputs(own.values, own.observed)
    summary = summary + network.summarise(layout, inputs, own.present, prior_precision)
    return posterior(summary, prior_precision).mean * trainer.formulation.uses_environment
