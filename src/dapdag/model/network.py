"""Encoder and decoder together: what is trained, saved and used."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from .decoder import Decoder, ParentMask
from .encoder import Encoder, Posterior, Summary, posterior
from .layout import Layout
from .likelihoods import mean
from .predictor import Predictor


@dataclass(frozen=True)
class Sizes:
    """Everything that fixes the shapes of the parameters."""

    columns: int
    variables: int
    label_columns: int
    hidden: int
    env_dim: int
    n_shared: int
    n_predictors: int
    indicators: bool = False
    n_pooled: int = 0  # further predictors that do not see E
    squares_env: bool = True  # E² beside E is an input of the predictors that see E

    @property
    def inputs(self) -> int:
        """What a network sees of a row: its columns and, if asked for, which cells are missing."""
        return self.columns + self.variables * self.indicators

    @property
    def votes(self) -> int:
        """How many outputs the label has: one per predictor, or that of its own filter."""
        return max(self.n_predictors + self.n_pooled, 1)


class Network(eqx.Module):
    """The encoder g, the decoder Θ and the label's predictor.

    Without a predictor the label is predicted through its own structural filter, as in the paper.
    """

    encoder: Encoder
    decoder: Decoder
    predictor: Predictor | None
    label_columns: int = eqx.field(static=True)

    @staticmethod
    def zeros(sizes: Sizes) -> "Network":
        shape = (sizes.hidden, sizes.env_dim, sizes.n_shared)
        predictor = Predictor.zeros(
            *(sizes.votes, sizes.n_pooled, sizes.inputs, sizes.label_columns, *shape),
            squares_env=sizes.squares_env,
        )
        return Network(
            Encoder.zeros(sizes.inputs, sizes.hidden, sizes.env_dim),
            Decoder.zeros(sizes.inputs, sizes.columns, sizes.variables, *shape),
            predictor if sizes.n_predictors else None,
            sizes.label_columns,
        )

    @staticmethod
    def init(sizes: Sizes, key: PRNGKeyArray) -> "Network":
        """Random weights, from one draw for all of them: every further call costs compilation."""
        zeros, unravel = ravel_pytree(Network.zeros(sizes))
        drawn = unravel(jax.random.normal(key, zeros.shape))
        predictor = None if drawn.predictor is None else drawn.predictor.scaled()
        return Network(
            drawn.encoder.scaled(), drawn.decoder.scaled(), predictor, sizes.label_columns
        )

    def predict(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws votes rows label_columns"]:
        """The label's outputs for several draws of E, one vote per predictor."""
        if self.predictor is not None:
            return self.predictor.predict(layout, inputs, envs)
        return self.decoder.predict(layout, parents, inputs, envs, self.label_columns)[:, None]

    def label_log_scale(self) -> Float[Array, ""]:
        """log of the noise scale that the label's prediction uses."""
        if self.predictor is not None:
            return self.predictor.log_scale
        return self.decoder.log_scale[-1]

    def summarise(
        self,
        layout: Layout,
        inputs: Float[Array, "rows inputs"],
        present: Float[Array, " rows"],
        prior_precision: Float[Array, ""] | float,
    ) -> Summary:
        """The encoder sees the features only, never the label."""
        return self.encoder.summarise(inputs * layout.from_features, present, prior_precision)

    def infer(
        self,
        layout: Layout,
        inputs: Float[Array, "rows inputs"],
        present: Float[Array, " rows"],
        prior_precision: Float[Array, ""] | float,
    ) -> Posterior:
        """Posterior of E given the features of the rows that are present."""
        return posterior(self.summarise(layout, inputs, present, prior_precision), prior_precision)


def unravel(sizes: Sizes, vector: Float[Array, " parameters"]) -> Network:
    """The network that a vector of all parameters stands for."""
    return ravel_pytree(Network.zeros(sizes))[1](vector)


def mean_strength(
    network: Network,
    layout: Layout,
    parents: ParentMask,
    inputs: Float[Array, "rows inputs"],
    envs: Float[Array, "rows dim"],
) -> tuple[Float[Array, "variables variables"], Float[Array, " variables"]]:
    """Root-mean-square derivative of every reconstruction, in units of standard deviations.

    Returns the strength of each edge i → j, and that of E on each variable. A block of columns
    counts as one variable: squares add up over its columns.
    """

    unit = jnp.where(layout.scale > 0, layout.scale, 1.0)

    def means(inputs: Array, envs: Array) -> Array:
        return mean(layout, network.decoder.reconstruct(layout, parents, inputs, envs)) / unit

    # Rows do not influence each other, so one push moves the same input of all of them.
    def by_input(unit_vector: Float[Array, " inputs"]) -> Float[Array, " columns"]:
        push = jnp.broadcast_to(unit_vector, inputs.shape)
        return (jax.jvp(lambda x: means(x, envs), (inputs,), (push,))[1] ** 2).mean(0)

    def by_env(unit_vector: Float[Array, " dim"]) -> Float[Array, " columns"]:
        push = jnp.broadcast_to(unit_vector, envs.shape)
        return (jax.jvp(lambda e: means(inputs, e), (envs,), (push,))[1] ** 2).mean(0)

    # An indicator of missing cells has no unit to be measured in: values alone count.
    pushes = jnp.diag(unit) @ jnp.eye(len(unit), inputs.shape[1])
    edges = jax.lax.map(by_input, pushes)  # [parent column, child column]
    on_env = jax.lax.map(by_env, jnp.eye(envs.shape[1])).sum(0)
    strength = jnp.sqrt(layout.owner.T @ edges @ layout.owner)  # [parent, child]
    return strength, jnp.sqrt(on_env @ layout.owner)
