"""The activation of every hidden layer."""

import jax
import jax.numpy as jnp
from jaxtyping import Array


@jax.custom_jvp
def elu(x: Array) -> Array:
    """max(x, 0) + exp(min(x, 0)) − 1.

    `jax.nn.elu` guards the accuracy of exp(x) − 1 near 0, which no weight will ever notice, with
    code that takes longer to compile and to run. The derivative is 1 + min(elu(x), 0),
    computed from what the next layer needs anyway.
    """
    return jnp.maximum(x, 0.0) + jnp.exp(jnp.minimum(x, 0.0)) - 1.0


@elu.defjvp
def _elu_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (push,) = primals, tangents
    out = elu(x)
    return out, (1.0 + jnp.minimum(out, 0.0)) * push
