"""Lanes divided among the cores, through compiled epochs.

A compiled program hardly uses more than one core, so lanes are divided into parts of one size, one
program for all. Lanes that do not divide evenly go one by one, several calls in a row: a core that
is done with one call takes what comes next of any lane.
"""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._runtime.compile import Effort, jit
from .epochs import run_epochs
from .problem import Budget, Plan, Problem, State
from .step import Trainer

T = TypeVar("T")

EPOCHS_PER_CALL = 10
# Progress, checkpoints and Ctrl-C wait for this many calls at most.
MOST_CALLS = 4


def next_budgets(plan: Plan, epoch: int, calls: int) -> list[Budget]:
    """The budgets of the next calls."""
    return [
        Budget(
            first_epoch=jnp.int32(first),
            n_epochs=jnp.int32(min(EPOCHS_PER_CALL, plan.max_epochs - first)),
            max_epochs=jnp.float32(plan.max_epochs),
            steps=jnp.int32(plan.steps),
            patience=jnp.int32(plan.patience),
            may_stop=jnp.bool_(first >= plan.first_stop),
        )
        for first in range(epoch, plan.max_epochs, EPOCHS_PER_CALL)[:calls]
    ]


def calls_at_once(lanes: int) -> int:
    """How many calls in a row keep all cores busy, when lanes do not divide evenly among them."""
    cores = _cores()
    return 1 if lanes <= cores or lanes % cores == 0 else min(cores, MOST_CALLS)


def advance(
    trainer: Trainer, problem: Problem, state: State, budgets: Sequence[Budget]
) -> tuple[State, np.ndarray]:
    """All lanes through all budgets; the state then, and the history [lanes, epochs, terms]."""
    size = _lanes_per_part(len(state.active))
    starts = range(0, len(state.active), size)

    def part(start: int, state: State, budget: Budget) -> tuple[State, np.ndarray]:
        data = _lanes(problem, start, size)
        state, terms = on_host(_advance(trainer, data, state, budget))
        return state, terms[:, : int(budget.n_epochs)]

    def after(start: int, before: Future, budget: Budget) -> tuple[State, np.ndarray]:
        state, history = before.result()
        state, terms = part(start, state, budget)
        return state, np.concatenate([history, terms], axis=1)

    with ThreadPoolExecutor(min(_cores(), len(starts))) as pool:
        under_way = [
            pool.submit(part, start, _lanes(state, start, size), budgets[0]) for start in starts
        ]
        # A part waits only for one that was submitted before it.
        for budget in budgets[1:]:
            under_way = [
                pool.submit(after, start, before, budget)
                for start, before in zip(starts, under_way, strict=True)
            ]
        parts = [job.result() for job in under_way]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def lower_advance(trainer: Trainer, problem: Problem, blank: State, plan: Plan) -> Any:
    """The program of one part, traced and ready to be compiled; all parts will find it made."""
    size = _lanes_per_part(len(blank.active))
    budget = next_budgets(plan, 0, calls=1)[0]
    program: Any = _advance
    return program.lower(trainer, _lanes(problem, 0, size), _lanes(blank, 0, size), budget)


@jit(Effort.QUICK_TO_COMPILE)
def start(trainer: Trainer, keys: jax.Array) -> State:
    """The states of all lanes before the first step."""
    return jax.vmap(trainer.start)(keys)


def on_host(tree: Any) -> Any:
    """As NumPy arrays: cutting and joining lanes there compiles nothing."""
    return jax.tree.map(np.asarray, tree)


@jit()
def _advance(
    trainer: Trainer, problem: Problem, state: State, budget: Budget
) -> tuple[State, jax.Array]:
    def one_lane(problem: Problem, state: State) -> tuple[State, jax.Array]:
        return run_epochs(trainer, problem, state, budget, EPOCHS_PER_CALL)

    if len(state.active) > 1:
        return jax.vmap(one_lane)(problem, state)
    # A single lane reads its batches as slices; batched, they would be gathers, which are slower.
    alone = jax.tree.map(lambda leaf: leaf[0], (problem, state))
    return jax.tree.map(lambda leaf: leaf[None], one_lane(*alone))


def _lanes_per_part(lanes: int) -> int:
    cores = _cores()
    return lanes // cores if lanes % cores == 0 else 1


def _lanes(tree: T, start: int, size: int) -> T:
    return jax.tree.map(lambda leaf: leaf[start : start + size], tree)


def _cores() -> int:
    return os.cpu_count() or 1
