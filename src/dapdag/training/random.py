"""Random numbers of a step, from its number and the lane's key: one pass of the generator."""

import jax.numpy as jnp
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Float, Int, UInt32


def uniform_numbers(key: UInt32[Array, "2"], step: Int[Array, ""], n: int) -> Float[Array, " n"]:
    """`n` numbers strictly between 0 and 1 that belong to this step."""
    even = n + n % 2  # the generator makes numbers in pairs
    counts = step.astype(jnp.uint32) * even + jnp.arange(even, dtype=jnp.uint32)
    bits = threefry_2x32(key, counts)[:n]
    return (bits >> 9).astype(jnp.float32) * 2.0**-23 + 2.0**-24


def normal_numbers(first: Float[Array, " n"], second: Float[Array, " n"]) -> Float[Array, " n"]:
    """Standard normal numbers from two sets of uniform ones (Box and Muller)."""
    return jnp.sqrt(-2.0 * jnp.log(first)) * jnp.cos(2.0 * jnp.pi * second)
