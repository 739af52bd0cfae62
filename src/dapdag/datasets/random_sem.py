"""Random non-linear structural equation models, for experiments on graph learning."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dapdag.datasets import oracles
from dapdag.datasets.domain_data import Array, DomainData
from dapdag.datasets.equations import ENV, Equation, Gaussian, StructuralModel
from dapdag.datasets.simulation import Seed, check_choice, check_positive, simulate

Activation = Literal["tanh", "sigmoid", "relu", "elu"]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "sigmoid": lambda t: 0.5 * (1 + np.tanh(0.5 * t)),
    "relu": lambda t: np.maximum(t, 0.0),
    "elu": lambda t: np.where(t > 0, t, np.expm1(np.minimum(t, 0.0))),
}
CALIBRATION_ROWS = 1000
CANDIDATES = 8


@dataclass(frozen=True, eq=False)
class Network:
    """W2 σ(W1 x) for the inputs x of one variable."""

    W1: Array  # [hidden, inputs]
    W2: Array  # [hidden]
    activation: str

    def __call__(self, *inputs: Array) -> Array:
        x = np.broadcast_arrays(*inputs)
        sigma = ACTIVATIONS[self.activation]
        total = np.zeros(x[0].shape)
        # One hidden unit at a time: on quadrature grids all of them would not fit the cache.
        for w1, w2 in zip(self.W1, self.W2, strict=True):
            total += w2 * sigma(sum((w * v for w, v in zip(w1, x, strict=True)), np.zeros(())))
        return total

    def weakest_influence(self, inputs: Sequence[Array]) -> float:
        """Root mean square change of the output when one input is shuffled, at the least."""
        output = self(*inputs)
        changes = []
        for j, column in enumerate(inputs):
            moved = [*inputs[:j], np.roll(column, 1), *inputs[j + 1 :]]
            changes.append(float(np.sqrt(np.mean((self(*moved) - output) ** 2))))
        return min(changes)


def make_random_sem_domains(
    n_variables: int = 10,
    n_edges: float | None = None,
    n_domains: int = 10,
    n_samples: int | Sequence[int] = 500,
    noise: float = 1.0,
    env_scale: float = 1.0,
    env_share: float = 0.5,
    hidden: int = 8,
    activation: Activation = "tanh",
    label: str | None = None,
    env: Sequence[float] | None = None,
    poisson_sizes: bool = False,
    random_state: Seed = 0,
) -> DomainData:
    """Simulate X_i = W2 σ(W1 [Pa_i, E]) + ε_i on a random DAG.

    Weights are scaled so that the equation of every variable has a standard deviation between
    1 and 2 over the domains: comparable to the noise, and no growth along the causal order.

    Parameters
    ----------
    n_variables : int, default=10
        Number of variables X1, X2, …, at least 2; their names do not follow the causal order.
    n_edges : float, optional
        Expected number of edges of the Erdős-Rényi DAG; by default ``n_variables``, or all pairs if
        there are fewer.
    n_domains : int, default=10
        Number of domains, labelled 0, 1, …; at least 1.
    n_samples : int or sequence of int, default=500
        Rows per domain: one number, or one per domain.
    noise : float, default=1.0
        Standard deviation of every ε, positive.
    env_scale : float, default=1.0
        E ~ N(0, env_scale²), one draw per domain; at least 0.
    env_share : float, default=0.5
        Share of the variables on which E acts, 0 to 1.
    hidden : int, default=8
        Width of each equation's hidden layer, at least 1.
    activation : {"tanh", "sigmoid", "relu", "elu"}, default="tanh"
        Activation of the hidden layer.
    label : str, optional
        Variable to predict; by default one that has parents, chosen at random.
    env : sequence of float, optional
        E of each domain instead of drawing it.
    poisson_sizes : bool, default=False
        Draw each size from Pois(n_samples), but at least 1.
    random_state : int or numpy Generator, default=0
        Seed or generator. The graph and its equations do not depend on the number and size of the
        domains.

    Returns
    -------
    DomainData
        Table, label and domain of every row.
    """
    check_positive("noise", noise)
    check_choice("activation", activation, list(ACTIVATIONS))
    if hidden < 1:
        raise ValueError(f"hidden must be at least 1, got {hidden}.")
    rng = np.random.default_rng(random_state)
    (structure_rng,) = rng.spawn(1)
    inputs = _random_inputs(n_variables, n_edges, env_share, structure_rng)
    model = _random_model(inputs, noise, env_scale or 1.0, hidden, activation, structure_rng)
    with_parents = [eq.name for eq in model.equations if eq.parents] or list(model.columns)
    chosen = str(structure_rng.choice(with_parents)) if label is None else label
    check_choice("label", chosen, model.columns)
    return simulate(
        model,
        chosen,
        rng=rng,
        n_domains=n_domains,
        n_samples=n_samples,
        env=env,
        env_scale=env_scale,
        poisson_sizes=poisson_sizes,
        task="regression",
        name=f"random-sem-{n_variables}",
        description=f"Simulated regression of {chosen} in a random {activation} network model.",
        conditional=partial(oracles.quadrature, model, chosen),
    )


def _random_inputs(
    n_variables: int, n_edges: float | None, env_share: float, rng: np.random.Generator
) -> dict[str, tuple[str, ...]]:
    """Parents of each variable, and E where it acts; in causal order."""
    if n_variables < 2:
        raise ValueError(f"n_variables must be at least 2, got {n_variables}.")
    if not 0 <= env_share <= 1:
        raise ValueError(f"env_share must be between 0 and 1, got {env_share!r}.")
    n_pairs = n_variables * (n_variables - 1) // 2
    expected = min(n_variables, n_pairs) if n_edges is None else n_edges
    if not 0 <= expected <= n_pairs:
        raise ValueError(
            f"n_edges must be between 0 and {n_pairs} for {n_variables} variables, got {n_edges}."
        )
    order = [f"X{i + 1}" for i in rng.permutation(n_variables)]
    edge = np.triu(rng.random((n_variables, n_variables)) < expected / n_pairs, k=1)
    n_perturbed = round(env_share * n_variables)
    perturbed = set(rng.choice(order, size=n_perturbed, replace=False).tolist())
    return {
        name: tuple(p for i, p in enumerate(order) if edge[i, j]) + (ENV,) * (name in perturbed)
        for j, name in enumerate(order)
    }


def _random_model(
    inputs: dict[str, tuple[str, ...]],
    noise: float,
    env_scale: float,
    hidden: int,
    activation: str,
    rng: np.random.Generator,
) -> StructuralModel:
    """Draw the equations along the causal order, scaling each on rows drawn from those before."""
    law = Gaussian(noise)
    rows = {ENV: env_scale * rng.standard_normal(CALIBRATION_ROWS)}
    equations = []
    for name, names in inputs.items():
        function: Callable[..., Any] = _no_signal
        if names:
            function = _random_network([rows[v] for v in names], hidden, activation, rng)
        equation = Equation(name, names, function, law)
        location = np.broadcast_to(equation.location(rows), (CALIBRATION_ROWS,))
        rows[name] = law.sample(location, rng)
        equations.append(equation)
    columns = tuple(f"X{i + 1}" for i in range(len(inputs)))
    return StructuralModel(tuple(equations), columns)


def _random_network(
    inputs: Sequence[Array], hidden: int, activation: str, rng: np.random.Generator
) -> Network:
    """Of several draws the one whose weakest input has the largest effect: every edge acts."""
    size = np.array([np.sqrt(np.mean(x**2)) for x in inputs])
    candidates = []
    for _ in range(CANDIDATES):
        W1 = _signed_uniform(rng, (hidden, len(inputs))) / size
        W2 = _signed_uniform(rng, (hidden,))
        raw = Network(W1, W2, activation)
        signal = rng.uniform(1.0, 2.0)
        candidates.append(Network(W1, W2 * signal / np.std(raw(*inputs)), activation))
    return max(candidates, key=lambda network: network.weakest_influence(inputs))


def _signed_uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Weights bounded away from 0."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))


def _no_signal() -> float:
    return 0.0
