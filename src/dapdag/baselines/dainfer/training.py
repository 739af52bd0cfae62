"""Learning the modules of DA-Infer, and the sources' θ, by maximum likelihood."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...data.columns import Discrete
from ...data.layout import padded_size
from ...data.table import Table
from .densities import Modules, Rows, Weights, fit_loss, init_weights
from .graph import Blanket, encoded_columns

BATCH = 300
CHUNK = 100  # steps between two looks at the validation rows
SHRINKAGE = 1e-5


@dataclass(frozen=True, eq=False)
class Generators:
    """All that is needed to infer a target's θ and to predict there."""

    modules: Modules
    weights: Weights
    theta: NDArray[np.float32]  # [sources, modules, latent]
    label_range: tuple[float, float]  # lowest and highest value of a number's grid
    variables: tuple[int, ...]  # of the modules


class State(NamedTuple):
    weights: Weights
    theta: Any
    optimiser: Any


def make_modules(table: Table, blanket: Blanket) -> Modules:
    """The blanket as padded 0/1 arrays."""
    variables = (*table.features, table.label)
    columns = encoded_columns(table)
    n_columns = padded_size(columns[-1][-1] + 1, smallest=8)
    n_modules = padded_size(len(blanket.modules))
    slots = max(len(columns[v]) for v in blanket.modules)
    slots = padded_size(slots) if slots > 1 else 1
    reads = np.zeros((n_modules, n_columns), dtype=np.float32)
    writes = np.zeros((n_modules, n_columns, slots), dtype=np.float32)
    flags = np.zeros((4, n_modules), dtype=np.float32)
    for m, v in enumerate(blanket.modules):
        reads[m, [c for parent in blanket.parents[m] for c in columns[parent]]] = 1.0
        writes[m, columns[v], range(len(columns[v]))] = 1.0
        is_number = not isinstance(variables[v], Discrete)
        flags[:, m] = is_number, len(columns[v]) == 1 and not is_number, 1.0, blanket.changing[m]
    is_label = np.zeros(n_columns, dtype=np.float32)
    is_label[columns[-1]] = 1.0
    return Modules(*map(jnp.asarray, (reads, writes, *flags, is_label)))


def make_rows(
    values: NDArray[np.float32],
    observed: NDArray[np.float32],
    variables: tuple[int, ...],
    modules: Modules,
) -> Rows:
    """Rows padded to few sizes; `observed` is by variable, the label last."""
    n = padded_size(len(values), smallest=64)
    padded = np.zeros((n, modules.reads.shape[1]), dtype=np.float32)
    padded[: len(values), : values.shape[1]] = values
    known = np.zeros((n, len(modules.is_live)), dtype=np.float32)
    known[: len(values), : len(variables)] = observed[:, list(variables)]
    weight = (np.arange(n) < len(values)).astype(np.float32)
    return Rows(jnp.asarray(padded), jnp.asarray(known), jnp.asarray(weight))


def learn_generators(
    table: Table,
    blanket: Blanket,
    values: NDArray[np.float32],
    observed: NDArray[np.float32],
    domain: NDArray[np.intp],
    *,
    latent_dim: int,
    hidden: int,
    n_steps: int,
    learning_rate: float,
    random_state: int,
) -> Generators:
    """Maximum likelihood of all modules at once, θ of every source included.

    The weights with the best likelihood on a tenth of the rows are kept.
    """
    rng = np.random.default_rng(random_state)
    modules = make_modules(table, blanket)
    order = rng.permutation(len(values))
    n_valid = max(1, len(order) // 10) if len(order) >= 20 else 0
    parts = [order[n_valid:], order[:n_valid] if n_valid else order]
    train, valid = (
        make_rows(values[rows], observed[rows], blanket.modules, modules) for rows in parts
    )
    codes = [
        _padded_codes(domain[rows], len(part.weight))
        for rows, part in zip(parts, (train, valid), strict=True)
    ]
    weights = init_weights(jax.random.key(random_state), modules, latent_dim, hidden)
    n_domains = int(domain.max()) + 1
    shape = (padded_size(n_domains), len(modules.is_live), latent_dim)
    # From one point the domains move apart along what tells them apart most; random starts
    # would leave them in an order that says nothing about a new domain between them.
    theta = jnp.zeros(shape)
    state = State(weights, theta, _optimiser(learning_rate, n_steps).init((weights, theta)))
    best, best_loss = state, np.inf
    for number in range(max(1, n_steps // CHUNK)):
        key = jax.random.key(np.random.SeedSequence([random_state, number]).generate_state(1)[0])
        state = _run_chunk(
            learning_rate, n_steps, state, key, modules, train, codes[0], len(parts[0])
        )
        loss = float(_valid_loss(state.weights, state.theta, modules, valid, codes[1]))
        if loss < best_loss:
            best, best_loss = state, loss
    label = values[:, encoded_columns(table)[-1]].astype(float)
    return Generators(
        modules,
        best.weights,
        np.asarray(best.theta * modules.is_changing[:, None])[:n_domains],
        _label_range(label),
        variables=blanket.modules,
    )


def _padded_codes(codes: NDArray[np.intp], n: int) -> Any:
    return jnp.asarray(np.pad(codes, (0, n - len(codes))).astype(np.int32))


def _label_range(label: NDArray[np.float64]) -> tuple[float, float]:
    """From one standard deviation below nearly all source labels to one above."""
    low, high = np.quantile(label[:, 0], [0.001, 0.999])
    spread = label[:, 0].std()
    return float(low - spread), float(high + spread)


_valid_loss = jax.jit(fit_loss)


def _optax() -> Any:
    try:
        import optax
    except ImportError as error:
        raise ValueError("DA-Infer needs the package optax: pip install 'dapdag[bench]'") from error
    return optax


def _optimiser(learning_rate: float, n_steps: int) -> Any:
    optax = _optax()
    schedule = optax.cosine_decay_schedule(learning_rate, n_steps, alpha=0.02)
    return optax.chain(optax.clip_by_global_norm(5.0), optax.adam(schedule))


@partial(jax.jit, static_argnums=(0, 1))
def _run_chunk(
    learning_rate: float,
    n_steps: int,
    state: State,
    key: Any,
    modules: Modules,
    rows: Rows,
    domain: Any,
    n_rows: Any,
) -> State:
    optimiser = _optimiser(learning_rate, n_steps)

    def objective(parameters: tuple[Weights, Any], pick: Any) -> Any:
        weights, theta = parameters
        batch = Rows(*(part[pick] for part in rows))
        loss = fit_loss(weights, theta, modules, batch, domain[pick])
        prior = 0.5 * jnp.sum(theta**2) / n_rows
        return loss + prior + SHRINKAGE * sum(jnp.sum(w**2) for w in weights)

    def step(state: State, key: Any) -> tuple[State, None]:
        pick = jax.random.randint(key, (BATCH,), 0, n_rows)
        parameters = (state.weights, state.theta)
        gradient = jax.grad(objective)(parameters, pick)
        updates, inner = optimiser.update(gradient, state.optimiser)
        weights, theta = _optax().apply_updates(parameters, updates)
        return State(weights, theta, inner), None

    return jax.lax.scan(step, state, jax.random.split(key, CHUNK))[0]
