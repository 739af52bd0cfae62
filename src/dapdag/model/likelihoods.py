"""One likelihood per type of variable.

Each class turns the decoder's outputs into a log-density per cell and into a mean. They work on
all columns at once and are combined by the 0/1 type indicators of the layout, because which
variable is of which type is data here, not code: tables of one width share a compiled program.
"""

from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .layout import Layout

# The noise scale of a standardised variable is kept above exp(-2.5) = 0.08: below that a few
# cells that are nearly a function of others would dominate the sum over variables.
MIN_LOG_SCALE = -2.5

Cells = Float[Array, "rows columns"]
PerVariable = Float[Array, "rows variables"]


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
        bounded = jnp.maximum(log_scale, MIN_LOG_SCALE)
        z = (values - outputs) @ layout.owner * jnp.exp(-bounded)
        return -0.5 * (z**2 + jnp.log(2 * jnp.pi)) - bounded

    @staticmethod
    def mean(layout: Layout, outputs: Cells) -> Cells:
        return outputs


class Bernoulli:
    """A binary variable: the output is its logit."""

    @staticmethod
    def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
        return (values * outputs - jax.nn.softplus(outputs)) @ layout.owner

    @staticmethod
    def mean(layout: Layout, outputs: Cells) -> Cells:
        return jax.nn.sigmoid(outputs)


class Categorical:
    """A variable of several classes: the outputs of its block are the logits."""

    @staticmethod
    def log_density(layout: Layout, outputs: Cells, values: Cells, log_scale: Array) -> PerVariable:
        return (values * (outputs - _log_normaliser(layout, outputs))) @ layout.owner

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
            for kind, likelihood in LIKELIHOODS.items()
        ),
        start=jnp.zeros(()),
    )


def squared_or_cross_entropy(layout: Layout, outputs: Cells, values: Cells) -> PerVariable:
    """The paper's loss per cell: squared error if continuous, else cross-entropy."""
    error = ((values - outputs) ** 2) @ layout.owner
    no_scale = jnp.zeros(layout.owner.shape[1])
    return layout.continuous * error - sum(
        getattr(layout, kind) * LIKELIHOODS[kind].log_density(layout, outputs, values, no_scale)
        for kind in ("binary", "categorical")
    )


def mean(layout: Layout, outputs: Cells) -> Cells:
    """The expected value of every column given the decoder's outputs."""
    return sum(
        (
            layout.to_columns(getattr(layout, kind)) * likelihood.mean(layout, outputs)
            for kind, likelihood in LIKELIHOODS.items()
        ),
        start=jnp.zeros(()),
    )


def _log_normaliser(layout: Layout, outputs: Cells) -> Cells:
    """log Σ exp over the block that each column belongs to."""
    # One shift for the whole row is enough for stability: a block whose logits lie more than
    # 80 below the row's largest is clipped instead of underflowing to log 0.
    shifted = jnp.maximum(outputs - jax.lax.stop_gradient(outputs.max(-1, keepdims=True)), -80.0)
    block = jnp.exp(shifted) @ layout.owner
    total = jnp.log(jnp.where(block > 0, block, 1.0))
    return layout.to_columns(total) + (outputs - shifted)
