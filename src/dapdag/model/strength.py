"""How strongly each variable, and E, acts on every reconstruction."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .decoder import ParentMask
from .layout import Layout
from .likelihoods import mean
from .network import Network


def mean_strength(
    network: Network,
    layout: Layout,
    parents: ParentMask,
    inputs: Float[Array, "rows inputs"],
    envs: Float[Array, "rows dim"],
) -> tuple[Float[Array, "variables variables"], Float[Array, " variables"]]:
    """Root-mean-square derivative of every reconstruction, in units of standard deviations.

    Returns the strength of each edge i → j with the sign of its mean derivative, and that of E on
    each variable. A block of columns counts as one variable, without a sign: squares add up over
    its columns.
    """

    unit = jnp.where(layout.scale > 0, layout.scale, 1.0)

    def means(inputs: Array, envs: Array) -> Array:
        return mean(layout, network.decoder.reconstruct(layout, parents, inputs, envs)) / unit

    # Rows do not influence each other, so one push moves the same input of all of them.
    def by_input(unit_vector: Float[Array, " inputs"]) -> Float[Array, "2 columns"]:
        push = jnp.broadcast_to(unit_vector, inputs.shape)
        slopes = jax.jvp(lambda x: means(x, envs), (inputs,), (push,))[1]
        return jnp.stack([(slopes**2).mean(0), slopes.mean(0)])

    def by_env(unit_vector: Float[Array, " dim"]) -> Float[Array, " columns"]:
        push = jnp.broadcast_to(unit_vector, envs.shape)
        return (jax.jvp(lambda e: means(inputs, e), (envs,), (push,))[1] ** 2).mean(0)

    # An indicator of missing cells has no unit to be measured in: values alone count.
    pushes = jnp.diag(unit) @ jnp.eye(len(unit), inputs.shape[1])
    edges, slopes = jnp.moveaxis(jax.lax.map(by_input, pushes), 1, 0)  # [parent, child column]
    on_env = jax.lax.map(by_env, jnp.eye(envs.shape[1])).sum(0)
    strength = jnp.sqrt(layout.owner.T @ edges @ layout.owner)  # [parent, child]
    single = layout.owner.sum(0) == 1
    falls = (layout.owner.T @ slopes @ layout.owner < 0) & single[:, None] & single
    return jnp.where(falls, -strength, strength), jnp.sqrt(on_env @ layout.owner)
