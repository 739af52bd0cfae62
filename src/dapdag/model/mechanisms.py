"""The label and its children, each given its parents and E: what inference on the graph needs.

    log p(y | x, E) = log p(y | pa(y), E) + Σ over children c of log p(x_c | pa(c), y, E) + const

Every factor is a small network of its own (a slot): the label first, then its children. Several
networks per slot, alike but for their random initial weights, are averaged.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .label import LabelNetworks
from .layout import Layout
from .likelihoods import bounded_log_scale

_LOG_2PI = float(jnp.log(2 * jnp.pi))


class Blanket(eqx.Module):
    """What each slot reads, and the columns and type of its variable. Padded slots are of none."""

    variable: Int[Array, " slots"]
    reads: Int[Array, "slots inputs"]
    reads_any: Float[Array, "slots inputs"]  # 0 where `reads` only pads
    columns: Int[Array, "slots width"]
    columns_any: Float[Array, "slots width"]
    continuous: Float[Array, " slots"]
    binary: Float[Array, " slots"]
    categorical: Float[Array, " slots"]

    @property
    def real(self) -> Float[Array, " slots"]:
        return self.continuous + self.binary + self.categorical

    def values(self, values: Float[Array, "rows columns"]) -> Float[Array, "slots rows width"]:
        """The columns of each slot's variable."""
        return jnp.moveaxis(values[:, self.columns] * self.columns_any, 1, 0)

    def observed(self, observed: Float[Array, "rows variables"]) -> Float[Array, "slots rows"]:
        return observed[:, self.variable].T * self.real[:, None]

    def take(self, slots: Int[Array, " some"]) -> "Blanket":
        """Some of the slots."""
        return jax.tree.map(lambda leaf: leaf[slots], self)


class Mechanisms(eqx.Module):
    """Networks of every slot."""

    networks: LabelNetworks  # networks × slots of them
    log_scale: Float[Array, "networks slots"]  # of the noise of a number

    @staticmethod
    def zeros(
        networks: int, slots: int, inputs: int, width: int, hidden: int, dim: int, n_layers: int
    ) -> "Mechanisms":
        each = LabelNetworks.zeros(networks * slots, 0, inputs, width, hidden, dim, n_layers)
        return Mechanisms(each, jnp.zeros((networks, slots)))

    def scaled(self) -> "Mechanisms":
        return Mechanisms(self.networks.scaled(), jnp.zeros_like(self.log_scale))

    def take(self, slots: Int[Array, " some"]) -> "Mechanisms":
        """Those of some of the slots."""
        networks, count = self.log_scale.shape
        which = jnp.arange(networks)[:, None] * count + slots
        return Mechanisms(self.networks.take(which.ravel(), 0), self.log_scale[:, slots])

    def outputs(
        self,
        blanket: Blanket,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws networks slots rows width"]:
        """Mean or logits of every slot's variable, by each of its networks."""
        return self.after_filters(self.filtered(blanket, inputs), envs)

    def filtered(
        self, blanket: Blanket, inputs: Float[Array, "rows inputs"]
    ) -> Float[Array, "networks_slots hidden rows"]:
        """The first layer's product with the inputs of each slot."""
        networks, slots = self.log_scale.shape
        filters = self.networks.filters.reshape(networks, slots, *self.networks.filters.shape[1:])
        own = inputs.T[blanket.reads] * blanket.reads_any[..., None]  # [slots, inputs, rows]
        first = jnp.einsum("ksih,sin->kshn", filters, own)
        return first.reshape(networks * slots, *first.shape[2:])

    def after_filters(
        self, first: Float[Array, "networks_slots hidden rows"], envs: Float[Array, "draws dim"]
    ) -> Float[Array, "draws networks slots rows width"]:
        """What follows it."""
        out = self.networks.after_filters(first, envs)
        return out.reshape(out.shape[0], *self.log_scale.shape, *out.shape[2:])


def slot_log_density(
    blanket: Blanket,
    outputs: Float[Array, "*batch slots rows width"],
    values: Float[Array, "slots rows width"],
    log_scale: Float[Array, "*batch slots"],
) -> Float[Array, "*batch slots rows"]:
    """log p(value | parents, E) under the likelihood of each slot's type."""
    number, truth = outputs[..., 0], values[..., 0]
    scale = bounded_log_scale(log_scale)[..., None]
    normal = -0.5 * (((truth - number) * jnp.exp(-scale)) ** 2 + _LOG_2PI) - scale
    two = truth * number - jax.nn.softplus(number)
    # finite, because 0 times infinity is not a number
    logits = jnp.where(blanket.columns_any[:, None, :] > 0, outputs, -1e9)
    many = (values * jax.nn.log_softmax(logits, axis=-1)).sum(-1)
    kinds = blanket.continuous, blanket.binary, blanket.categorical
    return sum(
        (kind[:, None] * part for kind, part in zip(kinds, (normal, two, many), strict=True)),
        start=jnp.zeros(()),
    )


def with_label(
    layout: Layout,
    inputs: Float[Array, "rows inputs"],
    label: Float[Array, " label_columns"],
) -> Float[Array, "rows inputs"]:
    """The inputs with the label set to one value in all rows."""
    columns, width = layout.owner.shape[0], label.shape[0]
    at = slice(columns - width, columns)
    inputs = inputs.at[:, at].set(label - layout.center[at])
    # the last input says whether the label is missing
    return inputs.at[:, -1].set(0.0) if layout.indicators else inputs
