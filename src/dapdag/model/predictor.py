"""The label from all features and E.

p(label | features, E) draws on the label's children as well as its parents, so it cannot come from
the label's structural filter, which sees the parents alone. Several small networks side by side,
alike but for their random start, each learn it; their mean varies less than any of them, most of
all where E lies beyond the sources.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .activation import elu
from .layout import Layout


class Predictor(eqx.Module):
    """`votes` networks of the decoder's shape, without a share in its layers."""

    filters: Float[Array, "votes inputs hidden"]
    env_filters: Float[Array, "votes twice_dim hidden"]  # of E and of E²
    filter_bias: Float[Array, "votes hidden"]
    layers: tuple[tuple[Array, Array], ...]  # [votes, hidden, hidden], [votes, hidden]
    heads: Float[Array, "votes label_columns hidden"]
    env_heads: Float[Array, "votes label_columns twice_dim"]
    head_bias: Float[Array, "votes label_columns"]
    log_scale: Float[Array, ""]
    n_pooled: int = eqx.field(static=True)  # the last votes, which do not see E
    squares_env: bool = eqx.field(static=True, default=True)

    @staticmethod
    def zeros(
        votes: int,
        n_pooled: int,
        inputs: int,
        label_columns: int,
        hidden: int,
        dim: int,
        n_layers: int,
        squares_env: bool = True,
    ) -> "Predictor":
        return Predictor(
            filters=jnp.zeros((votes, inputs, hidden)),
            env_filters=jnp.zeros((votes, 2 * dim, hidden)),
            filter_bias=jnp.zeros((votes, hidden)),
            layers=tuple(
                (jnp.zeros((votes, hidden, hidden)), jnp.zeros((votes, hidden)))
                for _ in range(n_layers)
            ),
            heads=jnp.zeros((votes, label_columns, hidden)),
            env_heads=jnp.zeros((votes, label_columns, 2 * dim)),
            head_bias=jnp.zeros((votes, label_columns)),
            log_scale=jnp.zeros(()),
            n_pooled=n_pooled,
            squares_env=squares_env,
        )

    def scaled(self) -> "Predictor":
        """Standard normal numbers in place of weights → initial weights; biases start at 0."""
        unit = 1.0 / jnp.sqrt(self.filter_bias.shape[1])
        first = 1.0 / jnp.sqrt(self.filters.shape[1])
        return Predictor(
            filters=first * self.filters,
            env_filters=0.3 * unit * self.env_filters,
            filter_bias=jnp.zeros_like(self.filter_bias),
            layers=tuple((unit * weight, jnp.zeros_like(bias)) for weight, bias in self.layers),
            heads=unit * self.heads,
            env_heads=jnp.zeros_like(self.env_heads),
            head_bias=jnp.zeros_like(self.head_bias),
            log_scale=jnp.zeros_like(self.log_scale),
            n_pooled=self.n_pooled,
            squares_env=self.squares_env,
        )

    def predict(
        self,
        layout: Layout,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws votes rows label_columns"]:
        """Every vote for several draws of E; the part without E is computed once."""
        # The square lets the effect of E bend on beyond the sources, where ELU goes straight.
        squares = envs**2 if self.squares_env else jnp.zeros_like(envs)
        powers = jnp.concatenate([envs, squares], axis=-1)  # [draws, twice_dim]

        def vote(one: Predictor) -> Float[Array, "draws rows label_columns"]:
            first = inputs @ (one.filters * layout.from_features[:, None])  # [rows, hidden]

            def draw(power: Float[Array, " twice_dim"]) -> Float[Array, "rows label_columns"]:
                hidden = elu(first + power @ one.env_filters + one.filter_bias)
                for weight, bias in one.layers:
                    hidden = elu(hidden @ weight + bias)
                return hidden @ one.heads.T + one.env_heads @ power + one.head_bias

            return jax.vmap(draw)(powers)

        votes = self.filter_bias.shape[0]
        sees_env = (jnp.arange(votes) < votes - self.n_pooled)[:, None, None]
        scale_free = eqx.tree_at(
            lambda p: (p.log_scale, p.env_filters, p.env_heads),
            self,
            (None, self.env_filters * sees_env, self.env_heads * sees_env),
        )
        return jnp.swapaxes(jax.vmap(vote)(scale_free), 0, 1)
