"""Every variable from its parents and the environment.

Each variable has a structural filter of its own (a first layer that sees its parents and E), then
all share their hidden layers, and each has a head of its own. On a graph that is known the filters
gather the inputs of each variable's parents, so that the cost is linear in the number of variables
and no variable can see what is not its parent. In the paper's form they see all other variables,
and a penalty makes the graph of their norms acyclic.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .activation import elu
from .constants import INITIAL_FILTER_SCALE
from .layout import Layout

# ParentMask[i, j] = 1 where variable i may enter the reconstruction of variable j.
ParentMask = Float[Array, "variables variables"]


class Decoder(eqx.Module):
    """Structural filters, shared hidden layers, one head per variable."""

    filters: Float[Array, "variables inputs hidden"]  # or [variables, slots, hidden]
    env_filters: Float[Array, "variables dim hidden"]
    filter_bias: Float[Array, "variables hidden"]
    shared: tuple[tuple[Array, Array], ...]
    heads: Float[Array, "columns hidden"]
    head_bias: Float[Array, " columns"]
    log_scale: Float[Array, " variables"]

    @staticmethod
    def zeros(
        inputs: int, columns: int, variables: int, hidden: int, dim: int, n_shared: int
    ) -> "Decoder":
        return Decoder(
            filters=jnp.zeros((variables, inputs, hidden)),
            env_filters=jnp.zeros((variables, dim, hidden)),
            filter_bias=jnp.zeros((variables, hidden)),
            shared=tuple((jnp.zeros((hidden, hidden)), jnp.zeros(hidden)) for _ in range(n_shared)),
            heads=jnp.zeros((columns, hidden)),
            head_bias=jnp.zeros(columns),
            log_scale=jnp.zeros(variables),
        )

    def scaled(self) -> "Decoder":
        """Standard normal numbers in place of weights → initial weights; biases start at 0."""
        _, inputs, hidden = self.filters.shape
        unit = 1.0 / jnp.sqrt(hidden)
        # Small filters: no edge is assumed before the data ask for it. Many inputs start smaller
        # still, or the sum over all paths, and with it h, would explode.
        small = INITIAL_FILTER_SCALE * unit * min(1.0, (8 / inputs) ** 0.5)
        return Decoder(
            filters=small * self.filters,
            env_filters=INITIAL_FILTER_SCALE * unit * self.env_filters,
            filter_bias=jnp.zeros_like(self.filter_bias),
            shared=tuple((unit * weight, jnp.zeros_like(bias)) for weight, bias in self.shared),
            heads=unit * self.heads,
            head_bias=jnp.zeros_like(self.head_bias),
            log_scale=jnp.zeros_like(self.log_scale),
        )

    def reconstruct(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows inputs"],
        env: Float[Array, "*rows dim"],
    ) -> Float[Array, "rows columns"]:
        """Outputs for every variable's columns, each from its parents and E (one, or per row).

        Rows are the last axis within, as in the label networks.
        """
        offset = jnp.einsum("...k,vkh->hv...", env, self.env_filters)
        offset = offset.reshape(*offset.shape[:2], -1) + self.filter_bias.T[:, :, None]
        if layout.reads is not None:
            first = jnp.einsum("vsh,vsn->hvn", self.filters, gathered(layout, inputs))
            hidden = self._shared(first + offset)
            own = hidden[:, layout.owner.argmax(1)]  # [hidden, columns, rows]
            out = (own * self.heads.T[:, :, None]).sum(0) * layout.owner.sum(1)[:, None]
            return (out + self.head_bias[:, None]).T
        filters = self.filters * allowed_inputs(layout, parents)[:, :, None]
        first = jnp.einsum("vch,nc->hvn", filters, inputs)
        hidden = self._shared(first + offset)
        # Every column reads its own variable's hidden units; as one product, not as a gather.
        heads = layout.owner.T[:, :, None] * self.heads  # [variables, columns, hidden]
        return jnp.einsum("hvn,vch->nc", hidden, heads) + self.head_bias

    def predict(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
        label_columns: int,
    ) -> Float[Array, "draws rows label_columns"]:
        """The label through its own filter (the paper's way), for several draws of E."""
        allowed = allowed_inputs(layout, parents)[-1]
        first = (self.filters[-1] * allowed[:, None]).T @ inputs.T  # [hidden, rows]
        offset = (envs @ self.env_filters[-1] + self.filter_bias[-1]).T  # [hidden, draws]
        hidden = self._shared(first[:, None] + offset[:, :, None])  # [hidden, draws, rows]
        out = jnp.einsum("ch,hdn->dnc", self.heads[-label_columns:], hidden)
        return out + self.head_bias[-label_columns:]

    def _shared(
        self, first: Float[Array, "hidden several rows"]
    ) -> Float[Array, "hidden several rows"]:
        hidden = elu(first)
        for weight, bias in self.shared:
            hidden = elu(jnp.einsum("ij,ivn->jvn", weight, hidden) + bias[:, None, None])
        return hidden

    def adjacency(self, layout: Layout) -> Float[Array, "variables variables"]:
        """A[i, j] = ‖rows of variable i in the filter of variable j‖₂, own block left out."""
        squares = (self.filters**2).sum(-1)  # [variables, inputs]
        if layout.reads is not None and layout.reads_any is not None:
            owner = layout.input_owner[layout.reads] * layout.reads_any[..., None]
            return _root(jnp.einsum("vs,vsu->uv", squares, owner))
        return _root(squares @ layout.input_owner).T * layout.any_edge()


def gathered(
    layout: Layout, inputs: Float[Array, "rows inputs"]
) -> Float[Array, "variables slots rows"]:
    """The inputs of each variable's parents, 0 where it has fewer than others."""
    assert layout.reads is not None and layout.reads_any is not None
    return inputs.T[layout.reads] * layout.reads_any[..., None]


def allowed_inputs(layout: Layout, parents: ParentMask) -> Float[Array, "variables inputs"]:
    """Which inputs each variable's filter sees: those of its parents, never its own."""
    return (layout.input_owner @ (parents * layout.any_edge())).T


def _root(squares: Array) -> Array:
    """Square root with gradient 0 at 0, where the norm of a block has none."""
    positive = squares > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1.0)), 0.0)
