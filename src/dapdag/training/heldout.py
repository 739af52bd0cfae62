"""What a trained lane predicts for the rows that it was not trained on."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

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
    network = config.network(vector)
    layout, blocks = problem.layout, problem.blocks
    prior_precision = problem.weights.prior_precision
    only_label = obj.label_layout(layout, config.sizes.label_columns)
    few = min(ENV_ROWS, blocks.values.shape[1])

    def one_domain(domain: tuple[Array, ...]) -> Array:
        values, observed, n, valid_values, valid_observed, valid_present = domain
        trained = layout.inputs(values[:few], observed[:few])
        inputs = layout.inputs(valid_values, valid_observed)
        present = (jnp.arange(few) < n).astype(jnp.float32)
        summary = network.summarise(layout, trained, present, prior_precision)
        summary = summary + network.summarise(layout, inputs, valid_present, prior_precision)
        env = posterior(summary, prior_precision).mean * config.formulation.uses_environment
        votes = network.predict(layout, problem.parents, inputs, env[None])[0]
        means = jax.vmap(lambda outputs: mean(only_label, outputs))(votes)
        return jnp.tensordot(problem.trust, means, 1)

    return jax.lax.map(
        one_domain,
        (
            blocks.values,
            blocks.observed,
            blocks.n_rows,
            blocks.valid_values,
            blocks.valid_observed,
            blocks.valid_present,
        ),
    )
