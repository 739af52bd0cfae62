"""Stage 2 of DA-Infer: conditional densities with a latent θ of every domain and module."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

# Noise of a standardised number stays above 0.1, which the grid of label values can resolve.
MIN_LOG_SCALE, MAX_LOG_SCALE = -2.3, 2.0
MIN_LOGIT = -30.0


class Modules(NamedTuple):
    """Which columns a module reads and writes, padded to few sizes; everything 0/1.

    A module writes into slots: a number and a binary variable one, others one per level.
    """

    reads: Array  # [modules, columns]
    writes: Array  # [modules, columns, slots]
    is_number: Array  # [modules]
    is_binary: Array  # [modules]
    is_live: Array  # [modules]
    is_changing: Array  # [modules]
    is_label: Array  # [columns]


class Weights(NamedTuple):
    """One hidden layer per module; θ enters beside the parents."""

    first: Array  # [modules, columns, hidden]
    first_latent: Array  # [modules, latent, hidden]
    first_bias: Array  # [modules, hidden]
    last: Array  # [modules, hidden, slots + 1]
    last_bias: Array  # [modules, slots + 1]


class Rows(NamedTuple):
    """Encoded rows; features first, then the label's columns."""

    values: Array  # [rows, columns]
    observed: Array  # [rows, modules]: the module's own variable is known
    weight: Array  # [rows]: 0 for padding


def init_weights(key: Array, modules: Modules, latent: int, hidden: int) -> Weights:
    m, columns, slots = modules.writes.shape
    keys = jax.random.split(key, 4)
    fan_in = jnp.maximum(modules.reads.sum(1), 1.0)[:, None, None]
    return Weights(
        jax.random.normal(keys[0], (m, columns, hidden)) / jnp.sqrt(fan_in),
        jax.random.normal(keys[1], (m, latent, hidden)),
        0.5 * jax.random.normal(keys[2], (m, hidden)),
        0.3 * jax.random.normal(keys[3], (m, hidden, slots + 1)) / jnp.sqrt(hidden),
        jnp.zeros((m, slots + 1)),
    )


def hidden_inputs(weights: Weights, modules: Modules, values: Array) -> Array:
    """What the columns add to the hidden layer: [rows, columns] -> [modules, rows, hidden]."""
    return jnp.einsum("nc,mc,mch->mnh", values, modules.reads, weights.first)


def outputs(weights: Weights, modules: Modules, inside: Array, latent: Array) -> Array:
    """[modules, …, hidden] and θ [modules, …, latent] -> [modules, …, slots + 1]."""
    shift = jnp.einsum("m...k,mkh->m...h", latent, weights.first_latent)
    on = modules.is_changing.reshape(-1, *[1] * (inside.ndim - 1))
    bias = weights.first_bias.reshape(len(on), *[1] * (inside.ndim - 2), -1)
    out = jnp.einsum("m...h,mhs->m...s", jnp.tanh(inside + on * shift + bias), weights.last)
    return out + weights.last_bias.reshape(len(on), *[1] * (inside.ndim - 2), -1)


def own_values(modules: Modules, values: Array) -> Array:
    """What every module writes: [rows, columns] -> [modules, rows, slots]."""
    return jnp.einsum("nc,mcs->mns", values, modules.writes)


def log_density(modules: Modules, out: Array, own: Array) -> Array:
    """log p(own | parents, θ): [modules, …, slots + 1], [modules, …, slots] -> [modules, …]."""
    axes = (-1, *[1] * (out.ndim - 2))
    log_scale = jnp.clip(out[..., -1], MIN_LOG_SCALE, MAX_LOG_SCALE)
    z = (own[..., 0] - out[..., 0]) * jnp.exp(-log_scale)
    normal = -0.5 * (z**2 + jnp.log(2 * jnp.pi)) - log_scale
    binary = -jax.nn.softplus(jnp.where(own[..., 0] > 0.5, -out[..., 0], out[..., 0]))
    used = modules.writes.sum(1).reshape(len(out), *[1] * (out.ndim - 2), -1) > 0
    levels = jax.nn.log_softmax(jnp.where(used, out[..., :-1], MIN_LOGIT))
    level = jnp.sum(own * levels, axis=-1)
    is_number, is_binary = modules.is_number.reshape(axes), modules.is_binary.reshape(axes)
    return jnp.where(is_number > 0, normal, jnp.where(is_binary > 0, binary, level))


def fit_loss(weights: Weights, theta: Array, modules: Modules, rows: Rows, domain: Array) -> Array:
    """Mean negative log-likelihood of a row, all modules added; θ [domains, modules, latent]."""
    inside = hidden_inputs(weights, modules, rows.values)
    latent = jnp.swapaxes(theta[domain], 0, 1)  # [modules, rows, latent]
    log_p = log_density(
        modules, outputs(weights, modules, inside, latent), own_values(modules, rows.values)
    )
    total = jnp.einsum("mn,nm,m,n->", log_p, rows.observed, modules.is_live, rows.weight)
    return -total / jnp.maximum(rows.weight.sum(), 1.0)


@jax.jit
def joint_log_density(
    weights: Weights, theta: Array, modules: Modules, rows: Rows, grid: Array
) -> Array:
    """log p(y, the label's children | other features, θ) for every row and value y of the grid.

    The label's module comes first and reads no label. The grid has all columns, with values in
    the label's. [rows, grid]
    """
    features = rows.values * (1.0 - modules.is_label)
    inside = hidden_inputs(weights, modules, features)[:, :, None, :]  # [m, rows, 1, h]
    inside = inside + hidden_inputs(weights, modules, grid)[:, None, :, :]  # [m, rows, grid, h]
    out = outputs(weights, modules, inside, theta[:, None, None, :])
    own = own_values(modules, features)[:, :, None, :] + own_values(modules, grid)[:, None, :, :]
    log_p = log_density(modules, out, own)
    # the label itself is what the grid runs over, and always counts
    known = rows.observed.at[:, 0].set(1.0)
    return jnp.einsum("mng,nm,m->ng", log_p, known, modules.is_live)


@jax.jit
def target_loss(
    theta: Array,
    weights: Weights,
    modules: Modules,
    rows: Rows,
    grid: Array,
    prior_mean: Array,
    prior_scale: Array,
) -> tuple[Array, Array]:
    """Negative log-posterior of the target's θ with the label summed out, and its gradient."""

    def loss(theta: Array) -> Array:
        joint = joint_log_density(weights, theta, modules, rows, grid)
        marginal = jax.scipy.special.logsumexp(joint, axis=1)
        z = (theta - prior_mean) / prior_scale
        return 0.5 * jnp.sum(z**2) - jnp.sum(marginal * rows.weight)

    return jax.value_and_grad(loss)(theta)
