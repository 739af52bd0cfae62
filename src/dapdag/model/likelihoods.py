"""One likelihood per type of variable.

Each class turns the decoder's outputs into a log-density per cell and into a mean. They work on
all columns at once and are combined by the 0/1 type indicators of the layout, because which
variable is of which type is data here, not code: tables of one width share a compiled program.
"""

from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .constants import LEAST_PROBABILITY, MIN_LOG_SCALE
from .layout import Layout

Cells = Float[Array, "rows columns"]
PerVariable = Float[Array, "rows variables"]


def bounded_log_scale(log_scale: Array) -> Array:
    """A log scale softly kept above the floor: one that fell low can still rise again."""
    return MIN_LOG_SCALE + jax.nn.softplus(log_scale - MIN_LOG_SCALE)


def noise_scale(log_scale: Array) -> Array:
    """Standard deviation of the noise that a log scale stands for."""
    return jnp.exp(bounded_log_scale(log_scale))


class Likelihood(Protocol):
    """What a type of variable has to know."""

    @staticmethod
    def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
        """log p(value) of every cell, as if all columns were of this type."""
        ...

    @staticmethod
    def mean(layout: Layout, outputs: Cells) -> Cells:
        """Expected value of every column."""
        ...


class Gaussian:
    """A continuous variable: normal around the output, with a learned scale per variable."""

    @staticmethod
    def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
        bounded = bounded_log_scale(log_scale)
        z = layout.to_variables(values - outputs) * jnp.exp(-bounded)
        return -0.5 * (z**2 + jnp.log(2 * jnp.pi)) - bounded

    @staticmethod
    def mean(layout: Layout, outputs: Cells) -> Cells:
        return outputs


class Bernoulli:
    """A binary variable: the output is its logit."""

    @staticmethod
    def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
        return layout.to_variables(values * outputs - jax.nn.softplus(outputs))

    @staticmethod
    def mean(layout: Layout, outputs: Cells) -> Cells:
        return jax.nn.sigmoid(outputs)


class Categorical:
    """A variable of several classes: the outputs of its block are the logits."""

    @staticmethod
    def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
        return layout.to_variables(values * (outputs - _log_normaliser(layout, outputs)))

    @staticmethod
    def mean(layout: Layout, outputs: Cells) -> Cells:
        return jnp.exp(outputs - _log_normaliser(layout, outputs))


LIKELIHOODS: dict[str, type[Likelihood]] = {
    "continuous": Gaussian,
    "binary": Bernoulli,
    "categorical": Categorical,
}


def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
    """log p(value | parents, E) of every cell, each under its variable's likelihood."""
    return sum(
        (
            getattr(layout, kind) * likelihood.log_density(layout, outputs, values, log_scale)
            for kind, likelihood in _occurring(layout)
        ),
        start=jnp.zeros(()),
    )


def squared_or_cross_entropy(layout: Layout, outputs: Cells, values: Cells) -> PerVariable:
    """The paper's loss per cell: squared error if continuous, else cross-entropy."""
    error = layout.to_variables((values - outputs) ** 2)
    no_scale = jnp.zeros(layout.owner.shape[1])
    return layout.continuous * error - sum(
        getattr(layout, kind) * LIKELIHOODS[kind].log_density(layout, outputs, values, no_scale)
        for kind in ("binary", "categorical")
        if kind in layout.kinds
    )


def mean(layout: Layout, outputs: Cells) -> Cells:
    """The expected value of every column given the decoder's outputs."""
    return sum(
        (
            layout.to_columns(getattr(layout, kind)) * likelihood.mean(layout, outputs)
            for kind, likelihood in _occurring(layout)
        ),
        start=jnp.zeros(()),
    )


def class_losses(
    kind: str, means: Float[Array, "rows label_columns"], truth: Float[Array, "rows label_columns"]
) -> Float[Array, " rows"]:
    """−log of the probability of each row's class, given those of the label's columns."""
    likely = truth * means if kind == "categorical" else truth * means + (1 - truth) * (1 - means)
    return -jnp.log(jnp.maximum(likely.sum(-1), LEAST_PROBABILITY))


def _occurring(layout: Layout) -> list[tuple[str, type[Likelihood]]]:
    return [(kind, LIKELIHOODS[kind]) for kind in layout.kinds]


def _log_normaliser(layout: Layout, outputs: Cells) -> Cells:
    """log Σ exp over the block that each column belongs to."""
    owned = layout.owner > 0  # [columns, variables]
    largest = jnp.where(owned.any(0), jax.lax.stop_gradient(layout.largest(outputs)), 0.0)
    shift = layout.to_columns(largest)
    # Padded columns would overflow: nothing is subtracted from them, and nobody reads them.
    block = layout.to_variables(jnp.exp(jnp.where(owned.any(1), outputs - shift, 0.0)))
    return layout.to_columns(jnp.log(jnp.where(block > 0, block, 1.0))) + shift
