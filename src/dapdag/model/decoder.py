"""Every variable from its parents and the environment.

Each variable has a structural filter of its own (a first layer that sees all other variables and
E), then all share their hidden layers, and each has a head of its own. The label may have a second
filter over all features, its *predictor*: p(label | features, E) draws on the label's children too,
which its structural filter, restricted to parents, must not see.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .layout import Layout

# ParentMask[i, j] = 1 where variable i may enter the reconstruction of variable j.
ParentMask = Float[Array, "variables variables"]


class Decoder(eqx.Module):
    """Structural filters, shared hidden layers, one head per variable.

    `targets` is the number of variables, plus one if the label has a predictor (the last target).
    """

    filters: Float[Array, "targets columns hidden"]
    env_filters: Float[Array, "targets dim hidden"]
    filter_bias: Float[Array, "targets hidden"]
    shared: tuple[tuple[Array, Array], ...]
    heads: Float[Array, "columns hidden"]
    head_bias: Float[Array, " columns"]
    label_head: Float[Array, "label_columns hidden"]
    label_bias: Float[Array, " label_columns"]
    log_scale: Float[Array, " variables"]
    label_log_scale: Float[Array, ""]
    has_predictor: bool = eqx.field(static=True)

    @staticmethod
    def zeros(
        columns: int,
        variables: int,
        label_columns: int,
        hidden: int,
        dim: int,
        n_shared: int,
        has_predictor: bool,
    ) -> "Decoder":
        targets = variables + has_predictor
        return Decoder(
            filters=jnp.zeros((targets, columns, hidden)),
            env_filters=jnp.zeros((targets, dim, hidden)),
            filter_bias=jnp.zeros((targets, hidden)),
            shared=tuple((jnp.zeros((hidden, hidden)), jnp.zeros(hidden)) for _ in range(n_shared)),
            heads=jnp.zeros((columns, hidden)),
            head_bias=jnp.zeros(columns),
            label_head=jnp.zeros((label_columns, hidden)),
            label_bias=jnp.zeros(label_columns),
            log_scale=jnp.zeros(variables),
            label_log_scale=jnp.zeros(()),
            has_predictor=has_predictor,
        )

    def scaled(self) -> "Decoder":
        """Standard normal numbers in place of weights → initial weights; biases start at 0."""
        hidden = self.filter_bias.shape[1]
        unit = 1.0 / jnp.sqrt(hidden)
        # Small filters: no edge is assumed before the data ask for it.
        small = 0.3 * unit
        return Decoder(
            filters=small * self.filters,
            env_filters=small * self.env_filters,
            filter_bias=jnp.zeros_like(self.filter_bias),
            shared=tuple((unit * weight, jnp.zeros_like(bias)) for weight, bias in self.shared),
            heads=unit * self.heads,
            head_bias=jnp.zeros_like(self.head_bias),
            label_head=unit * self.label_head,
            label_bias=jnp.zeros_like(self.label_bias),
            log_scale=jnp.zeros_like(self.log_scale),
            label_log_scale=jnp.zeros_like(self.label_log_scale),
            has_predictor=self.has_predictor,
        )

    def reconstruct(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows columns"],
        env: Float[Array, " dim"],
    ) -> tuple[Float[Array, "rows columns"], Float[Array, "rows label_columns"]]:
        """Outputs for every variable's columns, and for the label's prediction."""
        allowed = _allowed_columns(layout, parents, self.has_predictor)  # [targets, columns]
        filters = self.filters * allowed[:, :, None]
        first = jnp.einsum("nc,tch->nth", inputs, filters)  # [rows, targets, hidden]
        hidden = self._shared(first + self._offset(env))
        per_column = hidden[:, layout.owner_index]  # [rows, columns, hidden]
        outputs = (per_column * self.heads).sum(-1) + self.head_bias
        if self.has_predictor:
            return outputs, hidden[:, -1] @ self.label_head.T + self.label_bias
        return outputs, outputs[:, -self.label_bias.shape[0] :]

    def predict(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows columns"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws rows label_columns"]:
        """The label's output for several draws of E; the part without E is computed once."""
        allowed = _allowed_columns(layout, parents, self.has_predictor)[-1]
        first = inputs @ (self.filters[-1] * allowed[:, None])  # [rows, hidden]
        offset = envs @ self.env_filters[-1] + self.filter_bias[-1]  # [draws, hidden]
        hidden = self._shared(first[None] + offset[:, None])  # [draws, rows, hidden]
        head, bias = self._label_head()
        return hidden @ head.T + bias

    def label_scale(self) -> Float[Array, ""]:
        """log of the noise scale that the label's prediction uses."""
        return self.label_log_scale if self.has_predictor else self.log_scale[-1]

    def _label_head(self) -> tuple[Array, Array]:
        if self.has_predictor:
            return self.label_head, self.label_bias
        width = self.label_bias.shape[0]
        return self.heads[-width:], self.head_bias[-width:]

    def _offset(self, env: Float[Array, " dim"]) -> Float[Array, "targets hidden"]:
        return jnp.einsum("k,tkh->th", env, self.env_filters) + self.filter_bias

    def _shared(self, first: Float[Array, "*batch hidden"]) -> Float[Array, "*batch hidden"]:
        hidden = jax.nn.elu(first)
        for weight, bias in self.shared:
            hidden = jax.nn.elu(hidden @ weight + bias)
        return hidden

    def adjacency(self, layout: Layout) -> Float[Array, "variables variables"]:
        """A[i, j] = ‖rows of variable i in the filter of variable j‖₂, own block left out."""
        variables = layout.owner.shape[1]
        squares = (self.filters[:variables] ** 2).sum(-1)  # [variables, columns]
        return _root(squares @ layout.owner).T * layout.any_edge()

    def path_strength(self, layout: Layout) -> Float[Array, "variables variables"]:
        """P[i, j] = Σ over paths from variable i to j of |W₁||W₂|…|W_o| (as in GraN-DAG).

        It bounds |∂x̂ⱼ/∂xᵢ|, which the filters alone do not: they may shrink while later layers
        make up for it.
        """
        variables = layout.owner.shape[1]
        out = layout.owner.T @ jnp.abs(self.heads)  # [variables, hidden], summed over a block
        for weight, _ in reversed(self.shared):
            out = out @ jnp.abs(weight).T
        paths = jnp.einsum("vch,vh->vc", jnp.abs(self.filters[:variables]), out)
        return (paths @ layout.owner).T * layout.any_edge()


def _allowed_columns(
    layout: Layout, parents: ParentMask, has_predictor: bool
) -> Float[Array, "targets columns"]:
    """Which columns each filter sees: its parents'; the predictor sees every feature's."""
    allowed = (layout.owner @ (parents * layout.any_edge())).T
    if not has_predictor:
        return allowed
    features = layout.owner[:, :-1].sum(1)
    return jnp.concatenate([allowed, features[None]])


def _root(squares: Array) -> Array:
    """Square root with gradient 0 at 0, where the norm of a block has none."""
    positive = squares > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1.0)), 0.0)
