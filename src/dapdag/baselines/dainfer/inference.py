"""A target's θ from its features, and the posterior of its labels."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from ...data.columns import Discrete
from ...data.table import Table
from .densities import Modules, joint_log_density, target_loss
from .training import Generators, make_rows

TARGET_ROWS = 1000
FIT_GRID, PREDICT_GRID = 64, 128
PREDICT_ROWS = 256
N_STARTS = 3


def infer_theta(
    generators: Generators,
    table: Table,
    values: NDArray[np.float32],
    observed: NDArray[np.float32],
    random_state: int,
) -> NDArray[np.float64]:
    """θ of a target that makes its features most probable, the label summed out: [modules, latent].

    The prior is a normal distribution around the sources' θ; the search starts at those sources
    that suit the features best.
    """
    modules = generators.modules
    source = generators.theta.astype(np.float64)
    shape = source.shape[1:]
    mean, scale = source.mean(0), np.maximum(source.std(0), 0.1) * np.sqrt(1 + 1 / len(source))
    if not np.any(np.asarray(modules.is_changing)) or 0 in shape:
        return mean
    if len(values) > TARGET_ROWS:
        rng = np.random.default_rng(random_state)
        pick = rng.choice(len(values), TARGET_ROWS, replace=False)
        values, observed = values[pick], observed[pick]
    rows = make_rows(values, observed, generators.variables, modules)
    grid = _in_label_columns(modules, label_grid(generators, table, FIT_GRID))
    prior = jnp.asarray(mean, dtype=jnp.float32), jnp.asarray(scale, dtype=jnp.float32)

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        theta = jnp.asarray(flat.reshape(shape), dtype=jnp.float32)
        value, gradient = target_loss(theta, generators.weights, modules, rows, grid, *prior)
        return float(value), np.asarray(gradient, dtype=np.float64).ravel()

    starts = [mean.ravel(), *(theta.ravel() for theta in source)]
    starts = sorted(starts, key=lambda start: objective(start)[0])[:N_STARTS]
    found = [minimize(objective, start, jac=True, method="L-BFGS-B") for start in starts]
    return min(found, key=lambda result: result.fun).x.reshape(shape)


def label_grid(generators: Generators, table: Table, n_points: int) -> NDArray[np.float64]:
    """Label values that the posterior is computed on: [grid, label columns]."""
    label = table.label
    if not isinstance(label, Discrete):
        return np.linspace(*generators.label_range, n_points)[:, None]
    return np.array([[0.0], [1.0]]) if label.width == 1 else np.eye(label.width)


def _in_label_columns(modules: Modules, grid: NDArray[np.float64]) -> Any:
    wide = np.zeros((len(grid), len(modules.is_label)), dtype=np.float32)
    wide[:, np.flatnonzero(np.asarray(modules.is_label))] = grid
    return jnp.asarray(wide)


def label_posterior(
    generators: Generators,
    table: Table,
    values: NDArray[np.float32],
    observed: NDArray[np.float32],
    theta: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p(y | x, θ) of every row and value of the grid, and the grid."""
    modules = generators.modules
    grid = label_grid(generators, table, PREDICT_GRID)
    wide = _in_label_columns(modules, grid)
    latent = jnp.asarray(theta, dtype=jnp.float32)
    parts = []
    for start in range(0, len(values), PREDICT_ROWS):
        block = slice(start, start + PREDICT_ROWS)
        rows = make_rows(values[block], observed[block], generators.variables, modules)
        joint = joint_log_density(generators.weights, latent, modules, rows, wide)
        parts.append(np.asarray(joint, dtype=np.float64)[: len(values[block])])
    return softmax(np.concatenate(parts), axis=1), grid
