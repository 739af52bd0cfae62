"""Adam over one vector: a handful of operations, where every operation of a step counts."""

from typing import Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..model.constants import EPSILON, FIRST_DECAY, MAX_GRADIENT_NORM, SECOND_DECAY


class Moments(eqx.Module):
    """Running means of the gradient and of its square."""

    first: Float[Array, " parameters"]
    second: Float[Array, " parameters"]
    count: Int[Array, ""]

    @staticmethod
    def zeros(like: Float[Array, " parameters"]) -> "Moments":
        return Moments(jnp.zeros_like(like), jnp.zeros_like(like), jnp.array(0, dtype=jnp.int32))

    def updated(self, gradient: Array) -> tuple[Self, Float[Array, " parameters"]]:
        """The moments after one more gradient, and the direction to move against."""
        first = FIRST_DECAY * self.first + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * self.second + (1 - SECOND_DECAY) * gradient**2
        count = self.count + 1
        unbiased_first = first / (1 - FIRST_DECAY**count)
        unbiased_second = second / (1 - SECOND_DECAY**count)
        moments = type(self)(first, second, count)
        return moments, unbiased_first / (jnp.sqrt(unbiased_second) + EPSILON)


def clipped(gradient: Float[Array, " parameters"], first: int) -> Float[Array, " parameters"]:
    """The gradient with its `first` components, and the others, each cut to the greatest norm."""

    def factor(part: Array) -> Array:
        norm = jnp.sqrt((part**2).sum())
        return MAX_GRADIENT_NORM / jnp.maximum(norm, MAX_GRADIENT_NORM)

    factors = factor(gradient[:first]), factor(gradient[first:])
    return gradient * jnp.where(jnp.arange(len(gradient)) < first, *factors)
