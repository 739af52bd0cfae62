"""How the learning rate and the weight of the acyclicity penalty change over the epochs."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Schedule(eqx.Module):
    """All in shares of the whole training; one array element per lane.

    The acyclicity penalty grows linearly to its full weight over the first `ramp`, then
    geometrically by the factor `penalty_growth` until the end. The learning rate falls along a
    cosine to `final_rate` of its start; `label_rate` multiplies that of the label's networks.
    `decay` shrinks all weights (AdamW).
    """

    rate: Array
    final_rate: Array
    ramp: Array
    penalty_growth: Array
    decay: Array
    label_rate: Array

    def learning_rate(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        cosine = 0.5 * (1.0 + jnp.cos(jnp.pi * jnp.clip(progress, 0.0, 1.0)))
        return self.rate * (self.final_rate + (1.0 - self.final_rate) * cosine)

    def penalty_factor(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        linear = jnp.clip(progress / self.ramp, 0.0, 1.0)
        late = jnp.clip((progress - self.ramp) / (1.0 - self.ramp), 0.0, 1.0)
        return linear * self.penalty_growth**late
