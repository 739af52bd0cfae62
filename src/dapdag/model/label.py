"""Networks that predict the label from all features and E.

p(label | features, E) depends on the label's children as well as on its parents, so it cannot come
from the label's structural filter, which sees the parents alone. Several small networks, alike but
for their random initial weights, are averaged: an ensemble. The last `n_pooled` of them do not see
E; stacking weights say how much each network contributes to the prediction.
"""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .activation import elu
from .constants import INITIAL_FILTER_SCALE
from .layout import Layout


class LabelNetworks(eqx.Module):
    """Networks of the decoder's shape that share no layer with it."""

    filters: Float[Array, "networks inputs hidden"]
    env_filters: Float[Array, "networks twice_dim hidden"]  # of E and of E²
    filter_bias: Float[Array, "networks hidden"]
    layers: tuple[tuple[Array, Array], ...]  # [networks, hidden, hidden], [networks, hidden]
    heads: Float[Array, "networks label_columns hidden"]
    env_heads: Float[Array, "networks label_columns twice_dim"]
    head_bias: Float[Array, "networks label_columns"]
    log_scale: Float[Array, ""]
    n_pooled: int = eqx.field(static=True)  # the last networks, which do not see E
    squares_env: bool = eqx.field(static=True, default=True)

    @staticmethod
    def zeros(
        networks: int,
        n_pooled: int,
        inputs: int,
        label_columns: int,
        hidden: int,
        dim: int,
        n_layers: int,
        squares_env: bool = True,
    ) -> "LabelNetworks":
        return LabelNetworks(
            filters=jnp.zeros((networks, inputs, hidden)),
            env_filters=jnp.zeros((networks, 2 * dim, hidden)),
            filter_bias=jnp.zeros((networks, hidden)),
            layers=tuple(
                (jnp.zeros((networks, hidden, hidden)), jnp.zeros((networks, hidden)))
                for _ in range(n_layers)
            ),
            heads=jnp.zeros((networks, label_columns, hidden)),
            env_heads=jnp.zeros((networks, label_columns, 2 * dim)),
            head_bias=jnp.zeros((networks, label_columns)),
            log_scale=jnp.zeros(()),
            n_pooled=n_pooled,
            squares_env=squares_env,
        )

    def scaled(self) -> "LabelNetworks":
        """Standard normal numbers in place of weights → initial weights; biases start at 0."""
        unit = 1.0 / jnp.sqrt(self.filter_bias.shape[1])
        first = 1.0 / jnp.sqrt(self.filters.shape[1])
        return LabelNetworks(
            filters=first * self.filters,
            env_filters=INITIAL_FILTER_SCALE * unit * self.env_filters,
            filter_bias=jnp.zeros_like(self.filter_bias),
            layers=tuple((unit * weight, jnp.zeros_like(bias)) for weight, bias in self.layers),
            heads=unit * self.heads,
            env_heads=jnp.zeros_like(self.env_heads),
            head_bias=jnp.zeros_like(self.head_bias),
            log_scale=jnp.zeros_like(self.log_scale),
            n_pooled=self.n_pooled,
            squares_env=self.squares_env,
        )

    def take(self, networks: Sequence[int] | Array, n_pooled: int) -> "LabelNetworks":
        """Some of the networks, the last `n_pooled` of which do not see E."""
        which = jnp.asarray(networks)
        some = jax.tree.map(lambda leaf: leaf[which] if leaf.ndim else leaf, self)
        return replace(some, n_pooled=n_pooled)

    def outputs(
        self,
        layout: Layout,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws networks rows label_columns"]:
        """Outputs of every network for several draws of E; the part without E is computed once."""
        first = jnp.einsum("kch,nc->khn", self.filters, inputs * layout.from_features)
        return self.after_filters(first, envs)

    def after_filters(
        self, first: Float[Array, "networks hidden rows"], envs: Float[Array, "draws dim"]
    ) -> Float[Array, "draws networks rows label_columns"]:
        """What follows the first layer's product with the inputs.

        Rows are the last axis within: products of small matrices are faster with the many rows at
        their side than on top. Draws count as rows.
        """
        # ELU is linear far from 0: with the square the effect of E curves outside the sources too.
        squares = envs**2 if self.squares_env else jnp.zeros_like(envs)
        powers = jnp.concatenate([envs, squares], axis=-1)  # [draws, twice_dim]
        count = self.filter_bias.shape[0]
        sees_env = (jnp.arange(count) < count - self.n_pooled)[:, None, None]
        offset = jnp.einsum("kph,dp->khd", self.env_filters * sees_env, powers)
        offset = offset + self.filter_bias[:, :, None]
        hidden = elu(first[:, :, None] + offset[..., None])  # [networks, hidden, draws, rows]
        draws, rows = hidden.shape[2:]
        hidden = hidden.reshape(*hidden.shape[:2], draws * rows)
        for weight, bias in self.layers:
            hidden = elu(jnp.einsum("kij,kin->kjn", weight, hidden) + bias[..., None])
        out = jnp.einsum("kch,khn->kcn", self.heads, hidden)
        level = jnp.einsum("kcp,dp->kcd", self.env_heads * sees_env, powers)
        level = level + self.head_bias[..., None]
        out = out.reshape(*out.shape[:2], draws, rows) + level[..., None]
        return jnp.transpose(out, (2, 0, 3, 1))
