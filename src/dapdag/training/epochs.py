"""Epochs of one lane, compiled: steps, then the validation loss, which early stopping follows."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model import objective as obj
from .problem import Budget, Problem, State
from .step import Trainer


def run_epochs(
    trainer: Trainer, problem: Problem, state: State, budget: Budget, history_rows: int
) -> tuple[State, Float[Array, "epochs terms"]]:
    """Train one lane for `budget.n_epochs` ≤ `history_rows` epochs.

    Returns the terms of the loss, averaged over each epoch's steps, and last the validation loss.
    """

    def epoch(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, history = carry
        state, terms = _one_epoch(trainer, problem, state, budget, budget.first_epoch + i)
        loss = validation_loss(trainer, problem, state.average)
        state = _keep_best(state, loss, budget)
        return state, history.at[i].set(jnp.append(terms, loss))

    empty = jnp.full((history_rows, len(trainer.terms) + 1), jnp.nan)
    return jax.lax.fori_loop(0, budget.n_epochs, epoch, (state, empty))


def _one_epoch(
    trainer: Trainer, problem: Problem, state: State, budget: Budget, epoch: Array
) -> tuple[State, Float[Array, " terms"]]:
    def step(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, total = carry
        progress = (epoch + i / budget.steps) / budget.max_epochs
        state, terms = trainer.step(problem, state, progress)
        return state, total + terms

    zero = jnp.zeros(len(trainer.terms))
    state, total = jax.lax.fori_loop(0, budget.steps, step, (state, zero))
    return state, total / budget.steps


def validation_loss(trainer: Trainer, problem: Problem, vector: Array) -> Float[Array, ""]:
    """Mean over all validation rows, each domain with its own E.

    Not a number when none of these rows counts (a label is asked for and none has one): then no
    epoch can be told from another.
    """
    network = trainer.network(vector)
    blocks = problem.blocks

    def one_domain(values: Array, observed: Array, present: Array) -> tuple[Array, Array]:
        return trainer.validation_loss(problem, network, obj.Batch(values, observed, present))

    losses, counts = jax.vmap(one_domain)(
        blocks.valid_values, blocks.valid_observed, blocks.valid_present
    )
    counts = counts * blocks.valid_weight
    return (losses * counts).sum() / counts.sum()


def _keep_best(state: State, loss: Array, budget: Budget) -> State:
    """Remember the best weights so far; stop the lane when patience has run out."""
    better = state.active & (loss < state.best_loss)
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
