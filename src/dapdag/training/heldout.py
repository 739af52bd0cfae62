"""What a trained lane makes of the rows that it was not trained on."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data.blocks import Blocks
from ..model import Network
from ..model import objective as obj
from ..model.encoder import posterior
from ..model.likelihoods import mean
from .step import Problem, StepConfig

# Training rows of a domain that tell its E, beside its validation rows.
ENV_ROWS = 1024


def heldout_means(
    config: StepConfig, problem: Problem, vector: Array
) -> Float[Array, "domains rows label_columns"]:
    """The label's mean for the validation rows of one lane, each domain under its own E."""
    network, layout = config.network(vector), problem.layout
    only_label = obj.label_layout(layout, config.sizes.label_columns)

    def one_domain(own: Blocks) -> Array:
        inputs = layout.inputs(own.valid_values, own.valid_observed)
        env = _environment(config, problem, network, own)
        votes = network.predict(layout, problem.parents, inputs, env[None])[0]
        means = jax.vmap(lambda outputs: mean(only_label, outputs))(votes)
        return jnp.tensordot(problem.trust, means, 1)

    return jax.lax.map(one_domain, problem.blocks)


def heldout_losses(
    config: StepConfig, problem: Problem, vector: Array
) -> Float[Array, "domains variables"]:
    """Mean loss of a cell of every variable, reconstructed in the validation rows of each domain.

    Not a number where no cell is observed.
    """
    network, layout = config.network(vector), problem.layout

    def one_domain(own: Blocks) -> Array:
        inputs = layout.inputs(own.valid_values, own.valid_observed)
        env = _environment(config, problem, network, own)
        outputs = network.decoder.reconstruct(layout, problem.parents, inputs, env)
        losses = obj.cell_losses(
            config.formulation, layout, network.decoder, outputs, own.valid_values
        )
        seen = own.valid_observed * own.valid_present[:, None]
        return (losses * seen).sum(0) / seen.sum(0)

    return jax.lax.map(one_domain, problem.blocks)


def _environment(
    config: StepConfig, problem: Problem, network: Network, own: Blocks
) -> Float[Array, " dim"]:
    """E of one domain, from its validation rows and some of the others."""
    layout, prior_precision = problem.layout, problem.weights.prior_precision
    few = min(ENV_ROWS, own.values.shape[0])
    trained = layout.inputs(own.values[:few], own.observed[:few])
    inputs = layout.inputs(own.valid_values, own.valid_observed)
    present = (jnp.arange(few) < own.n_rows).astype(jnp.float32)
    summary = network.summarise(layout, trained, present, prior_precision)
    summary = summary + network.summarise(layout, inputs, own.valid_present, prior_precision)
    return posterior(summary, prior_precision).mean * config.formulation.uses_environment
