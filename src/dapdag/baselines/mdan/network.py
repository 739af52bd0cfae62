"""MDAN's networks and loss: features that predict the label and hide the domain (Zhao et al. 2018).

The bound behind it, for the sources i = 1 … k,

    error on the target ≤ worst of (task_i − μ · domain_i) + constants,

where task_i is the label's loss on source i, and domain_i the loss of the classifier that tells
source i from the target by the features: the better it tells them apart, the further they are from
each other. The features make the worst case small, the classifiers make domain_i small.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...model import Layout, Network
from ...model import objective as obj
from ...model.activation import elu
from ...model.formulation import Formulation

TERMS = ("prediction", "domain", "total")
MODES = ("dynamic", "hard")


class Bound(eqx.Module):
    """How task and domain losses become one number; one array element per lane."""

    mu: Float[Array, "*lanes"]
    gamma: Float[Array, "*lanes"]
    hard: Float[Array, "*lanes"]  # 1 for the hard mode, 0 for the dynamic one

    def of_sources(self, task: Array, domain: Array) -> Float[Array, "networks sources"]:
        return task - self.mu * domain

    def weights(self, bounds: Float[Array, "networks sources"]) -> Float[Array, "networks sources"]:
        """How much each source counts: the worst alone, or all by how bad they are."""
        worst = jax.nn.one_hot(bounds.argmax(1), bounds.shape[1])
        return jnp.where(self.hard > 0, worst, jax.nn.softmax(self.gamma * bounds, axis=1))

    def total(self, bounds: Float[Array, "networks sources"]) -> Float[Array, ""]:
        """The bound of the worst source, sharp or smoothed, averaged over networks."""
        smooth = jax.nn.logsumexp(self.gamma * bounds, axis=1) / self.gamma
        return jnp.where(self.hard > 0, bounds.max(1), smooth).mean()


class Critics(eqx.Module):
    """For each label network and each source: is a row from there, or from the target?"""

    weight: Float[Array, "networks sources hidden hidden"]
    bias: Float[Array, "networks sources hidden"]
    head: Float[Array, "networks sources hidden"]
    head_bias: Float[Array, "networks sources"]

    @staticmethod
    def zeros(networks: int, sources: int, hidden: int) -> "Critics":
        shape = (networks, sources, hidden)
        return Critics(
            jnp.zeros((*shape, hidden)), jnp.zeros(shape), jnp.zeros(shape), jnp.zeros(shape[:2])
        )

    def scaled(self) -> "Critics":
        """Standard normal numbers in place of weights → initial weights; biases start at 0."""
        unit = 1.0 / jnp.sqrt(self.bias.shape[-1])
        return Critics(
            unit * self.weight,
            jnp.zeros_like(self.bias),
            unit * self.head,
            jnp.zeros_like(self.head_bias),
        )

    def logits(
        self, features: Float[Array, "networks sources rows hidden"]
    ) -> Float[Array, "networks sources rows"]:
        """Log-odds that a row is from the source and not from the target."""
        first = jnp.einsum("vsnh,vshk->vsnk", features, self.weight) + self.bias[:, :, None]
        return jnp.einsum("vsnk,vsk->vsn", elu(first), self.head) + self.head_bias[..., None]


def features_of(
    network: Network, layout: Layout, inputs: Float[Array, "rows inputs"]
) -> Float[Array, "networks rows hidden"]:
    """The last hidden layer of every label network: the network without its head."""
    label = network.label
    assert label is not None
    networks, _, hidden = label.heads.shape
    powers = label.env_filters.shape[1]
    headless = eqx.tree_at(
        lambda p: (p.heads, p.env_heads, p.head_bias),
        label,
        (
            jnp.broadcast_to(jnp.eye(hidden), (networks, hidden, hidden)),
            jnp.zeros((networks, hidden, powers)),
            jnp.zeros((networks, hidden)),
        ),
    )
    no_env = jnp.zeros((1, powers // 2))
    return headless.outputs(layout, inputs, no_env)[0]


def objective(
    formulation: Formulation,
    network: Network,
    critics: Critics,
    layout: Layout,
    batches: obj.Batch,
    bound: Bound,
) -> tuple[Float[Array, ""], Float[Array, " terms"]]:
    """What is minimised, and the terms to report.

    `batches` has a leading axis of domains, the target last. The gradient of the worst source
    (hard), or of log Σ exp(γ ·) / γ (dynamic), is that of a weighted sum over sources.
    """
    label = network.label
    assert label is not None
    domains, rows = batches.present.shape
    inputs = layout.inputs(*(_rows(part) for part in (batches.values, batches.observed)))
    features = features_of(network, layout, inputs)
    outputs = jnp.einsum("vnh,vch->vnc", features, label.heads) + label.head_bias[:, None]
    outputs = outputs.reshape(len(outputs), domains, rows, -1)[:, :-1]
    features = features.reshape(len(features), domains, rows, -1)

    sources = jax.tree.map(lambda part: part[:-1], batches)
    loss = lambda out, batch: obj.prediction(formulation, layout, network, out, batch)  # noqa: E731
    task = jax.vmap(jax.vmap(loss), in_axes=(0, None))(outputs, sources)  # [networks, sources]
    known = domain_losses(critics, jax.lax.stop_gradient(features), batches.present)
    bounds = jax.lax.stop_gradient(bound.of_sources(task, known))
    weight = bound.weights(bounds)
    # The classifiers learn at full strength; through the reversal the features do the opposite,
    # at the strength that their source has in the bound.
    domain = domain_losses(critics, features, batches.present, reversal=bound.mu * weight)
    total = (weight * task + domain).sum(1).mean()
    return total, jnp.stack([task.mean(), known.mean(), bound.total(bounds)])


def domain_losses(
    critics: Critics,
    features: Float[Array, "networks domains rows hidden"],
    present: Float[Array, "domains rows"],
    reversal: Float[Array, "networks sources"] | float = 0.0,
) -> Float[Array, "networks sources"]:
    """Cross-entropy of each classifier, source and target counting alike.

    The gradient that reaches the features is turned round and multiplied by `reversal`.
    """
    strength = jnp.broadcast_to(reversal, (features.shape[0], features.shape[1] - 1))[
        ..., None, None
    ]

    def reversed_(part: Array) -> Array:
        return jax.lax.stop_gradient((1.0 + strength) * part) - strength * part

    target = jnp.broadcast_to(features[:, -1:], features[:, :-1].shape)
    here = jax.nn.softplus(-critics.logits(reversed_(features[:, :-1])))
    there = jax.nn.softplus(critics.logits(reversed_(target)))
    mean = lambda losses, seen: (losses * seen).sum(-1) / seen.sum(-1)  # noqa: E731
    return 0.5 * (mean(here, present[:-1]) + mean(there, present[-1]))


def _rows(part: Float[Array, "domains rows columns"]) -> Float[Array, "all_rows columns"]:
    return part.reshape(-1, part.shape[-1])
