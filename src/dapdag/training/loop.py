"""The host's side of training: calls the compiled epochs, watches, stops, reads the graph off."""

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._runtime.compile import Ahead, compiled, compiled_plainly
from ..graph import DAG, extract_dag
from ..inference.parts import ALL, Parts
from ..inference.stacking import Unseen, growth_at, trust_of
from ..model.network import mean_strength
from .checkpoint import Checkpoint
from .crossfit import left_out
from .step import Budget, Problem, State, StepConfig, in_predictor, run_epochs

T = TypeVar("T")

EPOCHS_PER_CALL = 10
# Progress, checkpoints and Ctrl-C wait for this many calls at most.
MOST_CALLS = 4
STRENGTH_ROWS = 256
# What is left of the way the label's networks had come when they are shown all sources: one that
# goes on from what a part of them taught it does worse on new ones than one that saw all at once.
KEPT_WAY = {"continuous": 0.5, "binary": 0.25, "categorical": 0.25}


@dataclass(frozen=True)
class Plan:
    """How long to train and how to read the graph.

    Attributes
    ----------
    judge : epoch at which the label's votes are judged by the sources that they have not seen; then
        all of them learn from all sources. None if none is kept from seeing any.
    settle : epoch at which the graph is read off and the filters are masked by it; None keeps
        the paper's soft constraint to the end.
    threshold : an edge needs at least this strength (standard deviations of the child per
        standard deviation of the parent).
    groups : for each lane, the estimator that it is a member of: members share one graph.
    parts : which mechanisms are on; all but in `benchmarks/parts.py`.
    """

    max_epochs: int
    steps: int
    patience: int
    first_stop: int
    judge: int | None
    settle: int | None
    threshold: float
    groups: tuple[int, ...]
    parts: Parts = ALL


@dataclass(frozen=True)
class Structure:
    """What was read off when the graph settled, per lane."""

    adjacency: np.ndarray
    strength: np.ndarray
    dags: list[DAG]


@dataclass(frozen=True)
class TrainingResult:
    """Weights and what is known about how they came about; a leading axis of lanes everywhere."""

    vectors: np.ndarray
    parents: np.ndarray
    trust: np.ndarray  # of the label's votes
    growth: np.ndarray  # of the label's squared error from a site that was seen to one that was not
    unseen: Unseen | None  # how sources were foretold by votes that had not seen them
    structure: Structure
    strength: np.ndarray  # of the edges, with the final weights
    env_strength: np.ndarray
    history: list[np.ndarray]  # per lane [epochs, terms]
    broken: np.ndarray
    interrupted: bool


def train(
    config: StepConfig,
    problem: Problem,
    keys: jax.Array,
    plan: Plan,
    checkpoint: Checkpoint | None = None,
    on_progress: Callable[[int, float], None] = lambda epoch, loss: None,
    then: Callable | None = None,
) -> TrainingResult:
    """Train every lane of `problem` (all arrays have a leading lane axis).

    `then` is a program of (config, problem, weights) that is called next: it is compiled meanwhile.
    Ctrl-C ends training early with the best weights so far. A lane whose loss is no longer finite
    stops there, with its last good weights and a warning.
    """
    run = _Run.begin(config, problem, keys, plan, checkpoint, then)
    interrupted = False
    try:
        while run.epoch < plan.max_epochs and run.any_active():
            if run.epoch == plan.judge and run.unseen is None:
                run.judge()
                run.begin_anew()
            if run.epoch == plan.settle and run.structure is None:
                run.settle()
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

    config: StepConfig
    problem: Problem
    state: State
    beginning: np.ndarray  # the weights before the first step
    plan: Plan
    history: np.ndarray  # [lanes, epochs, terms]
    ahead: Ahead
    growth: np.ndarray
    unseen: Unseen | None = None  # once the votes are judged
    structure: Structure | None = None
    epoch: int = 0

    @staticmethod
    def begin(
        config: StepConfig,
        problem: Problem,
        keys: jax.Array,
        plan: Plan,
        checkpoint: Checkpoint | None,
        then: Callable | None,
    ) -> "_Run":
        shapes = jax.eval_shape(jax.vmap(config.start), keys)
        blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        programs = [measure, left_out if config.sizes.n_pooled else None, then]
        # Reading programs takes Python's lock, compiling them does not: the longest is read first.
        lowered = _lower_advance(config, problem, blank, plan)
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(_start, config, keys)
            ahead = Ahead((p, config, problem, blank.average) for p in programs if p)
            lowered.compile()
            state = _on_host(starting.result())
        history = np.zeros((len(keys), 0, len(config.terms) + 1))
        run = _Run(config, problem, state, state.vector, plan, history, ahead, np.ones(len(keys)))
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
        broken = np.asarray(self.state.broken)
        calls = _calls_at_once(len(broken), os.cpu_count() or 1)
        budgets = _budgets(self.plan, self.epoch, self.apart, calls)
        self.state, terms = _advance_lanes(self.config, self.problem, self.state, budgets)
        self.history = np.concatenate([self.history, terms], axis=1)
        self.epoch += terms.shape[1]
        for lane in np.flatnonzero(np.asarray(self.state.broken) & ~broken):
            warnings.warn(
                f"the loss of member {lane} was not finite in the epochs up to {self.epoch}; it "
                "stops with its last good weights (a lower learning_rate may help)",
                stacklevel=3,
            )

    def judge(self) -> None:
        """Find how far to trust E; from now on every vote learns from every domain."""
        self.ahead.wait()
        self._restore_predictors()
        self._judged(*self._verdict())
        self._seek_anew()

    def begin_anew(self) -> None:
        """Take the label's networks back towards their beginning, from where they see all."""
        if not self.plan.parts.shrink_restart:
            return
        kept = KEPT_WAY[self.problem.layout.label_kind]
        self._move_predictors(lambda weights: self.beginning + kept * (weights - self.beginning))
        self._seek_anew()

    def settle(self, mask: bool = True) -> None:
        """Read one DAG per group off the current weights and mask the filters by it."""
        self.ahead.wait()
        if mask and self.apart:
            self._restore_predictors()
        vectors = self.state.average
        adjacency, strength, _ = map(np.asarray, measure(self.config, self.problem, vectors))
        self.structure = _read_graphs(adjacency, strength, self.plan)
        if mask:
            self._settled(self.structure)
            self._seek_anew()

    def _seek_anew(self) -> None:
        """The best weights are sought from here: what changed makes former losses another's."""
        self.state = eqx.tree_at(
            lambda s: (s.best, s.best_loss),
            self.state,
            (self.state.average, np.full_like(self.state.best_loss, np.inf)),
        )

    @property
    def apart(self) -> bool:
        """Whether the label has networks of its own beside the decoder."""
        return self.config.sizes.n_predictors > 0

    def _restore_predictors(self) -> None:
        """The label's networks as they were at their best: small tables are soon learned by heart,
        while the graph needs its time."""
        if not self.plan.parts.restore_best_midway:
            return
        judged = np.isfinite(np.asarray(self.state.best_loss))[:, None]
        self._move_predictors(lambda weights: np.where(judged, self.state.best, weights))

    def _move_predictors(self, move: Callable[[np.ndarray], np.ndarray]) -> None:
        """Other weights for the label's own networks, now and in the average."""
        own = in_predictor(self.config.sizes, self.beginning.shape[1])
        vector, average = (
            np.where(own, move(np.asarray(current)), current)
            for current in (self.state.vector, self.state.average)
        )
        self.state = eqx.tree_at(lambda s: (s.vector, s.average), self.state, (vector, average))

    def _verdict(self) -> tuple[Unseen, np.ndarray, np.ndarray]:
        """How sources were foretold, and what follows, alike for members of one group: how much
        each lane's votes count, and how errors grow."""
        sizes, groups = self.config.sizes, np.asarray(self.plan.groups)
        found = _on_host(left_out(self.config, self.problem, self.state.average))
        trust = {
            g: trust_of(
                found.losses[groups == g], sizes.n_predictors, sizes.n_pooled, self.plan.parts
            )
            for g in set(self.plan.groups)
        }
        grown = np.ones(len(groups))
        if self.problem.layout.label_kind == "continuous":
            for lane, g in enumerate(groups):
                grown[lane] = growth_at(trust[g], sizes.n_predictors, found.growth[groups == g])
        return found, np.stack([trust[g] for g in self.plan.groups]), grown

    def _judged(self, unseen: Unseen, trust: np.ndarray, growth: np.ndarray) -> None:
        self.unseen, self.growth = unseen, growth
        self.problem = eqx.tree_at(
            lambda p: (p.lessons, p.trust),
            self.problem,
            (np.ones_like(self.problem.lessons), trust),
        )

    def _settled(self, structure: Structure) -> None:
        """Mask the filters by the graph.

        The encoder rests where the label has networks of its own: then these and the decoder share
        nothing that moves, and each can end at its best.
        """
        masks = np.stack([dag.mask for dag in structure.dags]).astype(np.float32)
        self.problem = eqx.tree_at(
            lambda p: (p.parents, p.rests),
            self.problem,
            (masks, np.full(len(masks), self.apart and self.plan.parts.freeze_encoder)),
        )

    def saved(self) -> tuple:
        """What a checkpoint holds: always as many arrays."""
        shape = self.problem.parents.shape
        found = self.structure
        empty = np.zeros(shape, dtype=np.float32)
        return (
            self.state,
            np.asarray(self.history),
            np.asarray(self.unseen is not None),
            Unseen.nothing() if self.unseen is None else self.unseen,
            np.asarray(found is not None),
            empty if found is None else found.adjacency,
            empty if found is None else found.strength,
            np.asarray(self.problem.trust),
            self.growth,
        )

    def _continue(self, epoch: int, saved: tuple) -> None:
        self.state, history, judged, unseen, settled, adjacency, strength, trust, growth = saved
        self.epoch, self.history = epoch, np.asarray(history)
        if judged:
            self._judged(_on_host(unseen), np.asarray(trust), np.asarray(growth))
        if settled:
            self.structure = _read_graphs(np.asarray(adjacency), np.asarray(strength), self.plan)
            if self.plan.settle is not None:
                self._settled(self.structure)

    def result(self, interrupted: bool) -> TrainingResult:
        if self.plan.judge is not None and self.unseen is None:
            self.judge()
        if self.structure is None:
            self.settle(mask=self.plan.settle is not None)
        assert self.structure is not None
        best: Any = self.state.best
        never_judged = ~np.isfinite(np.asarray(self.state.best_loss))
        if not self.plan.parts.restore_best_at_end:
            best = self.state.average
        vectors = np.where(never_judged[:, None], self.state.average, best)
        if self.apart and self.plan.settle is not None:
            vectors = np.where(
                in_predictor(self.config.sizes, vectors.shape[1]), vectors, self.state.average
            )
        _, strength, on_env = map(np.asarray, measure(self.config, self.problem, vectors))
        return TrainingResult(
            vectors=vectors,
            parents=np.asarray(self.problem.parents),
            trust=np.asarray(self.problem.trust),
            growth=self.growth,
            unseen=self.unseen,
            structure=self.structure,
            strength=strength,
            env_strength=on_env,
            history=list(self.history),
            broken=np.asarray(self.state.broken),
            interrupted=interrupted,
        )


def _read_graphs(adjacency: np.ndarray, strength: np.ndarray, plan: Plan) -> Structure:
    """One DAG per group of lanes, from the mean strength over the group."""
    groups = np.asarray(plan.groups)
    dags = {g: extract_dag(strength[groups == g].mean(0), plan.threshold) for g in set(plan.groups)}
    return Structure(adjacency, strength, [dags[g] for g in plan.groups])


def _budgets(plan: Plan, epoch: int, apart: bool, calls: int) -> list[Budget]:
    """The shares of the next calls, up to the next event (settling, the end), never past it."""
    events = [plan.judge, plan.settle, plan.max_epochs]
    until = min(event for event in events if event is not None and event > epoch)
    settled = plan.settle is None or epoch >= plan.settle
    return [
        Budget(
            first_epoch=jnp.int32(first),
            n_epochs=jnp.int32(min(EPOCHS_PER_CALL, until - first)),
            max_epochs=jnp.float32(plan.max_epochs),
            steps=jnp.int32(plan.steps),
            patience=jnp.int32(plan.patience),
            may_stop=jnp.bool_(settled and first >= plan.first_stop),
            keeps_best=jnp.bool_(settled or apart),
        )
        for first in range(epoch, until, EPOCHS_PER_CALL)[:calls]
    ]


def _calls_at_once(lanes: int, cores: int) -> int:
    """How many calls in a row keep all cores busy, when lanes do not divide evenly among them."""
    return 1 if lanes <= cores or lanes % cores == 0 else min(cores, MOST_CALLS)


def _advance_lanes(
    config: StepConfig, problem: Problem, state: State, budgets: Sequence[Budget]
) -> tuple[State, np.ndarray]:
    """All lanes through all budgets, divided among the cores: a program hardly uses more than one.

    Lanes that do not divide evenly go one by one, so that there is one shape to compile for, and a
    core that is done with one budget of a lane takes what comes next of any other.
    """
    cores = os.cpu_count() or 1
    size = _lanes_per_part(len(state.active), cores)
    starts = range(0, len(state.active), size)

    def part(start: int, state: State, budget: Budget) -> tuple[State, np.ndarray]:
        data = _lanes(problem, start, size)
        state, terms = _on_host(_advance(config, data, state, budget))
        return state, terms[:, : int(budget.n_epochs)]

    def after(start: int, before: Future, budget: Budget) -> tuple[State, np.ndarray]:
        state, history = before.result()
        state, terms = part(start, state, budget)
        return state, np.concatenate([history, terms], axis=1)

    with ThreadPoolExecutor(min(cores, len(starts))) as pool:
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


def _lower_advance(config: StepConfig, problem: Problem, blank: State, plan: Plan) -> Any:
    """The program of one part, ready to be compiled; all parts will find it made."""
    size = _lanes_per_part(len(blank.active), os.cpu_count() or 1)
    budget = _budgets(plan, 0, apart=True, calls=1)[0]
    program: Any = _advance
    return program.lower(config, _lanes(problem, 0, size), _lanes(blank, 0, size), budget)


def _lanes_per_part(lanes: int, cores: int) -> int:
    return lanes // cores if lanes % cores == 0 else 1


def _lanes(tree: T, start: int, size: int) -> T:
    return jax.tree.map(lambda leaf: leaf[start : start + size], tree)


def _on_host(tree: Any) -> Any:
    """As NumPy arrays: cutting and joining lanes there compiles nothing."""
    return jax.tree.map(np.asarray, tree)


@compiled_plainly
def _start(config: StepConfig, keys: jax.Array) -> State:
    return jax.vmap(config.start)(keys)


@compiled
def _advance(
    config: StepConfig, problem: Problem, state: State, budget: Budget
) -> tuple[State, jax.Array]:
    def one_lane(problem: Problem, state: State) -> tuple[State, jax.Array]:
        return run_epochs(config, problem, state, budget, EPOCHS_PER_CALL)

    if len(state.active) > 1:
        return jax.vmap(one_lane)(problem, state)
    # A single lane reads its batches as slices; batched, they would be gathers, which are slower.
    alone = jax.tree.map(lambda leaf: leaf[0], (problem, state))
    return jax.tree.map(lambda leaf: leaf[None], one_lane(*alone))


@compiled_plainly
def measure(
    config: StepConfig, problem: Problem, vectors: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Filter norms, strengths of edges and strengths of E, from a sample of the sources' rows."""

    def one_lane(problem: Problem, vector: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        if not config.formulation.uses_structure:
            none = jnp.zeros_like(problem.parents)
            return none, none, none[0]
        network = config.network(vector)
        layout, blocks = problem.layout, problem.blocks
        n_domains = blocks.n_rows.shape[0]
        rows = min(config.batch_rows, max(1, STRENGTH_ROWS // n_domains))

        def domain(values: jax.Array, observed: jax.Array, n: jax.Array) -> tuple:
            present = (jnp.arange(config.batch_rows) < n).astype(float)
            inputs = layout.inputs(values[: config.batch_rows], observed[: config.batch_rows])
            env = network.infer(layout, inputs, present, problem.weights.prior_precision).mean
            env = env * config.formulation.uses_environment
            # Short domains repeat their rows; padded domains borrow nothing: weight 0 below.
            index = jnp.arange(rows) % jnp.maximum(n, 1)
            return inputs[index], jnp.broadcast_to(env, (rows, env.shape[0]))

        inputs, envs = jax.vmap(domain)(blocks.values, blocks.observed, blocks.n_rows)
        real = jnp.repeat(blocks.n_rows > 0, rows)
        order = jnp.argsort(~real, stable=True)
        count = jnp.maximum(real.sum(), 1)
        index = order[jnp.arange(order.shape[0]) % count]
        flat = (
            inputs.reshape(-1, inputs.shape[-1])[index],
            envs.reshape(-1, envs.shape[-1])[index],
        )
        strength, on_env = mean_strength(network, layout, problem.parents, *flat)
        return network.decoder.adjacency(layout), strength, on_env

    return jax.vmap(one_lane)(problem, vectors)
