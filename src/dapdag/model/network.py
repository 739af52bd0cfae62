"""Encoder, decoder and label networks together: what is trained, saved and used."""

from dataclasses import dataclass

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from .decoder import Decoder, ParentMask
from .encoder import Encoder, Posterior, Summary, posterior
from .label import LabelNetworks
from .layout import Layout
from .likelihoods import mean
from .mechanisms import Mechanisms


@dataclass(frozen=True)
class Sizes:
    """Everything that fixes the shapes of the parameters."""

    columns: int
    variables: int
    label_columns: int
    hidden: int
    env_dim: int
    n_shared: int
    n_predictors: int  # label networks that see E; 0: the label has its own filter only
    indicators: bool = False
    n_pooled: int = 0  # further label networks that do not see E
    n_fold: int = 0  # of either kind, more networks that leave sources out while they train
    reads: int = 0  # inputs that a structural filter reads; 0: all of them
    slots: int = 0  # label and children with mechanisms of their own; 0: no inference on the graph
    slot_inputs: int = 0
    slot_columns: int = 0
    squares_env: bool = True  # E² beside E is an input of the label networks that see E

    @property
    def inputs(self) -> int:
        """What a network sees of a row: its columns and, if asked for, which cells are missing."""
        return self.columns + self.variables * self.indicators

    @property
    def n_outputs(self) -> int:
        """How many predictions of the label there are: one per network, or that of its filter.

        In this order: with E on all sources, with E leaving some out; without E the same again.
        """
        return max(self.n_predictors + self.n_pooled + 2 * self.n_fold, 1)


class Network(eqx.Module):
    """The encoder g, the decoder Θ and the label networks.

    Without label networks the label is predicted through its own structural filter, as in the
    paper.
    """

    encoder: Encoder
    decoder: Decoder
    label: LabelNetworks | None
    mechanisms: Mechanisms | None  # of the label and its children
    label_columns: int = eqx.field(static=True)

    @staticmethod
    def zeros(sizes: Sizes) -> "Network":
        shape = (sizes.hidden, sizes.env_dim, sizes.n_shared)
        without_env = sizes.n_pooled + sizes.n_fold
        label = LabelNetworks.zeros(
            *(sizes.n_outputs, without_env, sizes.inputs, sizes.label_columns, *shape),
            squares_env=sizes.squares_env,
        )
        blanket = sizes.slots, sizes.slot_inputs, sizes.slot_columns
        mechanisms = Mechanisms.zeros(sizes.n_predictors + sizes.n_fold, *blanket, *shape)
        return Network(
            Encoder.zeros(sizes.inputs, sizes.hidden, sizes.env_dim),
            Decoder.zeros(sizes.reads or sizes.inputs, sizes.columns, sizes.variables, *shape),
            label if sizes.n_predictors else None,
            mechanisms if sizes.slots else None,
            sizes.label_columns,
        )

    @staticmethod
    def init(sizes: Sizes, key: PRNGKeyArray) -> "Network":
        """Random weights, from one draw for all of them: every further call costs compilation."""
        zeros, unravel = ravel_pytree(Network.zeros(sizes))
        drawn = unravel(jax.random.normal(key, zeros.shape))
        label = None if drawn.label is None else drawn.label.scaled()
        mechanisms = None if drawn.mechanisms is None else drawn.mechanisms.scaled()
        encoder, decoder = drawn.encoder.scaled(), drawn.decoder.scaled()
        return Network(encoder, decoder, label, mechanisms, sizes.label_columns)

    def label_outputs(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws networks rows label_columns"]:
        """The label's outputs (a mean or logits) for several draws of E, one per network."""
        if self.label is not None:
            return self.label.outputs(layout, inputs, envs)
        return self.decoder.predict(layout, parents, inputs, envs, self.label_columns)[:, None]

    def label_means(
        self,
        layout: Layout,
        parents: ParentMask,
        inputs: Float[Array, "rows inputs"],
        envs: Float[Array, "draws dim"],
    ) -> Float[Array, "draws networks rows label_columns"]:
        """The label's expected value under each network: what stacking weights average.

        Early stopping, cross-fitting, held-out rows and prediction all go through here.
        """
        only_label = layout.label_alone(self.label_columns)
        outputs = self.label_outputs(layout, parents, inputs, envs)
        return jax.vmap(jax.vmap(lambda one: mean(only_label, one)))(outputs)

    def label_log_scale(self) -> Float[Array, ""]:
        """log of the noise scale that the label's prediction uses."""
        return self.decoder.log_scale[-1] if self.label is None else self.label.log_scale

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
