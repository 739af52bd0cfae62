"""The host's side of training: compiled epochs, events between them, early stopping, checkpoints.

Two events interrupt the epochs. At `plan.stack_at` the stacking weights are estimated on left-out
sources, and the label networks, shrunk towards their initial weights, continue on all sources. At
`plan.graph_at` the graph is read off, the filters are masked by it, and the encoder is frozen.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .._runtime.compile import BackgroundCompiler
from ..inference.stacking import LeftOut, stacking_weights, variance_inflation
from ..model.constants import SHRINK
from ..model.parameters import slices_of
from . import lanes
from .checkpoint import Checkpoint, Saved
from .crossfit import predict_left_out
from .problem import Plan, Problem, State
from .result import TrainingResult
from .step import Trainer
from .structure import Structure, measure, read_graphs


def train(
    trainer: Trainer,
    problem: Problem,
    keys: jax.Array,
    plan: Plan,
    checkpoint: Checkpoint | None = None,
    on_progress: Callable[[int, float], None] = lambda epoch, loss: None,
    then: Callable | None = None,
) -> TrainingResult:
    """Train every lane of `problem` (all arrays have a leading lane axis).

    `then` is a program of (trainer, problem, weights) that is called next: it is compiled
    meanwhile. Ctrl-C ends training early with the best weights so far. A lane whose loss is no
    longer finite stops there, with its last good weights and a warning.
    """
    run = _Run.begin(trainer, problem, keys, plan, checkpoint, then)
    interrupted = False
    try:
        while run.epoch < plan.max_epochs and run.any_active():
            if run.epoch == plan.stack_at and run.left_out is None:
                run.stack()
                run.shrink_label_networks()
            if run.epoch == plan.graph_at and run.structure is None:
                run.fix_graph()
            run.advance()
            on_progress(run.epoch, run.latest_loss())
            if checkpoint is not None:
                checkpoint.save_if_due(run.epoch, run.saved)
    except KeyboardInterrupt:
        if run.epoch == 0:
            raise
        interrupted = True
        if checkpoint is not None:
            checkpoint.save(run.epoch, run.saved())
        warnings.warn(
            f"training was interrupted after {run.epoch} of {plan.max_epochs} epochs; "
            "the best weights so far are kept",
            stacklevel=2,
        )
    if checkpoint is not None and not interrupted:
        checkpoint.remove()
    return run.result(interrupted)


@dataclass
class _Run:
    """A training under way."""

    trainer: Trainer
    problem: Problem
    state: State
    initial: np.ndarray  # the weights before the first step
    plan: Plan
    history: np.ndarray  # [lanes, epochs, terms]
    compiler: BackgroundCompiler
    inflation: np.ndarray
    left_out: LeftOut | None = None  # once the stacking weights are estimated
    structure: Structure | None = None  # once the graph is read off
    epoch: int = 0

    @staticmethod
    def begin(
        trainer: Trainer,
        problem: Problem,
        keys: jax.Array,
        plan: Plan,
        checkpoint: Checkpoint | None,
        then: Callable | None,
    ) -> "_Run":
        shapes = jax.eval_shape(jax.vmap(trainer.start), keys)
        blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        programs = [measure, predict_left_out if trainer.sizes.n_pooled else None, then]
        # Tracing holds the GIL, XLA compilation does not: the largest program is traced first.
        lowered = lanes.lower_advance(trainer, problem, blank, plan)
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(lanes.start, trainer, keys)
            calls = ((p, trainer, problem, blank.average) for p in programs if p)
            compiler = BackgroundCompiler(calls)
            lowered.compile()
            state = lanes.on_host(starting.result())
        history = np.zeros((len(keys), 0, len(trainer.terms) + 1))
        run = _Run(
            *(trainer, problem, state, state.vector, plan, history, compiler),
            inflation=np.ones(len(keys)),
        )
        found = None if checkpoint is None else checkpoint.load(run.saved())
        if found is not None:
            run._continue(*found)
        return run

    def any_active(self) -> bool:
        return bool(np.any(np.asarray(self.state.active)))

    def latest_loss(self) -> float:
        """Validation loss of the last epoch, over the lanes where it is a number."""
        latest = self.history[:, -1, -1]
        known = latest[np.isfinite(latest)]
        return float(known.mean()) if len(known) else float("nan")

    def advance(self) -> None:
        """The epochs up to the next event, or a few of them."""
        broken = np.asarray(self.state.broken)
        calls = lanes.calls_at_once(len(broken))
        budgets = lanes.next_budgets(self.plan, self.epoch, self.own_networks, calls)
        self.state, terms = lanes.advance(self.trainer, self.problem, self.state, budgets)
        self.history = np.concatenate([self.history, terms], axis=1)
        self.epoch += terms.shape[1]
        for lane in np.flatnonzero(np.asarray(self.state.broken) & ~broken):
            warnings.warn(
                f"the loss of member {lane} was not finite in the epochs up to {self.epoch}; it "
                "stops with its last good weights (a lower learning_rate may help)",
                stacklevel=3,
            )

    @property
    def own_networks(self) -> bool:
        """Whether the label has networks of its own beside the decoder."""
        return self.trainer.sizes.n_predictors > 0

    def stack(self) -> None:
        """Estimate the stacking weights; from now on every network is trained on every domain."""
        self.compiler.wait()
        self._restore_label_networks()
        self._stacked(*self._evaluate_left_out())
        self._reset_best()

    def shrink_label_networks(self) -> None:
        """Shrink the label networks towards their initial weights (shrink and perturb)."""
        if not self.plan.parts.shrink_restart:
            return
        kept = SHRINK[self.problem.layout.label_kind]
        self._move_label_networks(lambda weights: self.initial + kept * (weights - self.initial))
        self._reset_best()

    def _evaluate_left_out(self) -> tuple[LeftOut, np.ndarray, np.ndarray]:
        """Predictions of left-out sources and, alike for members of one group, the stacking
        weights and the variance inflation that follow."""
        sizes, groups = self.trainer.sizes, np.asarray(self.plan.groups)
        found = lanes.on_host(predict_left_out(self.trainer, self.problem, self.state.average))
        weights = {
            g: stacking_weights(
                found.losses[groups == g], sizes.n_predictors, sizes.n_pooled, self.plan.parts
            )
            for g in set(self.plan.groups)
        }
        inflation = np.ones(len(groups))
        if self.problem.layout.label_kind == "continuous":
            for lane, g in enumerate(groups):
                own = found.inflation[groups == g]
                inflation[lane] = variance_inflation(weights[g], sizes.n_predictors, own)
        return found, np.stack([weights[g] for g in self.plan.groups]), inflation

    def _stacked(self, left_out: LeftOut, weights: np.ndarray, inflation: np.ndarray) -> None:
        self.left_out, self.inflation = left_out, inflation
        self.problem = eqx.tree_at(
            lambda p: (p.in_fold, p.stack_weights),
            self.problem,
            (np.ones_like(self.problem.in_fold), weights),
        )

    def fix_graph(self, mask: bool = True) -> None:
        """Read one DAG per group off the current weights and mask the filters by it."""
        self.compiler.wait()
        if mask and self.own_networks:
            self._restore_label_networks()
        vectors = self.state.average
        adjacency, strength, _ = map(np.asarray, measure(self.trainer, self.problem, vectors))
        self.structure = read_graphs(adjacency, strength, self.plan)
        if mask:
            self._masked(self.structure)
            self._reset_best()

    def _masked(self, structure: Structure) -> None:
        """Mask the filters by the graph. The encoder is frozen if the label has its own networks:
        these and the decoder then share no weight that changes, and each can end at its best."""
        frozen = self.own_networks and self.plan.parts.freeze_encoder
        masks = structure.masks
        self.problem = eqx.tree_at(
            lambda p: (p.parents, p.encoder_frozen),
            self.problem,
            (masks, np.full(len(masks), frozen)),
        )

    def _reset_best(self) -> None:
        """Reset early stopping: the objective changed, earlier losses are not comparable."""
        self.state = eqx.tree_at(
            lambda s: (s.best, s.best_loss),
            self.state,
            (self.state.average, np.full_like(self.state.best_loss, np.inf)),
        )

    def _restore_label_networks(self) -> None:
        """The label networks of the best epoch: they overfit small tables before the graph has
        converged."""
        if not self.plan.parts.restore_best_midway:
            return
        validated = np.isfinite(np.asarray(self.state.best_loss))[:, None]
        self._move_label_networks(lambda weights: np.where(validated, self.state.best, weights))

    def _move_label_networks(self, move: Callable[[np.ndarray], np.ndarray]) -> None:
        """Other weights for the label networks, now and in the average."""
        own = self._in_label_networks(self.initial.shape[1])
        vector, average = (
            np.where(own, move(np.asarray(current)), current)
            for current in (self.state.vector, self.state.average)
        )
        self.state = eqx.tree_at(lambda s: (s.vector, s.average), self.state, (vector, average))

    def _in_label_networks(self, length: int) -> np.ndarray:
        slices = slices_of(self.trainer.sizes)
        return slices.mask(slices.label, length)

    def saved(self) -> Saved:
        """What a checkpoint holds: always as many arrays."""
        found = self.structure
        empty = np.zeros(self.problem.parents.shape, dtype=np.float32)
        return Saved(
            state=self.state,
            history=np.asarray(self.history),
            stacked=np.asarray(self.left_out is not None),
            left_out=LeftOut.nothing() if self.left_out is None else self.left_out,
            stack_weights=np.asarray(self.problem.stack_weights),
            inflation=self.inflation,
            graph_read=np.asarray(found is not None),
            adjacency=empty if found is None else found.adjacency,
            strength=empty if found is None else found.strength,
        )

    def _continue(self, epoch: int, saved: Saved) -> None:
        self.state, self.epoch, self.history = saved.state, epoch, np.asarray(saved.history)
        if saved.stacked:
            weights, inflation = np.asarray(saved.stack_weights), np.asarray(saved.inflation)
            self._stacked(lanes.on_host(saved.left_out), weights, inflation)
        if saved.graph_read:
            adjacency, strength = np.asarray(saved.adjacency), np.asarray(saved.strength)
            self.structure = read_graphs(adjacency, strength, self.plan)
            if self.plan.graph_at is not None:
                self._masked(self.structure)

    def result(self, interrupted: bool) -> TrainingResult:
        if self.plan.stack_at is not None and self.left_out is None:
            self.stack()
        if self.structure is None:
            self.fix_graph(mask=self.plan.graph_at is not None)
        assert self.structure is not None
        vectors = self._final_vectors()
        _, strength, on_env = map(np.asarray, measure(self.trainer, self.problem, vectors))
        return TrainingResult(
            vectors=vectors,
            parents=np.asarray(self.problem.parents),
            stack_weights=np.asarray(self.problem.stack_weights),
            inflation=self.inflation,
            left_out=self.left_out,
            structure=self.structure,
            strength=strength,
            env_strength=on_env,
            history=list(self.history),
            broken=np.asarray(self.state.broken),
            interrupted=interrupted,
        )

    def _final_vectors(self) -> np.ndarray:
        """The weights of the best epoch; encoder and decoder of the last where the graph is fixed
        and the label has its own networks, whose validation loss says nothing about them."""
        best: Any = self.state.best
        unvalidated = ~np.isfinite(np.asarray(self.state.best_loss))
        if not self.plan.parts.restore_best_at_end:
            unvalidated = np.ones_like(unvalidated)
        vectors = np.where(unvalidated[:, None], self.state.average, best)
        if self.own_networks and self.plan.graph_at is not None:
            own = self._in_label_networks(vectors.shape[1])
            vectors = np.where(own, vectors, self.state.average)
        return vectors
