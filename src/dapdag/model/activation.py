"""The activation of every hidden layer."""

import jax.numpy as jnp
from jaxtyping import Array


def elu(x: Array) -> Array:
    """max(x, 0) + exp(min(x, 0)) − 1.

    `jax.nn.elu` guards the accuracy of exp(x) − 1 near 0, which no weight will ever notice, with
    code that takes longer to compile and to run.
    """
    return jnp.maximum(x, 0.0) + jnp.exp(jnp.minimum(x, 0.0)) - 1.0
