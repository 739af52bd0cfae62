"""One step of the paper's algorithm, as a compiled function of one lane.

Select a domain with probability proportional to its size, draw a batch size not larger than the
domain, take a window of its shuffled rows, move the encoder, then the decoder.
"""

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..model import Network, Sizes
from ..model import objective as obj
from ..model.constants import AVERAGE_STEPS
from ..model.formulation import Formulation
from ..model.parameters import slices_of, unravel
from .optimiser import Moments, clipped
from .problem import Problem, State, initial_state
from .random import normal_numbers, uniform_numbers
from .schedule import Schedule


@dataclass(frozen=True)
class Trainer:
    """How lanes are trained: what is compiled in. All else is data and may differ between lanes.

    A subclass trains by other steps, with weights of its own after those of the network.
    """

    sizes: Sizes
    formulation: Formulation
    batch_rows: int
    decoder_rows: int
    alternating: bool
    average_steps: float = field(default=AVERAGE_STEPS, kw_only=True)

    @property
    def terms(self) -> tuple[str, ...]:
        """What a step reports, the total last."""
        return obj.TERMS

    def start(self, key: PRNGKeyArray) -> State:
        return initial_state(self.sizes, key)

    def loss(
        self,
        problem: Problem,
        weights: obj.Weights,
        network: Network,
        domain: Array,
        batch: obj.Batch,
        normal: Float[Array, " dim"],
    ) -> tuple[Float[Array, ""], Float[Array, " terms"]]:
        """What a step descends, and its terms."""
        return obj.objective(
            *(self.formulation, weights, network, problem.layout, problem.parents, batch),
            *(self.decoder_rows, normal, problem.in_fold[domain]),
        )

    def trained(self, length: int) -> Bool[Array, " parameters"]:
        """Which weights of a vector of this length a step moves."""
        return jnp.ones(length, dtype=bool)

    def validation_loss(
        self, problem: Problem, network: Network, batch: obj.Batch
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Mean loss of one domain's validation rows, which early stopping follows, and its
        weight: here that of the label."""
        layout = problem.layout
        inputs = layout.inputs(batch.values, batch.observed)
        env = self.environment(problem, network, batch.values, batch.observed, batch.present)
        means = network.label_means(layout, problem.parents, inputs, env[None])[0]
        stacked = jnp.tensordot(problem.stack_weights, means, 1)
        loss = obj.loss_of_means(self.formulation, layout, network, stacked, batch)
        return loss, (batch.present * batch.observed[:, -1]).sum()

    def step(
        self, problem: Problem, state: State, progress: Array
    ) -> tuple[State, Float[Array, " terms"]]:
        return _one_step(self, problem, state, progress)

    def network(self, vector: Array) -> Network:
        return unravel(self.sizes, vector)

    def environment(
        self,
        problem: Problem,
        network: Network,
        values: Float[Array, "rows columns"],
        observed: Float[Array, "rows variables"],
        present: Float[Array, " rows"],
    ) -> Float[Array, " dim"]:
        """Posterior mean of E given rows of one domain; 0 for a method without environments."""
        inputs = problem.layout.inputs(values, observed)
        q = network.infer(problem.layout, inputs, present, problem.weights.prior_precision)
        return q.mean * self.formulation.uses_environment


def _one_step(
    trainer: Trainer, problem: Problem, state: State, progress: Array
) -> tuple[State, Float[Array, " terms"]]:
    dim = trainer.sizes.env_dim
    uniform = uniform_numbers(state.key, state.moments.count, 3 + 2 * dim)
    domain, batch = _draw_batch(trainer, problem, uniform[:3])
    normal = normal_numbers(uniform[3 : 3 + dim], uniform[3 + dim :])
    weights = eqx.tree_at(
        lambda w: w.acyclicity,
        problem.weights,
        problem.weights.acyclicity * problem.schedule.penalty_factor(progress),
    )

    def gradient_at(vector: Array) -> tuple[Array, Array]:
        def loss(vector: Array) -> tuple[Array, Array]:
            return trainer.loss(problem, weights, trainer.network(vector), domain, batch, normal)

        gradient, terms = jax.grad(loss, has_aux=True)(vector)
        return clipped(gradient, slices.encoder.stop), terms

    length = state.vector.shape[0]
    slices, place = slices_of(trainer.sizes), jnp.arange(length)
    in_encoder = place < slices.encoder.stop
    in_label = (place >= slices.label.start) & (place < slices.size)
    rate = jnp.where(in_label, problem.schedule.label_rate, 1.0)
    gradient, terms = gradient_at(state.vector)
    if trainer.alternating:
        # The decoder's gradient is taken at the weights that the encoder's step leads to.
        halfway = moved(problem.schedule, state, gradient, progress, rate)[0]
        halfway = jnp.where(in_encoder, halfway, state.vector)
        second, terms = gradient_at(halfway)
        gradient = jnp.where(in_encoder, gradient, second)
    vector, moments = moved(problem.schedule, state, gradient, progress, rate)
    vector = jnp.where(trainer.trained(length), vector, state.vector)
    return accepted(state, vector, moments, terms[-1], trainer.average_steps), terms


def moved(
    schedule: Schedule,
    state: State,
    gradient: Array,
    progress: Array,
    multiplier: Array | float = 1.0,
) -> tuple[Float[Array, " parameters"], Moments]:
    """The weights one step of AdamW against the gradient, and the moments then.

    `multiplier` scales the learning rate of single weights.
    """
    moments, direction = state.moments.updated(gradient)
    rate = multiplier * schedule.learning_rate(progress)
    return state.vector - rate * (direction + schedule.decay * state.vector), moments


def accepted(
    state: State,
    vector: Array,
    moments: Moments,
    total: Float[Array, ""],
    average_steps: float = AVERAGE_STEPS,
) -> State:
    """The state after a step, or as it was if a number is not finite or the lane has stopped."""
    finite = jnp.isfinite(total + jnp.sum(vector))
    accept = state.active & finite
    # The average takes the weights before the move: of those the loss is known to be finite.
    average = state.average + (state.vector - state.average) / average_steps
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


def _draw_batch(
    trainer: Trainer, problem: Problem, uniform: Float[Array, "3"]
) -> tuple[Array, obj.Batch]:
    """Rows of one domain: chosen by size, as many as a random batch size, a random window.

    Where rows have weights, a domain's size is their sum, and they stand in `present`.
    """
    blocks = problem.blocks
    reached = jnp.cumsum(blocks.mass) / blocks.mass.sum()
    domain = jnp.sum(reached <= uniform[0])
    rows = blocks.n_rows[domain]
    largest = jnp.minimum(rows, trainer.batch_rows)
    smallest = jnp.maximum(jnp.ceil(problem.smallest_batch * largest).astype(int), 1)
    size = smallest + (uniform[1] * (largest - smallest + 1)).astype(int)
    start = (uniform[2] * rows).astype(int)
    return domain, obj.Batch(*blocks.window(domain, start, trainer.batch_rows, size))
