"""The host's side of a stage of training: compiled epochs, early stopping, checkpoints, Ctrl-C."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .._runtime.compile import BackgroundCompiler
from .._runtime.warning import InterruptedWarning, TrainingWarning
from . import lanes
from .checkpoint import Checkpoint, Saved
from .problem import Plan, Problem, State
from .step import Trainer


@dataclass(frozen=True)
class Trained:
    """The weights of the best epoch; a leading axis of lanes everywhere."""

    vectors: np.ndarray
    losses: np.ndarray  # validation loss of these weights, infinite where there was none
    history: np.ndarray  # [lanes, epochs, terms]
    interrupted: bool


def train(
    trainer: Trainer,
    problem: Problem,
    keys: jax.Array,
    plan: Plan,
    checkpoint: Checkpoint | None = None,
    on_progress: Callable[[int, float], None] = lambda epoch, loss: None,
    then: Sequence[Callable] = (),
    start: np.ndarray | None = None,
    warns: bool = True,
) -> Trained:
    """Train every lane of `problem` (all arrays have a leading lane axis).

    `then` are programs of (trainer, problem, weights) that are called next: they are compiled
    meanwhile. `start` [lanes, parameters] replaces the first of the initial weights. Ctrl-C ends
    training early with the best weights so far, and `warns`. A lane whose loss is no longer finite
    stops there, with its last good weights and a warning.
    """
    run = _Run.begin(trainer, problem, keys, plan, checkpoint, then, start)
    interrupted = False
    try:
        while run.epoch < plan.max_epochs and run.any_active():
            run.advance()
            on_progress(run.epoch, run.latest_loss())
            if checkpoint is not None:
                checkpoint.save_if_due(run.epoch, run.saved)
    except KeyboardInterrupt:
        if run.epoch == 0:
            raise
        interrupted = True
        if warns:
            warnings.warn(
                f"training was interrupted after {run.epoch} of {plan.max_epochs} epochs; "
                "the best weights so far are kept",
                InterruptedWarning,
                stacklevel=2,
            )
    if checkpoint is not None:
        checkpoint.save(run.epoch, run.saved())
    run.compiler.wait()
    return run.result(interrupted)


@dataclass
class _Run:
    """A training under way."""

    trainer: Trainer
    parts: Sequence[Problem]
    state: State
    plan: Plan
    history: np.ndarray  # [lanes, epochs, terms]
    compiler: BackgroundCompiler
    epoch: int = 0

    @staticmethod
    def begin(
        trainer: Trainer,
        problem: Problem,
        keys: jax.Array,
        plan: Plan,
        checkpoint: Checkpoint | None,
        then: Sequence[Callable],
        start: np.ndarray | None,
    ) -> "_Run":
        shapes = jax.eval_shape(jax.vmap(trainer.start), keys)
        blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        # Tracing holds the GIL, XLA compilation does not: the largest program is traced first.
        parts = lanes.divide(problem)
        lowered = lanes.lower_advance(trainer, parts[0], blank, plan)
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(lanes.start, trainer, keys)
            compiler = BackgroundCompiler((p, trainer, problem, blank.average) for p in then)
            lowered.compile()
            state = lanes.on_host(starting.result())
        if start is not None:
            state = _started(state, start)
        history = np.zeros((len(keys), 0, len(trainer.terms) + 1))
        run = _Run(trainer, parts, state, plan, history, compiler)
        found = None if checkpoint is None else checkpoint.load(run.saved())
        if found is not None:
            run.epoch, saved = found
            run.state, run.history = saved.state, np.asarray(saved.history)
        return run

    def any_active(self) -> bool:
        return bool(np.any(np.asarray(self.state.active)))

    def latest_loss(self) -> float:
        """Validation loss of the last epoch, over the lanes where it is a number."""
        latest = self.history[:, -1, -1]
        known = latest[np.isfinite(latest)]
        return float(known.mean()) if len(known) else float("nan")

    def advance(self) -> None:
        """A few epochs."""
        broken = np.asarray(self.state.broken)
        budgets = lanes.next_budgets(self.plan, self.epoch, lanes.calls_at_once(len(broken)))
        self.state, terms = lanes.advance(self.trainer, self.parts, self.state, budgets)
        self.history = np.concatenate([self.history, terms], axis=1)
        self.epoch += terms.shape[1]
        for lane in np.flatnonzero(np.asarray(self.state.broken) & ~broken):
            warnings.warn(
                f"the loss of member {lane} was not finite in the epochs up to {self.epoch}; it "
                "stops with its last good weights (a lower learning_rate may help)",
                TrainingWarning,
                stacklevel=3,
            )

    def saved(self) -> Saved:
        return Saved(state=self.state, history=np.asarray(self.history))

    def result(self, interrupted: bool) -> Trained:
        best: Any = self.state.best
        losses = np.asarray(self.state.best_loss, dtype=float)
        vectors = np.where(np.isfinite(losses)[:, None], best, self.state.average)
        return Trained(vectors, losses, self.history, interrupted)


def _started(state: State, start: np.ndarray) -> State:
    """The state with the first weights of every lane replaced."""

    def replaced(vectors: Any) -> np.ndarray:
        return np.concatenate([start, vectors[:, start.shape[1] :]], axis=1)

    return eqx.tree_at(
        lambda s: (s.vector, s.average, s.best),
        state,
        tuple(map(replaced, (state.vector, state.average, state.best))),
    )
