"""Strengths of the edges of a trained decoder, and of E."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._runtime.compile import Effort, jit
from ..model.constants import STRENGTH_ROWS
from ..model.strength import mean_strength
from .problem import Problem
from .step import Trainer


@jit(Effort.QUICK_TO_COMPILE)
def measure(
    trainer: Trainer, problem: Problem, vectors: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Filter norms, strengths of edges and strengths of E, from a sample of the sources' rows."""
    return jax.vmap(lambda problem, vector: _measure(trainer, problem, vector))(problem, vectors)


def _measure(
    trainer: Trainer, problem: Problem, vector: Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    if not trainer.formulation.uses_structure:
        none = jnp.zeros_like(problem.parents)
        return none, none, none[0]
    network = trainer.network(vector)
    layout, blocks, batch_rows = problem.layout, problem.blocks, trainer.batch_rows
    n_domains = min(blocks.n_rows.shape[0], STRENGTH_ROWS)  # each adds one row at least
    rows = min(batch_rows, STRENGTH_ROWS // n_domains)

    def domain(d: Array) -> tuple[Array, Array]:
        n = blocks.n_rows[d]
        values, observed, present = blocks.window(d, 0, batch_rows)
        env = trainer.environment(problem, network, values, observed, present)
        # Short domains repeat their rows; padded domains are dropped below.
        index = jnp.arange(rows) % jnp.maximum(n, 1)
        return layout.inputs(values, observed)[index], jnp.broadcast_to(env, (rows, env.shape[0]))

    inputs, envs = jax.vmap(domain)(jnp.arange(n_domains))
    real = jnp.repeat(blocks.n_rows[:n_domains] > 0, rows)
    order = jnp.argsort(~real, stable=True)
    count = jnp.maximum(real.sum(), 1)
    index = order[jnp.arange(order.shape[0]) % count]
    flat = (
        inputs.reshape(-1, inputs.shape[-1])[index],
        envs.reshape(-1, envs.shape[-1])[index],
    )
    strength, on_env = mean_strength(network, layout, problem.parents, *flat)
    return network.decoder.adjacency(layout), strength, on_env
