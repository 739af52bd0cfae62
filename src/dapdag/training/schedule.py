"""How the learning rate and the weight of the DAG term move over the epochs."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Schedule(eqx.Module):
    """All in shares of the whole training; one array element per lane.

    The DAG term grows linearly to its full weight over the first `ramp`, then geometrically by
    the factor `growth` until `settle`, where the graph is read off. The learning rate falls along
    a cosine to `final_rate` of its start; the label's own networks learn faster by `haste`.
    `decay` shrinks all weights (AdamW).
    """

    rate: Array
    final_rate: Array
    ramp: Array
    settle: Array
    growth: Array
    decay: Array
    haste: Array

    def learning_rate(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        cosine = 0.5 * (1.0 + jnp.cos(jnp.pi * jnp.clip(progress, 0.0, 1.0)))
        return self.rate * (self.final_rate + (1.0 - self.final_rate) * cosine)

    def dag_factor(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        linear = jnp.clip(progress / self.ramp, 0.0, 1.0)
        late = jnp.clip((progress - self.ramp) / jnp.maximum(self.settle - self.ramp, 1e-6), 0, 1)
        return linear * self.growth**late
