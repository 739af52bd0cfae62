"""All weights of a network as one flat vector, and where its parts lie in it."""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from .mechanisms import Mechanisms
from .network import Network, Sizes


@dataclass(frozen=True)
class Slices:
    """Where the parts of a network lie in the flat vector of its parameters."""

    encoder: slice
    decoder: slice
    label: slice  # the label networks; empty where the label has none of its own
    mechanisms: slice  # of the label and its children; empty without inference on the graph

    @property
    def size(self) -> int:
        """The number of parameters; weights of another kind may follow (MDAN's critics)."""
        return self.mechanisms.stop


@functools.cache
def slices_of(sizes: Sizes) -> Slices:
    """The parts in the order in which `ravel_pytree` writes them: that of the fields."""
    network = jax.eval_shape(lambda: Network.zeros(sizes))
    parts = network.encoder, network.decoder, network.label, network.mechanisms
    counts = [_count(part) for part in parts]
    ends = np.cumsum([0, *counts]).tolist()
    return Slices(*(slice(a, b) for a, b in itertools.pairwise(ends)))


def unravel(sizes: Sizes, vector: Float[Array, " parameters"]) -> Network:
    """The network that a vector of all its parameters stands for."""
    return ravel_pytree(Network.zeros(sizes))[1](vector)


def ravel(network: Network) -> Float[Array, " parameters"]:
    return ravel_pytree(network)[0]


def split_folds(
    sizes: Sizes, vector: Float[Array, " parameters"]
) -> tuple[Float[Array, " parameters"], Float[Array, " parameters"]]:
    """The network with the label's networks that saw all sources, and the one with those that left
    some out; both have these sizes with `n_fold` 0, and the same encoder and decoder."""
    n, folds, pooled = sizes.n_predictors, sizes.n_fold, sizes.n_pooled
    own = [*range(n), *range(n + folds, n + folds + pooled)]
    left = [*range(n, n + folds), *range(n + folds + pooled, n + pooled + 2 * folds)]
    network = unravel(sizes, vector)

    def part(networks: list[int], mechanisms: slice) -> Float[Array, " parameters"]:
        label, own_mechanisms = network.label, network.mechanisms
        assert label is not None and own_mechanisms is not None
        slots = slice(mechanisms.start * sizes.slots, mechanisms.stop * sizes.slots)
        return ravel(
            eqx.tree_at(
                lambda n: (n.label, n.mechanisms),
                network,
                (
                    label.take(networks, pooled),
                    Mechanisms(
                        own_mechanisms.networks.take(range(slots.start, slots.stop), 0),
                        own_mechanisms.log_scale[mechanisms],
                    ),
                ),
            )
        )

    return part(own, slice(0, n)), part(left, slice(n, n + folds))


def _count(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))
