"""One epoch of the paper's algorithm, as a compiled function of one lane.

For each step: select a domain with probability proportional to its size, draw a batch size not
larger than the domain, take a window of its shuffled rows, move the encoder, then the decoder.
After the steps of an epoch: the label's loss on the validation rows of all sources.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..model import Layout, Network, Sizes
from ..model import objective as obj
from ..model.network import unravel
from .blocks import Blocks
from .schedule import Schedule

MAX_GRADIENT_NORM = 5.0
# Steps over which weights are averaged before they are judged: single steps on a few rows of one
# domain jump too much for the validation loss to tell epochs apart.
HORIZON = 200.0


@dataclass(frozen=True)
class StepConfig:
    """What is compiled in. Everything else is data and may differ between lanes."""

    sizes: Sizes
    formulation: obj.Formulation
    batch_rows: int
    decoder_rows: int
    alternating: bool


class Problem(eqx.Module):
    """What a lane is trained on and how; constant during training but for `parents`."""

    blocks: Blocks
    layout: Layout
    parents: Array
    weights: obj.Weights
    schedule: Schedule
    smallest_batch: Array  # as a share of the domain


class Half(NamedTuple):
    """Parameters of encoder or decoder as one vector, with their optimiser's state."""

    vector: Float[Array, " parameters"]
    optimiser: optax.OptState


class State(eqx.Module):
    """All that changes while a lane trains."""

    encoder: Half
    decoder: Half
    average: Float[Array, " all_parameters"]  # running mean of the latest weights
    best: Float[Array, " all_parameters"]  # the average with the lowest validation loss
    best_loss: Float[Array, ""]
    since_best: Int[Array, ""]
    active: Array  # still training: neither stopped early nor broken
    broken: Array  # met a loss or gradient that is not finite
    key: PRNGKeyArray


class Budget(eqx.Module):
    """How far to go: counted in epochs, shared by all lanes."""

    first_epoch: Array
    n_epochs: Array  # in this call
    max_epochs: Array
    steps: Array  # per epoch
    patience: Array
    may_stop: Array  # counts patience only when true
    keeps_best: Array


def optimiser() -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(MAX_GRADIENT_NORM), optax.scale_by_adam())


def initial_state(sizes: Sizes, key: PRNGKeyArray) -> State:
    key, k_init = jax.random.split(key)
    network = Network.init(sizes, k_init)
    halves = [
        Half(vector := ravel_pytree(part)[0], optimiser().init(vector))
        for part in (network.encoder, (network.decoder, network.predictor))
    ]
    return State(
        encoder=halves[0],
        decoder=halves[1],
        average=(start := jnp.concatenate([h.vector for h in halves])),
        best=start,
        best_loss=jnp.array(jnp.inf, dtype=jnp.float32),
        since_best=jnp.array(0, dtype=jnp.int32),
        active=jnp.array(True),
        broken=jnp.array(False),
        key=key,
    )


def run_epochs(
    config: StepConfig, problem: Problem, state: State, budget: Budget, history_rows: int
) -> tuple[State, Float[Array, "epochs terms"]]:
    """Train one lane for `budget.n_epochs` ≤ `history_rows` epochs.

    Returns the terms of the loss, averaged over each epoch's steps, and last the validation loss.
    """

    def epoch(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, history = carry
        state, terms = _one_epoch(config, problem, state, budget, budget.first_epoch + i)
        loss = validation_loss(config, problem, state.average)
        state = _judge(state, loss, budget)
        return state, history.at[i].set(jnp.append(terms, loss))

    empty = jnp.full((history_rows, len(obj.TERMS) + 1), jnp.nan)
    return jax.lax.fori_loop(0, budget.n_epochs, epoch, (state, empty))


def _one_epoch(
    config: StepConfig, problem: Problem, state: State, budget: Budget, epoch: Array
) -> tuple[State, Float[Array, " terms"]]:
    def step(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, total = carry
        progress = (epoch + i / budget.steps) / budget.max_epochs
        state, terms = _one_step(config, problem, state, progress)
        return state, total + terms

    zero = jnp.zeros(len(obj.TERMS))
    state, total = jax.lax.fori_loop(0, budget.steps, step, (state, zero))
    return state, total / budget.steps


def _one_step(
    config: StepConfig, problem: Problem, state: State, progress: Array
) -> tuple[State, Float[Array, " terms"]]:
    key, now = jax.random.split(state.key)
    # One call for all that a step draws: every further call costs compilation and time.
    uniform = jax.random.uniform(now, (3 + config.sizes.env_dim,), minval=1e-6, maxval=1 - 1e-6)
    batch = _draw_batch(config, problem, uniform[:3])
    normal = jax.scipy.special.ndtri(uniform[3:])
    rate = problem.schedule.learning_rate(progress)
    factor = problem.schedule.dag_factor(progress)
    decay = problem.schedule.decay
    weights = eqx.tree_at(
        lambda w: w.acyclicity, problem.weights, problem.weights.acyclicity * factor
    )

    def loss(encoder: Array, decoder: Array) -> tuple[Array, Array]:
        network = unravel(config.sizes, jnp.concatenate([encoder, decoder]))
        return obj.objective(
            config.formulation,
            weights,
            network,
            problem.layout,
            problem.parents,
            batch,
            config.decoder_rows,
            normal,
        )

    before = (state.encoder.vector, state.decoder.vector)
    if config.alternating:
        g_encoder, _ = jax.grad(loss, argnums=0, has_aux=True)(*before)
        encoder = _move(state.encoder, g_encoder, rate, decay)
        g_decoder, terms = jax.grad(loss, argnums=1, has_aux=True)(encoder.vector, before[1])
    else:
        (g_encoder, g_decoder), terms = jax.grad(loss, argnums=(0, 1), has_aux=True)(*before)
        encoder = _move(state.encoder, g_encoder, rate, decay)
    decoder = _move(state.decoder, g_decoder, rate, decay)

    finite = jnp.isfinite(terms[-1] + jnp.sum(encoder.vector) + jnp.sum(decoder.vector))
    accept = state.active & finite
    keep = lambda new, old: jnp.where(accept, new, old)  # noqa: E731
    return (
        State(
            encoder=jax.tree.map(keep, encoder, state.encoder),
            decoder=jax.tree.map(keep, decoder, state.decoder),
            average=keep(
                state.average
                # The weights before the move: of those the loss is known to be finite.
                + (jnp.concatenate(before) - state.average) / HORIZON,
                state.average,
            ),
            best=state.best,
            best_loss=state.best_loss,
            since_best=state.since_best,
            active=accept,
            broken=state.broken | (state.active & ~finite),
            key=key,
        ),
        terms,
    )


def _move(half: Half, gradient: Array, rate: Array, decay: Array) -> Half:
    direction, optimiser_state = optimiser().update(gradient, half.optimiser)
    return Half(half.vector - rate * (direction + decay * half.vector), optimiser_state)


def _draw_batch(config: StepConfig, problem: Problem, uniform: Float[Array, "3"]) -> obj.Batch:
    """Rows of one domain: chosen by size, as many as a random batch size, a random window."""
    blocks = problem.blocks
    reached = jnp.cumsum(blocks.n_rows) / blocks.n_rows.sum()
    domain = jnp.sum(reached <= uniform[0])
    rows = blocks.n_rows[domain]
    largest = jnp.minimum(rows, config.batch_rows)
    smallest = jnp.maximum(jnp.ceil(problem.smallest_batch * largest).astype(int), 1)
    size = smallest + (uniform[1] * (largest - smallest + 1)).astype(int)
    start = (uniform[2] * rows).astype(int)

    def window(block: Array) -> Array:
        begin = (domain, start, jnp.zeros_like(start))
        return jax.lax.dynamic_slice(block, begin, (1, config.batch_rows, block.shape[-1]))[0]

    present = (jnp.arange(config.batch_rows) < size).astype(float)
    return obj.Batch(window(blocks.values), window(blocks.observed), present)


def validation_loss(config: StepConfig, problem: Problem, vector: Array) -> Float[Array, ""]:
    """Mean over all validation rows of the label's loss, each domain with its own E.

    Not a number when none of these rows has a label: then no epoch can be told from another.
    """

    def loss(network: Network, outputs: Array, batch: obj.Batch) -> Array:
        return obj.prediction(config.formulation, problem.layout, network, outputs, batch)

    losses, counts = _on_validation_rows(config, problem, vector, loss)
    return (losses * counts).sum() / counts.sum()


def validation_residuals(
    config: StepConfig, problem: Problem, vector: Array
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Sum of squared residuals of the label's first column on validation rows, and their count."""

    def squares(network: Network, outputs: Array, batch: obj.Batch) -> Array:
        seen = batch.observed[:, -1] * batch.present
        label = batch.values[:, -outputs.shape[1]]
        return (seen * (label - outputs[:, 0]) ** 2).sum()

    sums, counts = _on_validation_rows(config, problem, vector, squares)
    return sums.sum(), counts.sum()


def _on_validation_rows(
    config: StepConfig,
    problem: Problem,
    vector: Array,
    measure: Callable[[Network, Array, obj.Batch], Array],
) -> tuple[Float[Array, " domains"], Float[Array, " domains"]]:
    """A measure of the label's outputs in each domain, and the number of labelled rows there."""
    network = unravel(config.sizes, vector)
    layout, blocks = problem.layout, problem.blocks

    def one_domain(values: Array, observed: Array, present: Array) -> tuple[Array, Array]:
        inputs = layout.inputs(values, observed)
        env = network.infer(inputs, present, problem.weights.prior_precision).mean
        env = env * config.formulation.uses_environment
        outputs = network.predict(layout, problem.parents, inputs, env[None])[0].mean(0)
        count = (present * observed[:, -1]).sum()
        return measure(network, outputs, obj.Batch(values, observed, present)), count

    return jax.vmap(one_domain)(blocks.valid_values, blocks.valid_observed, blocks.valid_present)


def _judge(state: State, loss: Array, budget: Budget) -> State:
    """Remember the best weights so far; stop the lane when patience has run out."""
    better = state.active & (loss < state.best_loss) & budget.keeps_best
    counts = state.active & budget.may_stop & jnp.isfinite(loss)
    waited = jnp.where(better, 0, state.since_best + counts)
    return State(
        encoder=state.encoder,
        decoder=state.decoder,
        average=state.average,
        best=jnp.where(better, state.average, state.best),
        best_loss=jnp.where(better, loss, state.best_loss),
        since_best=waited,
        active=state.active & ~(budget.may_stop & (waited >= budget.patience)),
        broken=state.broken,
        key=state.key,
    )
