"""Structural equations: one list gives the samples, the graph and the likelihoods."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, xlogy
from scipy.stats import poisson

from dapdag.datasets.domain_data import Array, Values

ENV = "E"


def env_of(name: str) -> str:
    """The dimension of E that acts on one variable alone, as an input of its equation."""
    return f"{ENV}[{name}]"


def is_env(name: str) -> bool:
    """Whether an input of an equation is E or one of its dimensions."""
    return name == ENV or name.startswith(f"{ENV}[")


class Law(Protocol):
    """Distribution of a variable around the value that its equation gives."""

    def sample(self, location: Array, rng: np.random.Generator) -> NDArray[Any]: ...

    def log_prob(self, value: Array, location: Array) -> Array: ...


@dataclass(frozen=True)
class Gaussian:
    """Additive noise N(0, sd²)."""

    sd: float

    def sample(self, location: Array, rng: np.random.Generator) -> Array:
        return location + self.sd * rng.standard_normal(location.shape)

    def log_prob(self, value: Array, location: Array) -> Array:
        """Log density without its constant, hence never above 0."""
        return -0.5 * ((value - location) / self.sd) ** 2


@dataclass(frozen=True)
class Bernoulli:
    """Class 1 with the given probability, which an extreme E may push outside [0, 1]."""

    def sample(self, location: Array, rng: np.random.Generator) -> NDArray[Any]:
        return np.asarray(rng.random(location.shape) < location, dtype=np.int64)

    def log_prob(self, value: Array, location: Array) -> Array:
        p = np.clip(location, 0.0, 1.0)
        return np.asarray(np.where(value == 1, xlogy(1.0, p), xlogy(1.0, 1.0 - p)))


@dataclass(frozen=True)
class Poisson:
    """Counts with the given rate."""

    def sample(self, location: Array, rng: np.random.Generator) -> Array:
        return rng.poisson(np.maximum(location, 0.0)).astype(np.float64)

    def log_prob(self, value: Array, location: Array) -> Array:
        return np.asarray(poisson.logpmf(value, np.maximum(location, 0.0)))


@dataclass(frozen=True)
class Exceedance:
    """I(T > threshold) for log T ~ N(location, sd²)."""

    threshold: float
    sd: float

    def sample(self, location: Array, rng: np.random.Generator) -> NDArray[Any]:
        log_t = location + self.sd * rng.standard_normal(location.shape)
        return np.asarray(log_t > np.log(self.threshold), dtype=np.int64)

    def log_prob(self, value: Array, location: Array) -> Array:
        z = (location - np.log(self.threshold)) / self.sd
        return np.asarray(log_ndtr(np.where(value == 1, z, -z)))


@dataclass(frozen=True)
class Equation:
    """One variable: a function of its inputs alone (parents, and ``"E"`` if E acts on it).

    Where E has a dimension of its own for each variable, the input is ``env_of(name)`` instead.
    """

    name: str
    inputs: tuple[str, ...]
    function: Callable[..., Any]
    law: Law

    @classmethod
    def of(cls, name: str, law: Law, function: Callable[..., Any]) -> "Equation":
        """Read the inputs from the function's argument names."""
        return cls(name, tuple(inspect.signature(function).parameters), function, law)

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(v for v in self.inputs if not is_env(v))

    @property
    def perturbed(self) -> bool:
        return any(is_env(v) for v in self.inputs)

    def location(self, values: Values) -> Array:
        return np.asarray(self.function(*(values[v] for v in self.inputs)), dtype=np.float64)

    def log_prob(self, values: Values) -> Array:
        return self.law.log_prob(values[self.name], self.location(values))


@dataclass(frozen=True)
class StructuralModel:
    """Equations in causal order; ``columns`` is the order in which tables show the variables."""

    equations: tuple[Equation, ...]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, equations: Sequence[Equation]) -> "StructuralModel":
        """Columns by name: X1, X2, …, Y."""
        return cls(tuple(equations), tuple(sorted(eq.name for eq in equations)))

    def __getitem__(self, name: str) -> Equation:
        return next(eq for eq in self.equations if eq.name == name)

    def children(self, name: str) -> list[Equation]:
        return [eq for eq in self.equations if name in eq.parents]

    def sample(
        self, env: float | Mapping[str, float], n_rows: int, rng: np.random.Generator
    ) -> dict[str, Array]:
        """Rows of one domain; E as one number, or its dimensions by name (see `env_of`)."""
        dimensions = env if isinstance(env, Mapping) else {ENV: env}
        values = {name: np.full(n_rows, value) for name, value in dimensions.items()}
        for eq in self.equations:
            values[eq.name] = eq.law.sample(np.broadcast_to(eq.location(values), (n_rows,)), rng)
        return {name: values[name] for name in self.columns}

    def blanket_log_prob(self, name: str, values: Values) -> Array:
        """log p(variable | all others, E) up to a constant: its own equation and its children's.

        Values may carry a trailing axis of candidates for ``name``.
        """
        return sum(
            (child.log_prob(values) for child in self.children(name)), self[name].log_prob(values)
        )

    def graph(self) -> nx.DiGraph:
        """The DAG of the variables, each with the attribute ``perturbed``; E is not a node."""
        graph = nx.DiGraph()
        for name in self.columns:
            graph.add_node(name, perturbed=self[name].perturbed)
        graph.add_edges_from((p, eq.name) for eq in self.equations for p in eq.parents)
        return graph
