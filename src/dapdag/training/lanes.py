"""Lanes divided among devices or cores, through compiled epochs.

A compiled program hardly uses more than one core, so lanes are divided into parts of one size, one
program for all. Lanes that do not divide evenly go one by one, several calls in a row: a core that
is done with one call takes what comes next of any lane. Where JAX has several devices the parts are
divided among these instead; a single accelerator takes all lanes at once.
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
    workers = _workers()
    return 1 if lanes <= workers or lanes % workers == 0 else min(workers, MOST_CALLS)


def divide(problem: Problem) -> list[Problem]:
    """The lanes in parts, each in the memory of the device that will train it."""
    lanes, devices = len(problem.smallest_batch), jax.devices()
    size = _lanes_per_part(lanes)
    return [
        jax.device_put(_lanes(problem, start, size), devices[k % len(devices)])
        for k, start in enumerate(range(0, lanes, size))
    ]


def advance(
    trainer: Trainer, parts: Sequence[Problem], state: State, budgets: Sequence[Budget]
) -> tuple[State, np.ndarray]:
    """All lanes through all budgets; the state then, and the history [lanes, epochs, terms]."""
    size = len(parts[0].smallest_batch)

    def part(data: Problem, state: State, budget: Budget) -> tuple[State, np.ndarray]:
        state, terms = on_host(_advance(trainer, data, state, budget))
        return state, terms[:, : int(budget.n_epochs)]

    def after(data: Problem, before: Future, budget: Budget) -> tuple[State, np.ndarray]:
        state, history = before.result()
        state, terms = part(data, state, budget)
        return state, np.concatenate([history, terms], axis=1)

    with ThreadPoolExecutor(min(_workers(), len(parts))) as pool:
        under_way = [
            pool.submit(part, data, _lanes(state, k * size, size), budgets[0])
            for k, data in enumerate(parts)
        ]
        # A part waits only for one that was submitted before it.
        for budget in budgets[1:]:
            under_way = [
                pool.submit(after, data, before, budget)
                for data, before in zip(parts, under_way, strict=True)
            ]
        done = [job.result() for job in under_way]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *done)


def lower_advance(trainer: Trainer, part: Problem, blank: State, plan: Plan) -> Any:
    """The program of one part, traced and ready to be compiled; all parts will find it made."""
    budget = next_budgets(plan, 0, calls=1)[0]
    program: Any = _advance
    return program.lower(trainer, part, _lanes(blank, 0, len(part.smallest_batch)), budget)


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
    workers = _workers()
    if workers == 1:
        return lanes
    return lanes // workers if lanes % workers == 0 else 1


def _lanes(tree: T, start: int, size: int) -> T:
    return jax.tree.map(lambda leaf: leaf[start : start + size], tree)


def _workers() -> int:
    """How many parts are computed at a time: one per device, or per core of the only one."""
    devices = jax.devices()
    if len(devices) > 1 or devices[0].platform != "cpu":
        return len(devices)
    return os.cpu_count() or 1
