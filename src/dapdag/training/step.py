"""One epoch of the paper's algorithm, as a compiled function of one lane.

For each step: select a domain with probability proportional to its size, draw a batch size not
larger than the domain, take a window of its shuffled rows, move the encoder, then the decoder.
After the steps of an epoch: the label's loss on the validation rows of all sources.
"""

from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ..data.blocks import Blocks
from ..model import Layout, Network, Sizes
from ..model import objective as obj
from ..model.network import unravel
from .optimiser import Moments, clipped
from .random import normal_numbers, uniform_numbers
from .schedule import Schedule

# Steps over which weights are averaged before they are judged: single steps on a few rows of one
# domain jump too much for the validation loss to tell epochs apart.
HORIZON = 200.0


@dataclass(frozen=True)
class StepConfig:
    """What is compiled in. Everything else is data and may differ between lanes.

    A subclass trains by other steps, with weights of its own after those of the network.
    """

    sizes: Sizes
    formulation: obj.Formulation
    batch_rows: int
    decoder_rows: int
    alternating: bool
    horizon: float = field(default=HORIZON, kw_only=True)

    @property
    def terms(self) -> tuple[str, ...]:
        """What a step reports, the total last."""
        return obj.TERMS

    def start(self, key: PRNGKeyArray) -> "State":
        return initial_state(self.sizes, key)

    def step(
        self, problem: "Problem", state: "State", progress: Array
    ) -> tuple["State", Float[Array, " terms"]]:
        return _one_step(self, problem, state, progress)

    def network(self, vector: Array) -> Network:
        return unravel(self.sizes, vector)


class Problem(eqx.Module):
    """What a lane is trained on and how; `lessons` and `trust` change once, when the
    votes are judged, `parents` and `rests` when the graph settles."""

    blocks: Blocks
    layout: Layout
    parents: Array
    weights: obj.Weights
    schedule: Schedule
    smallest_batch: Array  # as a share of the domain
    lessons: Array  # [domains, votes], 1 where a vote learns from a domain
    trust: Array  # [votes], how much each counts in a prediction; sums to 1
    rests: Array  # whether the encoder has stopped learning


class State(eqx.Module):
    """All that changes while a lane trains. Weights are one vector, the encoder's first."""

    vector: Float[Array, " parameters"]
    moments: Moments
    average: Float[Array, " parameters"]  # running mean of the latest weights
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
    keeps_best: Array


def initial_state(sizes: Sizes, key: PRNGKeyArray) -> State:
    key, k_init = jax.random.split(key)
    return state_from(ravel_pytree(Network.init(sizes, k_init))[0], key)


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

    empty = jnp.full((history_rows, len(config.terms) + 1), jnp.nan)
    return jax.lax.fori_loop(0, budget.n_epochs, epoch, (state, empty))


def _one_epoch(
    config: StepConfig, problem: Problem, state: State, budget: Budget, epoch: Array
) -> tuple[State, Float[Array, " terms"]]:
    def step(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, total = carry
        progress = (epoch + i / budget.steps) / budget.max_epochs
        state, terms = config.step(problem, state, progress)
        return state, total + terms

    zero = jnp.zeros(len(config.terms))
    state, total = jax.lax.fori_loop(0, budget.steps, step, (state, zero))
    return state, total / budget.steps


def _one_step(
    config: StepConfig, problem: Problem, state: State, progress: Array
) -> tuple[State, Float[Array, " terms"]]:
    dim = config.sizes.env_dim
    uniform = uniform_numbers(state.key, state.moments.count, 3 + 2 * dim)
    domain, batch = _draw_batch(config, problem, uniform[:3])
    normal = normal_numbers(uniform[3 : 3 + dim], uniform[3 + dim :])
    weights = eqx.tree_at(
        lambda w: w.acyclicity,
        problem.weights,
        problem.weights.acyclicity * problem.schedule.dag_factor(progress),
    )

    def gradient_at(vector: Array) -> tuple[Array, Array]:
        def loss(vector: Array) -> tuple[Array, Array]:
            return obj.objective(
                config.formulation,
                weights,
                config.network(vector),
                problem.layout,
                problem.parents,
                batch,
                config.decoder_rows,
                normal,
                problem.lessons[domain],
            )

        gradient, terms = jax.grad(loss, has_aux=True)(vector)
        return clipped(gradient, in_encoder), terms

    in_encoder = jnp.arange(state.vector.shape[0]) < encoder_size(config.sizes)
    # The label's own networks make haste.
    apart = in_predictor(config.sizes, state.vector.shape[0])
    pace = jnp.where(apart, problem.schedule.haste, 1.0)
    gradient, terms = gradient_at(state.vector)
    if config.alternating:
        # The decoder's step is taken where the encoder's step has led to.
        halfway = moved(problem.schedule, state, gradient, progress, pace)[0]
        halfway = jnp.where(in_encoder, halfway, state.vector)
        second, terms = gradient_at(halfway)
        gradient = jnp.where(in_encoder, gradient, second)
    vector, moments = moved(problem.schedule, state, gradient, progress, pace)
    vector = jnp.where(in_encoder & problem.rests, state.vector, vector)
    return accepted(state, vector, moments, terms[-1], config.horizon), terms


def moved(
    schedule: Schedule,
    state: State,
    gradient: Array,
    progress: Array,
    pace: Array | float = 1.0,
) -> tuple[Float[Array, " parameters"], Moments]:
    """The weights one step of AdamW against the gradient, and the moments then.

    `pace` is how much faster than the rest a weight learns.
    """
    moments, direction = state.moments.updated(gradient)
    rate = pace * schedule.learning_rate(progress)
    return state.vector - rate * (direction + schedule.decay * state.vector), moments


def accepted(
    state: State,
    vector: Array,
    moments: Moments,
    total: Float[Array, ""],
    horizon: float = HORIZON,
) -> State:
    """The state after a step, or as it was if a number is not finite or the lane has stopped."""
    finite = jnp.isfinite(total + jnp.sum(vector))
    accept = state.active & finite
    # The average takes the weights before the move: of those the loss is known to be finite.
    average = state.average + (state.vector - state.average) / horizon
    keep = lambda new, old: jnp.where(accept, new, old)  # noqa: E731
    return State(
        vector=keep(vector, state.vector),
        moments=jax.tree.map(keep, moments, state.moments),
        average=keep(average, state.average),
        best=state.best,
        best_loss=state.best_loss,
        since_best=state.since_best,
        active=accept,
        broken=state.broken | (state.active & ~finite),
        key=state.key,
    )


def encoder_size(sizes: Sizes) -> int:
    """How many of all parameters are the encoder's; they come first."""
    return _count(jax.eval_shape(lambda: Network.zeros(sizes).encoder))


def network_size(sizes: Sizes) -> int:
    """How many parameters the network has."""
    return _count(jax.eval_shape(lambda: Network.zeros(sizes)))


def in_predictor(sizes: Sizes, length: int) -> np.ndarray:
    """Which of a vector's parameters are those of the label's own networks, the network's last."""
    own = _count(jax.eval_shape(lambda: Network.zeros(sizes).predictor))
    place = np.arange(length) - network_size(sizes)
    return (-own <= place) & (place < 0)


def _count(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def _draw_batch(
    config: StepConfig, problem: Problem, uniform: Float[Array, "3"]
) -> tuple[Array, obj.Batch]:
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
    return domain, obj.Batch(window(blocks.values), window(blocks.observed), present)


def validation_loss(config: StepConfig, problem: Problem, vector: Array) -> Float[Array, ""]:
    """Mean over all validation rows of the label's loss, each domain with its own E.

    Not a number when none of these rows has a label: then no epoch can be told from another.
    """
    network = config.network(vector)
    layout, blocks = problem.layout, problem.blocks

    def one_domain(values: Array, observed: Array, present: Array) -> tuple[Array, Array]:
        inputs = layout.inputs(values, observed)
        env = network.infer(layout, inputs, present, problem.weights.prior_precision).mean
        env = env * config.formulation.uses_environment
        votes = network.predict(layout, problem.parents, inputs, env[None])[0]
        outputs = jnp.tensordot(problem.trust, votes, 1)
        batch = obj.Batch(values, observed, present)
        loss = obj.prediction(config.formulation, layout, network, outputs, batch)
        return loss, (present * observed[:, -1]).sum()

    losses, counts = jax.vmap(one_domain)(
        blocks.valid_values, blocks.valid_observed, blocks.valid_present
    )
    return (losses * counts).sum() / counts.sum()


def _judge(state: State, loss: Array, budget: Budget) -> State:
    """Remember the best weights so far; stop the lane when patience has run out."""
    better = state.active & (loss < state.best_loss) & budget.keeps_best
    counts = state.active & budget.may_stop & jnp.isfinite(loss)
    waited = jnp.where(better, 0, state.since_best + counts)
    return State(
        vector=state.vector,
        moments=state.moments,
        average=state.average,
        best=jnp.where(better, state.average, state.best),
        best_loss=jnp.where(better, loss, state.best_loss),
        since_best=waited,
        active=state.active & ~(budget.may_stop & (waited >= budget.patience)),
        broken=state.broken,
        key=state.key,
    )
