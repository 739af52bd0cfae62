"""What a lane is trained on, and what changes while it trains.

A lane is one independent training: a member of an ensemble, a seed, a table. Where nothing else is
said, arrays of the types below have a leading axis of lanes on the host and none inside a compiled
step, which `jax.vmap` maps over the lanes.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ..data.blocks import Blocks
from ..model import Layout, Network, Sizes
from ..model import objective as obj
from ..model.mechanisms import Blanket
from ..model.parameters import ravel
from .optimiser import Moments
from .schedule import Schedule


class Problem(eqx.Module):
    """Data, weights of the loss and schedule."""

    blocks: Blocks
    layout: Layout
    parents: Array
    weights: obj.Weights
    schedule: Schedule
    smallest_batch: Array  # as a share of the domain
    in_fold: Array  # [domains, networks], 1 where a label network is trained on a domain
    stack_weights: Array  # [networks], sums to 1
    blanket: Blanket | None  # where the label's mechanisms are trained


class State(eqx.Module):
    """All that changes while a lane trains. Weights are one vector (see `model.parameters`)."""

    vector: Float[Array, " parameters"]
    moments: Moments
    average: Float[Array, " parameters"]  # exponential moving average of the weights
    best: Float[Array, " parameters"]  # the average with the lowest validation loss
    best_loss: Float[Array, ""]
    since_best: Int[Array, ""]
    active: Array  # still training: neither stopped early nor broken
    broken: Array  # met a loss or gradient that is not finite
    key: UInt32[Array, "2"]  # with the number of a step it gives all that the step draws


class Budget(eqx.Module):
    """How far to go: counted in epochs, shared by all lanes."""

    first_epoch: Array
    n_epochs: Array  # in this call
    max_epochs: Array
    steps: Array  # per epoch
    patience: Array
    may_stop: Array  # counts patience only when true


@dataclass(frozen=True)
class Plan:
    """How long to train; patience counts from epoch `first_stop` on."""

    max_epochs: int
    steps: int
    patience: int
    first_stop: int


def initial_state(sizes: Sizes, key: PRNGKeyArray) -> State:
    key, k_init = jax.random.split(key)
    return state_from(ravel(Network.init(sizes, k_init)), key)


def state_from(start: Float[Array, " parameters"], key: PRNGKeyArray) -> State:
    """The state before the first step."""
    return State(
        vector=start,
        moments=Moments.zeros(start),
        average=start,
        best=start,
        best_loss=jnp.array(jnp.inf, dtype=jnp.float32),
        since_best=jnp.array(0, dtype=jnp.int32),
        active=jnp.array(True),
        broken=jnp.array(False),
        key=jax.random.key_data(key),
    )
