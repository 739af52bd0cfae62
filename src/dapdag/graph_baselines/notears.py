"""NOTEARS-MLP: one small network per variable, acyclic through an augmented Lagrangian.

No package on the index offers it without torch, so it is written here, in JAX and double
precision, after the equations of Zheng et al. (2020).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dapdag._runtime.cache import compilation_cache
from dapdag.graph_baselines.tables import score_table, strongest_dag

_MAX_PENALTY = 1e16
_PROGRESS = 0.25  # h must fall to this share of the last, or the penalty grows tenfold


class _Shapes(NamedTuple):
    variables: int
    hidden: int

    @property
    def n_first(self) -> int:
        return self.variables * self.hidden * self.variables


class _Weights(NamedTuple):
    first: Any  # [child, hidden, parent]
    first_bias: Any  # [child, hidden]
    last: Any  # [child, hidden]
    last_bias: Any  # [child]


def notears_mlp(
    X: Any,
    sample_domain: Any = None,
    *,
    hidden: int = 10,
    lasso: float = 0.01,
    ridge: float = 0.01,
    threshold: float = 0.3,
    standardise: bool = False,
    max_rounds: int = 100,
    tolerance: float = 1e-8,
    max_rows: int = 2000,
    random_state: int = 0,
) -> nx.DiGraph:
    """NOTEARS-MLP (Zheng et al., 2020), as if all rows came from one domain.

    Minimises ``‖X − f(X)‖² / 2n + lasso·|W₁| + ridge/2·‖θ‖² + α·h + ρ/2·h²`` with
    ``h = tr exp(A) − V`` and ``A[i, j] = Σ W₁[j, :, i]²`` by L-BFGS-B, with α and ρ growing until
    ``h ≤ tolerance``.

    Parameters
    ----------
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row, optional
        Ignored.
    hidden : int, default=10
        Width of the one hidden layer of each variable's network, at least 1.
    lasso : float, default=0.01
        Weight of the L1 penalty, at least 0.
    ridge : float, default=0.01
        Weight of the L2 penalty, at least 0.
    threshold : float, default=0.3
        Edges of a smaller norm are left out, and then the weakest of every cycle.
    standardise : bool, default=False
        True divides the columns by their standard deviation. The score compares squared errors of
        all columns, so that units matter: as published, the columns are taken as they are, which is
        right where all noise has one scale and meaningless where units differ.
    max_rounds : int, default=100
        Most rounds of the augmented Lagrangian, at least 1.
    tolerance : float, default=1e-08
        Value of h below which the graph counts as acyclic.
    max_rows : int, default=2000
        Of a longer table this many rows are drawn, since every step reads all of them.
    random_state : int, default=0
        Seed of the first weights and of the rows that are drawn.

    Returns
    -------
    networkx.DiGraph
        Named after the columns; edges carry ``"weight"``, the norm of the first layer's weights.
    """
    Z = score_table(X, standardise, max_rows, random_state)
    shapes = _Shapes(Z.shape[1], hidden)
    with jax.enable_x64(True), compilation_cache():
        theta = _solve(Z, shapes, lasso, ridge, max_rounds, tolerance, random_state)
        strength = np.sqrt(np.asarray(_adjacency(_unpack(jnp.asarray(theta), shapes).first)))
    return strongest_dag(X, strength, threshold)


def _solve(
    Z: NDArray[np.float64],
    shapes: _Shapes,
    lasso: float,
    ridge: float,
    max_rounds: int,
    tolerance: float,
    random_state: int,
) -> NDArray[np.float64]:
    theta, bounds = _start(shapes, random_state)
    data = jnp.asarray(Z)
    penalty, multiplier, h = 1.0, 0.0, np.inf
    for _ in range(max_rounds):
        while True:
            objective = partial(_value_and_grad, data, shapes, lasso, ridge, penalty, multiplier)
            found = minimize(objective, theta, jac=True, method="L-BFGS-B", bounds=bounds).x
            new_h = float(_acyclicity(_unpack(jnp.asarray(found), shapes).first))
            if new_h <= _PROGRESS * h or penalty >= _MAX_PENALTY:
                break
            penalty *= 10.0
        theta, h = found, new_h
        multiplier += penalty * h
        if h <= tolerance or penalty >= _MAX_PENALTY:
            break
    return theta


def _start(shapes: _Shapes, random_state: int) -> tuple[NDArray[np.float64], Any]:
    """No edge at first; the first layer as two non-negative parts, which makes |W₁| smooth."""
    rng = np.random.default_rng(random_state)
    d, m = shapes
    rest = rng.uniform(-1, 1, size=2 * d * m + d) / np.sqrt(m)
    theta = np.concatenate([np.zeros(2 * shapes.n_first), rest])
    upper = np.full(theta.size, np.inf)
    own = np.broadcast_to(np.eye(d, dtype=bool)[:, None, :], (d, m, d)).ravel()
    upper[: 2 * shapes.n_first][np.tile(own, 2)] = 0.0
    lower = np.where(np.arange(theta.size) < 2 * shapes.n_first, 0.0, -np.inf)
    return theta, list(zip(lower, upper, strict=True))


def _value_and_grad(
    data: Any,
    shapes: _Shapes,
    lasso: float,
    ridge: float,
    penalty: float,
    multiplier: float,
    theta: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    value, gradient = _compiled(shapes, data, lasso, ridge, penalty, multiplier, theta)
    return float(value), np.asarray(gradient)


@partial(jax.jit, static_argnums=0)
def _compiled(
    shapes: _Shapes, data: Any, lasso: Any, ridge: Any, penalty: Any, multiplier: Any, theta: Any
) -> Any:
    def loss(theta: Any) -> Any:
        weights = _unpack(theta, shapes)
        error = 0.5 * jnp.sum((data - _predict(weights, data)) ** 2) / data.shape[0]
        h = _acyclicity(weights.first)
        shrinkage = 0.5 * ridge * sum(jnp.sum(w**2) for w in weights)
        sparsity = lasso * jnp.sum(theta[: 2 * shapes.n_first])
        return error + shrinkage + sparsity + multiplier * h + 0.5 * penalty * h**2

    return jax.value_and_grad(loss)(theta)


def _unpack(theta: Any, shapes: _Shapes) -> _Weights:
    d, m = shapes
    positive, negative = theta[: 2 * shapes.n_first].reshape(2, d, m, d)
    rest = theta[2 * shapes.n_first :]
    first_bias, last, last_bias = jnp.split(rest, [d * m, 2 * d * m])
    return _Weights(positive - negative, first_bias.reshape(d, m), last.reshape(d, m), last_bias)


def _predict(weights: _Weights, data: Any) -> Any:
    # [n, parent] -> [n, child, hidden]
    inside = jnp.einsum("np,chp->nch", data, weights.first) + weights.first_bias
    return jnp.einsum("nch,ch->nc", jax.nn.sigmoid(inside), weights.last) + weights.last_bias


def _adjacency(first: Any) -> Any:
    """Squared norms of the first layer, [parent, child]."""
    return jnp.sum(first**2, axis=1).T


def _acyclicity(first: Any) -> Any:
    return jnp.trace(jax.scipy.linalg.expm(_adjacency(first))) - first.shape[0]
