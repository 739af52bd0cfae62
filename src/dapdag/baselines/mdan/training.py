"""Steps of MDAN for the training of `dapdag.training`: some rows of every domain in each step."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from ...model import Network
from ...model import objective as obj
from ...model.parameters import slices_of, unravel
from ...training.optimiser import clipped
from ...training.problem import Problem, State, initial_state, state_from
from ...training.random import uniform_numbers
from ...training.step import Trainer, accepted, moved
from .network import TERMS, Bound, Critics, objective

# Rows of each domain in a step: with nine sources a step still sees more labels than one of ours.
ROWS = 32


class MDANProblem(Problem):
    """What a lane is trained on, and the bound that it minimises."""

    bound: Bound


@dataclass(frozen=True)
class MDANTrainer(Trainer):
    """The weights of the critics follow those of the network; the last domain is the target."""

    n_sources: int

    @property
    def terms(self) -> tuple[str, ...]:
        return TERMS

    def start(self, key: PRNGKeyArray) -> State:
        key, k_critics = jax.random.split(key)
        state = initial_state(self.sizes, key)
        zeros, unravel_critics = ravel_pytree(self._no_critics())
        drawn = unravel_critics(jax.random.normal(k_critics, zeros.shape))
        start = jnp.concatenate([state.vector, ravel_pytree(drawn.scaled())[0]])
        return state_from(start, jax.random.wrap_key_data(state.key))

    def network(self, vector: Array) -> Network:
        return unravel(self.sizes, vector[: slices_of(self.sizes).size])

    def critics(self, vector: Array) -> Critics:
        return ravel_pytree(self._no_critics())[1](vector[slices_of(self.sizes).size :])

    def step(  # type: ignore[override]
        self, problem: MDANProblem, state: State, progress: Array
    ) -> tuple[State, Float[Array, " terms"]]:
        uniform = uniform_numbers(state.key, state.moments.count, self.n_sources + 1)
        batches = draw_batches(problem, uniform, min(ROWS, self.batch_rows))

        def loss(vector: Array) -> tuple[Array, Array]:
            return objective(
                self.formulation,
                self.network(vector),
                self.critics(vector),
                problem.layout,
                batches,
                problem.bound,
            )

        gradient, terms = jax.grad(loss, has_aux=True)(state.vector)
        gradient = clipped(gradient, slices_of(self.sizes).size)  # networks, critics
        # One learning rate for all: features that learn faster than the critics are not aligned.
        vector, moments = moved(problem.schedule, state, gradient, progress)
        return accepted(state, vector, moments, terms[-1]), terms

    def _no_critics(self) -> Critics:
        return Critics.zeros(self.sizes.n_predictors, self.n_sources, self.sizes.hidden)


def draw_batches(problem: Problem, uniform: Float[Array, " domains"], rows: int) -> obj.Batch:
    """A window of the shuffled rows of each of the first domains, one per random number."""
    blocks = problem.blocks

    def window(domain: Array, number: Array) -> obj.Batch:
        n = blocks.n_rows[domain]
        start = (number * n).astype(int)
        return obj.Batch(*blocks.window(domain, start, rows))

    return jax.vmap(window)(jnp.arange(uniform.shape[0]), uniform)
