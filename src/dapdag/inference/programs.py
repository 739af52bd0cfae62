"""Compiled functions over the rows of a domain and the members of a model."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from .._runtime.compile import Effort, jit
from ..model import Decoder, Layout, ParentMask
from ..model.formulation import Formulation, cell_losses
from ..model.likelihoods import log_density, mean
from ..model.parameters import unravel
from .fitted import FittedModel

# Inside a compiled call rows go through in blocks that fit the cache.
BLOCK_ROWS = 256


def in_blocks(
    function: Callable[[Any], tuple[jax.Array, ...]], arrays: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    """Apply a function of rows to blocks of them, one after the other."""
    rows = arrays[0].shape[0]
    if rows % BLOCK_ROWS:
        return function(arrays)
    blocks = tuple(a.reshape(-1, BLOCK_ROWS, *a.shape[1:]) for a in arrays)
    return tuple(a.reshape(-1, *a.shape[2:]) for a in jax.lax.map(function, blocks))


class MemberDecoder(eqx.Module):
    """The decoder of one member, on the model's graph."""

    decoder: Decoder
    layout: Layout
    parents: ParentMask
    formulation: Formulation = eqx.field(static=True)

    def outputs(
        self,
        values: Float[Array, "rows columns"],
        observed: Float[Array, "rows variables"],
        env: Float[Array, " dim"],
    ) -> Float[Array, "rows columns"]:
        inputs = self.layout.inputs(values, observed)
        return self.decoder.reconstruct(self.layout, self.parents, inputs, env)

    def means(self, values: Array, observed: Array, env: Array) -> Float[Array, "rows columns"]:
        """Expected value of every column given its variable's parents and E."""
        return mean(self.layout, self.outputs(values, observed, env))

    def losses(self, values: Array, observed: Array, env: Array) -> Float[Array, "rows variables"]:
        """Loss of every cell given its parents and E."""
        outputs = self.outputs(values, observed, env)
        return cell_losses(self.formulation, self.layout, self.decoder, outputs, values)

    def log_densities(
        self, values: Array, observed: Array, env: Array
    ) -> Float[Array, "rows variables"]:
        outputs = self.outputs(values, observed, env)
        return log_density(self.layout, outputs, values, self.decoder.log_scale)


def per_member(
    model: FittedModel,
    function: Callable[..., Array],
    each: tuple[Any, ...],
    *shared: Any,
    effort: Effort = Effort.BALANCED,
) -> NDArray:
    """`function(decoder, *own, *shared)` of every member, compiled: [members, …].

    `function` is one of a module, so that its program is found again; the arrays of `each` have a
    leading axis of members, and `own` are those of one member.
    """
    arrays = tuple(jax.tree.map(_single, part) for part in (each, shared))
    program = _PROGRAMS[effort]
    about = model.sizes, model.formulation, model.layout, model.parents
    return np.asarray(program(function, *about, model.vectors, *arrays))


def _single(array: Any) -> Any:
    """Floats in single precision, as the networks compute."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _run(
    function: Callable[..., Array],
    sizes: Any,
    formulation: Formulation,
    layout: Layout,
    parents: Any,
    vectors: Any,
    each: tuple[Any, ...],
    shared: tuple[Any, ...],
) -> Array:
    parents = jnp.asarray(parents)

    def member(lane: tuple[Array, tuple[Array, ...]]) -> Array:
        vector, own = lane
        decoder = unravel(sizes, vector).decoder
        return function(MemberDecoder(decoder, layout, parents, formulation), *own, *shared)

    return jax.lax.map(member, (jnp.asarray(vectors), jax.tree.map(jnp.asarray, each)))


_PROGRAMS = {effort: jit(effort)(_run) for effort in Effort}
