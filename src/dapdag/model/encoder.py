"""Rows of a domain → posterior of its environment E.

The paper's encoder is a deep set: every row is evidence for E, a Gaussian N(φ(x), 1/ν(x)), and
Bayes' rule multiplies the rows' evidence,

    V = (Σ ν(xᵢ) − (n−1) ν₀)⁻¹,    μ = V Σ ν(xᵢ) φ(xᵢ).

With ν = ν₀ + softplus(·) the precision 1/V = ν₀ + Σ(ν − ν₀) can never fall below the prior's, and a
domain enters only through two sums. So the encoder is three steps: `summarise` rows, add summaries,
read the posterior off. A domain of any size streams through; parts of it may live on different
machines or arrive on different days.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .activation import elu
from .constants import INITIAL_PRECISION_OFFSET


class Summary(eqx.Module):
    """All that the posterior needs to know about a set of rows; summaries add up."""

    excess: Float[Array, "*lanes dim"]  # Σ (ν − ν₀)
    weighted: Float[Array, "*lanes dim"]  # Σ ν φ

    def __add__(self, other: "Summary") -> "Summary":
        return Summary(self.excess + other.excess, self.weighted + other.weighted)


class Posterior(eqx.Module):
    """The Gaussian posterior of E, one independent normal per dimension."""

    mean: Float[Array, "*lanes dim"]
    variance: Float[Array, "*lanes dim"]

    def draw(self, normal: Float[Array, "*draws dim"]) -> Float[Array, "*draws dim"]:
        """Turn standard normal numbers into draws of E."""
        return self.mean + jnp.sqrt(self.variance) * normal


class Encoder(eqx.Module):
    """Two hidden layers shared by all rows; the last layer gives log-odds of precision and φ."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    dim: int = eqx.field(static=True)

    @staticmethod
    def zeros(inputs: int, hidden: int, dim: int) -> "Encoder":
        widths = (inputs, hidden, hidden, 2 * dim)
        pairs = list(itertools.pairwise(widths))
        return Encoder(
            tuple(jnp.zeros(pair) for pair in pairs), tuple(jnp.zeros(b) for _, b in pairs), dim
        )

    def scaled(self) -> "Encoder":
        """Standard normal numbers in place of weights → initial weights; biases start at 0."""
        weights = tuple(w / jnp.sqrt(w.shape[0]) for w in self.weights)
        return Encoder(weights, tuple(jnp.zeros_like(b) for b in self.biases), self.dim)

    def row_evidence(
        self, inputs: Float[Array, "rows inputs"]
    ) -> tuple[Float[Array, "rows dim"], Float[Array, "rows dim"]]:
        """ν(x) − ν₀ ≥ 0 and φ(x) of every row."""
        h = inputs
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = elu(h @ weight + bias)
        out = h @ self.weights[-1] + self.biases[-1]  # [rows, 2 dim]
        return jax.nn.softplus(out[:, : self.dim] + INITIAL_PRECISION_OFFSET), out[:, self.dim :]

    def summarise(
        self,
        inputs: Float[Array, "rows inputs"],
        present: Float[Array, " rows"],
        prior_precision: Float[Array, ""] | float,
    ) -> Summary:
        """Add up the evidence of the rows that are present (1) and not padding (0)."""
        excess, location = self.row_evidence(inputs)
        weighted = (prior_precision + excess) * location
        return Summary(present @ excess, present @ weighted)


def posterior(summary: Summary, prior_precision: Float[Array, ""] | float) -> Posterior:
    """The posterior of E given everything that was summarised."""
    variance = 1.0 / (prior_precision + summary.excess)
    return Posterior(variance * summary.weighted, variance)
