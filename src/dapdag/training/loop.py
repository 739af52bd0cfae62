"""The host's side of training: calls the compiled epochs, watches, stops, reads the graph off."""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..graph import DAG, extract_dag
from ..model import objective as obj
from ..model.network import mean_strength
from .step import Budget, Problem, State, StepConfig, initial_state, parameters, run_epochs, unravel

HISTORY = (*obj.TERMS, "validation")
EPOCHS_PER_CALL = 10
STRENGTH_ROWS = 256


@dataclass(frozen=True)
class Plan:
    """How long to train and how to read the graph.

    Attributes
    ----------
    settle : epoch at which the graph is read off and the filters are masked by it; None keeps
        the paper's soft constraint to the end.
    threshold : an edge needs at least this strength (standard deviations of the child per
        standard deviation of the parent).
    groups : for each lane, the estimator that it is a member of: members share one graph.
    """

    max_epochs: int
    steps: int
    patience: int
    first_stop: int
    settle: int | None
    threshold: float
    groups: tuple[int, ...]


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
    structure: Structure
    strength: np.ndarray  # of the edges, with the final weights
    env_strength: np.ndarray
    history: list[np.ndarray]  # per lane [epochs, terms]
    broken: np.ndarray
    interrupted: bool = False
    epochs: np.ndarray = field(default_factory=lambda: np.zeros(0))


def train(
    config: StepConfig,
    problem: Problem,
    keys: jax.Array,
    plan: Plan,
    on_progress: Callable[[int, float], None] = lambda epoch, loss: None,
) -> TrainingResult:
    """Train every lane of `problem` (all arrays have a leading lane axis)."""
    state = jax.vmap(functools.partial(initial_state, config.sizes))(keys)
    structure = None
    pieces: list[np.ndarray] = []
    epoch, interrupted = 0, False
    try:
        while epoch < plan.max_epochs and bool(np.any(np.asarray(state.active))):
            if epoch == plan.settle:
                problem, state, structure = _settle(config, problem, state, plan)
            budget = _budget(plan, epoch)
            state, terms = _advance(config, problem, state, budget)
            pieces.append(np.asarray(terms)[:, : int(budget.n_epochs)])
            epoch += int(budget.n_epochs)
            on_progress(epoch, float(np.nanmean(pieces[-1][:, -1, -1])))
    except KeyboardInterrupt:
        interrupted = True
        warnings.warn(
            f"training was interrupted after {epoch} of {plan.max_epochs} epochs; "
            "the best weights so far are kept",
            stacklevel=2,
        )
    if structure is None:
        masks = plan.settle is not None
        problem, state, structure = _settle(config, problem, state, plan, apply_mask=masks)
    return _finish(config, problem, state, structure, np.concatenate(pieces, 1), interrupted)


def _budget(plan: Plan, epoch: int) -> Budget:
    """The next call's share: up to the next event (settling, the end), never past it."""
    stops = [plan.max_epochs, plan.settle if plan.settle and epoch < plan.settle else None]
    until = min(s for s in stops if s is not None)
    settled = plan.settle is None or epoch >= plan.settle
    return Budget(
        first_epoch=jnp.array(epoch),
        n_epochs=jnp.array(min(EPOCHS_PER_CALL, until - epoch)),
        max_epochs=jnp.array(plan.max_epochs),
        steps=jnp.array(plan.steps),
        patience=jnp.array(plan.patience),
        may_stop=jnp.array(settled and epoch >= plan.first_stop),
        keeps_best=jnp.array(settled),
    )


@eqx.filter_jit
def _advance(
    config: StepConfig, problem: Problem, state: State, budget: Budget
) -> tuple[State, jax.Array]:
    def one_lane(problem: Problem, state: State) -> tuple[State, jax.Array]:
        return run_epochs(config, problem, state, budget, EPOCHS_PER_CALL)

    return jax.vmap(one_lane)(problem, state)


def _settle(
    config: StepConfig, problem: Problem, state: State, plan: Plan, apply_mask: bool = True
) -> tuple[Problem, State, Structure]:
    """Read one DAG per group off the current weights and mask the filters by it."""
    adjacency, strength, _ = map(np.asarray, measure(config, problem, jax.vmap(parameters)(state)))
    groups = np.asarray(plan.groups)
    dags = {g: extract_dag(strength[groups == g].mean(0), plan.threshold) for g in set(groups)}
    structure = Structure(adjacency, strength, [dags[g] for g in plan.groups])
    if apply_mask:
        masks = jnp.asarray(np.stack([d.mask for d in structure.dags]), dtype=float)
        problem = eqx.tree_at(lambda p: p.parents, problem, masks)
        state = eqx.tree_at(
            lambda s: (s.best, s.best_loss),
            state,
            (jax.vmap(parameters)(state), jnp.full_like(state.best_loss, jnp.inf)),
        )
    return problem, state, structure


@eqx.filter_jit
def measure(
    config: StepConfig, problem: Problem, vectors: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Filter norms, strengths of edges and strengths of E, from a sample of the sources' rows."""

    def one_lane(problem: Problem, vector: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        network = unravel(config.sizes, vector)
        layout, blocks = problem.layout, problem.blocks
        n_domains = blocks.n_rows.shape[0]
        rows = min(config.batch_rows, max(1, STRENGTH_ROWS // n_domains))

        def domain(values: jax.Array, observed: jax.Array, n: jax.Array) -> tuple:
            present = (jnp.arange(config.batch_rows) < n).astype(float)
            inputs = layout.inputs(values[: config.batch_rows], observed[: config.batch_rows])
            env = network.infer(inputs, present, problem.weights.prior_precision).mean
            env = env * config.formulation.uses_environment
            # Short domains repeat their rows; padded domains borrow nothing: weight 0 below.
            index = jnp.arange(rows) % jnp.maximum(n, 1)
            return inputs[index], jnp.broadcast_to(env, (rows, env.shape[0]))

        inputs, envs = jax.vmap(domain)(blocks.values, blocks.observed, blocks.n_rows)
        real = jnp.repeat(blocks.n_rows > 0, rows)
        order = jnp.argsort(~real, stable=True)
        count = jnp.maximum(real.sum(), 1)
        index = order[jnp.arange(order.shape[0]) % count]
        flat = (inputs.reshape(-1, inputs.shape[-1])[index], envs.reshape(-1, envs.shape[-1])[index])
        strength, on_env = mean_strength(network, layout, problem.parents, *flat)
        return network.decoder.adjacency(layout), strength, on_env

    return jax.vmap(one_lane)(problem, vectors)


def _finish(
    config: StepConfig,
    problem: Problem,
    state: State,
    structure: Structure,
    history: np.ndarray,
    interrupted: bool,
) -> TrainingResult:
    kept = np.isfinite(np.asarray(state.best_loss))
    vectors = jnp.where(kept[:, None], state.best, jax.vmap(parameters)(state))
    _, strength, on_env = map(np.asarray, measure(config, problem, vectors))
    return TrainingResult(
        vectors=np.asarray(vectors),
        parents=np.asarray(problem.parents),
        structure=structure,
        strength=strength,
        env_strength=on_env,
        history=list(history),
        broken=np.asarray(state.broken),
        interrupted=interrupted,
    )
