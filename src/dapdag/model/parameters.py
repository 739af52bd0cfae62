"""All weights of a network as one flat vector, and where its parts lie in it."""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from .network import Network, Sizes


@dataclass(frozen=True)
class Slices:
    """Where the parts of a network lie in the flat vector of its parameters."""

    encoder: slice
    decoder: slice
    label: slice  # the label networks; empty where the label has none of its own

    @property
    def size(self) -> int:
        """The number of parameters; weights of another kind may follow (MDAN's critics)."""
        return self.label.stop

    def mask(self, part: slice, length: int) -> np.ndarray:
        """Which elements of a vector of this length belong to a part."""
        place = np.arange(length)
        return (part.start <= place) & (place < part.stop)


@functools.cache
def slices_of(sizes: Sizes) -> Slices:
    """The parts in the order in which `ravel_pytree` writes them: that of the fields."""
    network = jax.eval_shape(lambda: Network.zeros(sizes))
    counts = [_count(part) for part in (network.encoder, network.decoder, network.label)]
    ends = np.cumsum([0, *counts]).tolist()
    return Slices(*(slice(a, b) for a, b in itertools.pairwise(ends)))


def unravel(sizes: Sizes, vector: Float[Array, " parameters"]) -> Network:
    """The network that a vector of all its parameters stands for."""
    return ravel_pytree(Network.zeros(sizes))[1](vector)


def ravel(network: Network) -> Float[Array, " parameters"]:
    return ravel_pytree(network)[0]


def _count(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))
