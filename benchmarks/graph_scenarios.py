"""Tables with a known graph, on which graph searches are compared.

`SCENARIOS` maps a name to a function of a seed that returns a `Case`. Real tables differ between
seeds by the rows that are drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dapdag.datasets import make_random_sem_domains, make_regression_domains
from dapdag.datasets.real import load_chamber_nonlin, load_sachs

N_SITES = 9

NOISE: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "laplace": lambda rng, n: rng.laplace(scale=np.sqrt(0.5), size=n),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1.0,
}
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "sigmoid": lambda t: 1 / (1 + np.exp(-t)),
    "relu": lambda t: np.maximum(t, 0.0),
    "linear": lambda t: t,
}
# The seventeen edges that later studies use (the network "sachs" of bnlearn).
SACHS_EDGES = {
    "PKC": ("PKA", "praf", "pmek", "P38", "pjnk"),
    "PKA": ("praf", "pmek", "p44/42", "pakts473", "P38", "pjnk"),
    "praf": ("pmek",),
    "pmek": ("p44/42",),
    "p44/42": ("pakts473",),
    "plcg": ("PIP2", "PIP3"),
    "PIP3": ("PIP2",),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A table, the site of every row, the true graph, and the variables that E acts on."""

    X: pd.DataFrame
    sample_domain: np.ndarray
    graph: nx.DiGraph
    shifted: frozenset[str] | None


def _case(data) -> Case:
    marked = nx.get_node_attributes(data.graph, "perturbed")
    return Case(
        X=pd.concat([data.X, data.y], axis=1),
        sample_domain=np.asarray(data.sample_domain),
        graph=data.graph,
        shifted=frozenset(name for name, moved in marked.items() if moved) if marked else None,
    )


def random_sem(seed: int, d: int = 10, n_sites: int = N_SITES, **options) -> Case:
    """The package's own random networks with normal noise."""
    data = make_random_sem_domains(n_variables=d, n_domains=n_sites, random_state=seed, **options)
    return _case(data)


def noisy_sem(
    seed: int, noise: str = "normal", activation: str = "tanh", d: int = 10, n_rows: int = 500
) -> Case:
    """Random networks with any noise: X = W₂ σ(W₁ [parents, E]) + ε, E acting on half of them."""
    rng = np.random.default_rng([seed, 14])
    order = [f"X{k + 1}" for k in rng.permutation(d)]
    edge = np.triu(rng.random((d, d)) < 2 / (d - 1), k=1)
    shifted = frozenset(rng.choice(order, size=d // 2, replace=False).tolist())
    n = N_SITES * n_rows
    site = np.repeat(np.arange(N_SITES), n_rows)
    env = rng.standard_normal(N_SITES)[site]
    values: dict[str, Any] = {}
    for j, name in enumerate(order):
        inputs = [values[order[i]] for i in np.flatnonzero(edge[:, j])]
        if name in shifted:
            inputs.append(env)
        values[name] = NOISE[noise](rng, n)
        if inputs:
            x = np.stack(inputs) / np.sqrt(np.mean(np.square(inputs), axis=1, keepdims=True))
            first, last = _weights(rng, (8, len(inputs))), _weights(rng, (8,))
            signal = last @ ACTIVATIONS[activation](first @ x)
            values[name] = (
                values[name] + rng.uniform(1, 2) * (signal - signal.mean()) / signal.std()
            )
    graph = nx.DiGraph()
    graph.add_nodes_from(f"X{k + 1}" for k in range(d))
    graph.add_edges_from((order[i], order[j]) for i, j in np.argwhere(edge))
    X = pd.DataFrame(values)[list(graph)]
    return Case(X, site, graph, shifted)


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)


def paper(seed: int, variant: str, noise: float) -> Case:
    """The paper's regression set."""
    data = make_regression_domains(
        n_domains=N_SITES, variant=variant, noise=noise, random_state=seed
    )
    return _case(data)


def missing(seed: int, share: float = 0.1) -> Case:
    """Cells missing completely at random."""
    case = random_sem(seed)
    gone = np.random.default_rng([seed, 15]).random(case.X.shape) < share
    return Case(case.X.mask(gone), case.sample_domain, case.graph, case.shifted)


def distorted(seed: int) -> Case:
    """Every column passed through a monotone function."""
    case = random_sem(seed)
    functions = (np.sinh, np.arctan, lambda x: np.sign(x) * x**2, lambda x: np.exp(x / 2))
    X = case.X.copy()
    for k, name in enumerate(X):
        X[name] = functions[k % len(functions)]((X[name] - X[name].mean()) / X[name].std())
    return Case(X, case.sample_domain, case.graph, case.shifted)


def chamber(seed: int, n_samples: int = 300) -> Case:
    """Light tunnel: the physical graph of 20 edges."""
    return _case(load_chamber_nonlin(n_samples=n_samples, random_state=seed))


def sachs(seed: int) -> Case:
    """Signalling proteins under nine conditions: 17 edges."""
    del seed
    case = _case(load_sachs())
    graph = nx.DiGraph()
    graph.add_nodes_from(case.graph)
    graph.add_edges_from((cause, e) for cause, effects in SACHS_EDGES.items() for e in effects)
    return Case(case.X, case.sample_domain, graph, case.shifted)


SCENARIOS: dict[str, Callable[[int], Case]] = {
    **{f"d{d}": partial(random_sem, d=d) for d in (5, 10, 20, 30, 50, 100)},
    "d10-3-sites": partial(random_sem, n_sites=3),
    "d10-1-site": partial(random_sem, n_sites=1),
    "author": partial(paper, variant="author", noise=0.5),
    "paper-0.5": partial(paper, variant="paper", noise=0.5),
    "paper-1": partial(paper, variant="paper", noise=1.0),
    "100-rows": partial(random_sem, n_samples=100),
    "dense": partial(random_sem, n_edges=25),
    "all-shift": partial(random_sem, env_share=1.0),
    "none-shift": partial(random_sem, env_share=0.0),
    "relu": partial(random_sem, activation="relu"),
    "sigmoid": partial(random_sem, activation="sigmoid"),
    "linear": partial(noisy_sem, activation="linear"),
    "laplace": partial(noisy_sem, noise="laplace"),
    "uniform": partial(noisy_sem, noise="uniform"),
    "exponential": partial(noisy_sem, noise="exponential"),
    "missing": missing,
    "distorted": distorted,
    "chamber": chamber,
    "sachs": sachs,
}
