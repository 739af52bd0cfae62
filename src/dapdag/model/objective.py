"""The loss, term by term.

Point formulation (the paper's equation for a domain m):

    L = prediction + γ Ê² + λ (reconstruction + h + α h² + β group lasso)

Bayesian formulation: the same with log-likelihoods in place of squared errors, E drawn from its
posterior, and KL(q(E) ‖ p(E)) / n in place of γ Ê². All terms are means per row.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from . import likelihoods
from .decoder import Decoder, ParentMask
from .encoder import Posterior
from .formulation import Formulation, cell_losses
from .layout import Layout
from .mechanisms import Blanket, Mechanisms, slot_log_density
from .network import Network

TERMS = ("prediction", "reconstruction", "environment", "acyclicity", "sparsity", "total")


class Weights(eqx.Module):
    """How much each term counts; any of them may be 0. One array element per lane."""

    prediction: Array
    reconstruction: Array
    environment: Array  # γ, or the weight of the KL term
    structure: Array  # λ
    acyclicity: Array  # of h and α h² together
    acyclicity_square: Array  # α
    sparsity: Array  # β
    prior_precision: Array  # ν₀
    prior_scale: Array  # σₑ


class Batch(eqx.Module):
    """Some rows of one domain. `present` is 0 for rows that only pad, and else 1, or the row's
    weight: how many rows it counts for."""

    values: Float[Array, "rows columns"]
    observed: Float[Array, "rows variables"]
    present: Float[Array, " rows"]

    def head(self, rows: int) -> "Batch":
        return Batch(self.values[:rows], self.observed[:rows], self.present[:rows])


def _or_one(count: Array) -> Array:
    """A number of rows, or a sum of their weights, to divide by; 1 where there are none."""
    return jnp.where(count > 0, count, 1.0)


def kl_divergence(q: Posterior, prior_scale: Float[Array, ""]) -> Float[Array, ""]:
    """KL(N(μ, V) ‖ N(0, σₑ²)), summed over the dimensions of E."""
    ratio = q.variance / prior_scale**2
    return 0.5 * (ratio - 1.0 - jnp.log(ratio) + (q.mean / prior_scale) ** 2).sum()


def squared_environment(q: Posterior) -> Float[Array, ""]:
    """Ê² of the point formulation."""
    return (q.mean**2).sum()


def reconstruction(losses: Float[Array, "rows variables"], seen: Array) -> Float[Array, ""]:
    """Sum over variables of the mean loss over a variable's observed cells."""
    return ((losses * seen).sum(0) / _or_one(seen.sum(0))).sum()


def prediction(
    formulation: Formulation,
    layout: Layout,
    network: Network,
    outputs: Float[Array, "rows label_columns"],
    batch: Batch,
) -> Float[Array, ""]:
    """Mean loss of the label over the rows that have one."""
    only_label = layout.label_alone(outputs.shape[1])
    values = batch.values[:, -outputs.shape[1] :]
    if formulation.bayesian:
        scale = network.label_log_scale()[None]
        losses = -likelihoods.log_density(only_label, outputs, values, scale)
    else:
        losses = likelihoods.squared_or_cross_entropy(only_label, outputs, values)
    seen = batch.observed[:, -1] * batch.present
    return (losses[:, 0] * seen).sum() / _or_one(seen.sum())


def loss_of_means(
    formulation: Formulation,
    layout: Layout,
    network: Network,
    means: Float[Array, "rows label_columns"],
    batch: Batch,
) -> Float[Array, ""]:
    """Mean loss of the label for an expected value: that of one network, or a stacked one."""
    if layout.label_kind == "continuous":
        return prediction(formulation, layout, network, means, batch)
    truth = batch.values[:, -means.shape[1] :]
    losses = likelihoods.class_losses(layout.label_kind, means, truth)
    seen = batch.observed[:, -1] * batch.present
    return (losses * seen).sum() / _or_one(seen.sum())


def acyclicity(
    formulation: Formulation, layout: Layout, decoder: Decoder, parents: ParentMask
) -> Float[Array, ""]:
    """h of the squared filter norms."""
    return formulation.h((decoder.adjacency(layout) * parents) ** 2)


def group_lasso(layout: Layout, decoder: Decoder, parents: ParentMask) -> Float[Array, ""]:
    """Σ over edges of the norm of the filter block that carries it."""
    return (decoder.adjacency(layout) * parents).sum()


def objective(
    formulation: Formulation,
    weights: Weights,
    network: Network,
    layout: Layout,
    parents: ParentMask,
    batch: Batch,
    decoder_rows: int,
    normal: Float[Array, " dim"],
    in_fold: Float[Array, " networks"] | None = None,
) -> tuple[Float[Array, ""], Float[Array, " terms"]]:
    """Total loss of one domain's batch, and every term of it in the order of `TERMS`.

    `in_fold` is 1 for the label networks that are trained on this domain; None stands for all.
    E comes from all rows of the batch; the decoder's means per row are taken over the first
    `decoder_rows` of them, which is an unbiased and much cheaper estimate.
    """
    inputs = layout.inputs(batch.values, batch.observed)
    env, env_term = _environment(formulation, weights, network, layout, inputs, batch, normal)
    few = batch.head(decoder_rows)
    pred = jnp.zeros(())
    if formulation.predicts_label:
        pred = mean_prediction(
            formulation, network, layout, parents, inputs[:decoder_rows], few, env, in_fold
        )
    rec, h, lasso = _structure(
        formulation, network.decoder, layout, parents, inputs[:decoder_rows], few, env
    )
    cycles = h + weights.acyclicity_square * h**2 if formulation.penalises_cycles else 0.0
    total = (
        weights.prediction * pred
        + weights.environment * env_term
        + weights.structure
        * (weights.reconstruction * rec + weights.acyclicity * cycles + weights.sparsity * lasso)
    )
    return total, jnp.stack([pred, rec, env_term, h, lasso, total])


def label_objective(
    formulation: Formulation,
    weights: Weights,
    network: Network,
    layout: Layout,
    blanket: Blanket | None,
    batch: Batch,
    n_rows: int,
    normal: Float[Array, " dim"],
    in_fold: Float[Array, " networks"],
) -> tuple[Float[Array, ""], Float[Array, " terms"]]:
    """Loss of the label networks, and of the mechanisms of the label and its children, given E.

    The encoder is not trained. The terms are those of `TERMS`; the mechanisms' loss stands for the
    reconstruction.
    """
    inputs = layout.inputs(batch.values, batch.observed)
    env, env_term = _environment(formulation, weights, network, layout, inputs, batch, normal)
    env = jax.lax.stop_gradient(env)
    few, inputs = batch.head(n_rows), inputs[:n_rows]
    no_parents = jnp.zeros(())
    pred = mean_prediction(formulation, network, layout, no_parents, inputs, few, env, in_fold)
    rec = jnp.zeros(())
    if blanket is not None and network.mechanisms is not None:
        rec = mechanism_loss(network.mechanisms, blanket, inputs, few, env, in_fold)
    total = weights.prediction * pred + rec
    none = jnp.zeros(())
    return total, jnp.stack([pred, rec, env_term, none, none, total])


def mean_prediction(
    formulation: Formulation,
    network: Network,
    layout: Layout,
    parents: ParentMask,
    inputs: Float[Array, "rows inputs"],
    batch: Batch,
    env: Float[Array, " dim"],
    in_fold: Float[Array, " networks"] | None,
) -> Float[Array, ""]:
    """Mean loss of the label over the networks that are trained on the domain.

    Each network minimises its own loss; a loss on their average makes them co-adapt.
    """
    outputs = network.label_outputs(layout, parents, inputs, env[None])[0]
    each = jax.vmap(lambda one: prediction(formulation, layout, network, one, batch))(outputs)
    trained = jnp.ones_like(each) if in_fold is None else in_fold
    return (trained * each).sum() / jnp.maximum(trained.sum(), 1.0)


def mechanism_loss(
    mechanisms: Mechanisms,
    blanket: Blanket,
    inputs: Float[Array, "rows inputs"],
    batch: Batch,
    env: Float[Array, " dim"],
    in_fold: Float[Array, " networks"],
) -> Float[Array, ""]:
    """Sum over label and children of the mean negative log-density given parents and E.

    A mean over the networks that are trained on the domain, and over rows with a label.
    """
    outputs = mechanisms.outputs(blanket, inputs, env[None])[0]  # [networks, slots, rows, width]
    values = blanket.values(batch.values)
    losses = -slot_log_density(blanket, outputs, values, mechanisms.log_scale)
    seen = blanket.observed(batch.observed) * batch.observed[:, -1] * batch.present
    each = ((losses * seen).sum(-1) / _or_one(seen.sum(-1))).sum(-1)  # [networks]
    trained = in_fold[: each.shape[0]]
    return (trained * each).sum() / jnp.maximum(trained.sum(), 1.0)


def _environment(
    formulation: Formulation,
    weights: Weights,
    network: Network,
    layout: Layout,
    inputs: Float[Array, "rows inputs"],
    batch: Batch,
    normal: Float[Array, " dim"],
) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
    """The E that the decoder sees, and the term of the loss that keeps it small."""
    if not formulation.uses_environment:
        return jnp.zeros_like(normal), jnp.zeros(())
    q = network.infer(layout, inputs, batch.present, weights.prior_precision)
    if not formulation.bayesian:
        return q.mean, squared_environment(q)
    rows = _or_one(batch.present.sum())
    return q.draw(normal), kl_divergence(q, weights.prior_scale) / rows


def _structure(
    formulation: Formulation,
    decoder: Decoder,
    layout: Layout,
    parents: ParentMask,
    inputs: Float[Array, "rows columns"],
    batch: Batch,
    env: Float[Array, " dim"],
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Reconstruction, h and group lasso."""
    if not formulation.uses_structure:
        return jnp.zeros(()), jnp.zeros(()), jnp.zeros(())
    outputs = decoder.reconstruct(layout, parents, inputs, env)
    losses = cell_losses(formulation, layout, decoder, outputs, batch.values)
    rec = reconstruction(losses, batch.observed * batch.present[:, None])
    if layout.reads is not None:  # the graph is given: nothing to penalise
        return rec, jnp.zeros(()), jnp.zeros(())
    return (
        rec,
        acyclicity(formulation, layout, decoder, parents),
        group_lasso(layout, decoder, parents),
    )
