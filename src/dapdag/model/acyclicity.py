"""Smooth functions of a non-negative matrix that vanish exactly on the DAGs."""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import expm
from jaxtyping import Array, Float

Square = Float[Array, "variables variables"]


def trace_exp(weights: Square) -> Float[Array, ""]:
    """h(W) = tr(exp W) − d for W ≥ 0 (NOTEARS; pass the squares of a signed adjacency)."""
    return jnp.trace(expm(weights)) - weights.shape[0]


def trace_power(weights: Square) -> Float[Array, ""]:
    """h(W) = tr((I + W/p)^p) − d, p the first power of two ≥ d: a few products, no `expm`.

    It has the same zeros for W ≥ 0, because a cycle among d variables has at most d edges.
    """
    size = weights.shape[0]
    squarings = max(size - 1, 1).bit_length()
    power = jnp.eye(size) + weights / 2**squarings
    for _ in range(squarings):
        power = power @ power
    return jnp.trace(power) - size


def log_det(weights: Square, radius: float = 1.0) -> Float[Array, ""]:
    """h(W) = d log s − log det(sI − W) for W ≥ 0 with spectral radius below s (DAGMA).

    Outside that domain the function is undefined; the weights are scaled back to its edge, where
    the value is large and the gradient still points towards smaller cycles.
    """
    size = weights.shape[0]
    # A row sum bounds the spectral radius from above and costs nothing. It takes no part in the
    # gradient: h of the shrunk weights is constant along them.
    bound = jax.lax.stop_gradient(jnp.minimum(weights.sum(0).max(), weights.sum(1).max()))
    shrink = jnp.minimum(1.0, 0.99 * radius / jnp.maximum(bound, 1e-12))
    inside = radius * jnp.eye(size) - weights * jnp.where(jnp.isfinite(shrink), shrink, 0.0)
    _, value = jnp.linalg.slogdet(inside)
    return size * jnp.log(radius) - value


ACYCLICITY = {"trace_exp": trace_exp, "log_det": log_det, "trace_power": trace_power}
