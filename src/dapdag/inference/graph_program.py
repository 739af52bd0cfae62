"""Inference on the graph for many rows of a site whose effects are known, in one compiled program.

The same posterior as `graph_expert.expect`, with the mechanisms evaluated block by block. A child
that reads nothing but the label has the same outputs in every row: they are computed once.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from .._runtime.compile import Effort, jit
from ..data.layout import Encoded
from .experts import (
    label_grid,
    label_inputs,
    label_support,
    padded_label,
    slot_outputs,
    slot_outputs_by_label,
)
from .fitted import FittedModel
from .graph_expert import interpolation
from .programs import in_blocks
from .site_effects import Effects


class GraphSite(eqx.Module):
    """What the program needs to know about a site.

    Attributes
    ----------
    weights, env : of the mechanisms' networks, and E of each member.
    support, grid : values that the label may take, and those at which mechanisms are evaluated.
    refine : interpolates from the one to the other; None where they are the same.
    added, other : what a value adds to a slot's inputs, and which inputs are not the label's, see
        `experts.label_inputs`.
    effects, noise : of the site on each slot.
    temperature : weight of the children's evidence.
    by_row, by_label : the children that read other variables as well, and those that do not; none
        at temperature 0.
    """

    weights: Float[Array, "members networks"]
    env: Float[Array, "members dim"]
    support: Float[Array, "values label_columns"]
    grid: Float[Array, "points padded_columns"]
    refine: Float[Array, "values points"] | None
    added: Float[Array, "slots values inputs_and_1"]
    other: Float[Array, "slots inputs"]
    effects: Float[Array, "slots inputs_and_1 width"]
    noise: Float[Array, " slots"]
    temperature: Float[Array, ""]
    by_row: Int[Array, " some"]
    by_label: Int[Array, " others"]


def label_moments(
    model: FittedModel,
    weights: NDArray,
    env: NDArray,
    effects: Sequence[Effects],
    temperature: float,
    data: Encoded,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean [rows, label columns] of the label's posterior, and the variance [rows] of a number."""
    site = graph_site(model, weights, env, effects, temperature)
    about = model.sizes, model.layout, model.blanket, model.table.label.kind, model.vectors
    mean, square = _moments(*about, site, data.values, data.observed)
    mean, square = (np.asarray(a, dtype=float) for a in (mean, square))
    return mean, np.maximum(square[:, 0] - mean[:, 0] ** 2, 0.0)


def graph_site(
    model: FittedModel,
    weights: NDArray,
    env: NDArray,
    effects: Sequence[Effects],
    temperature: float,
) -> GraphSite:
    """The site as arrays."""
    blanket: Any = model.blanket
    support, grid = label_support(model), label_grid(model)
    added, other = label_inputs(model, support)
    moved = np.zeros((len(blanket.variable), *effects[0].effects.shape))
    noise = np.ones(len(moved))
    for s, own in enumerate(effects):
        moved[s], noise[s] = own.effects, own.noise
    same = len(grid) == len(support)
    refine = None if same else interpolation(grid[:, 0], support[:, 0])
    children = np.arange(1, len(moved)) if temperature > 0 else np.zeros(0, dtype=int)
    reads_more = (other * blanket.reads_any).any(1)[children]
    by_row, by_label = children[reads_more], children[~reads_more]
    site: Any = (
        *(weights, env, support, padded_label(model, grid), refine, added, other, moved, noise),
        *(np.array(temperature), by_row.astype(np.int32), by_label.astype(np.int32)),
    )
    return jax.tree.map(_single, GraphSite(*site))


def _single(array: NDArray) -> NDArray:
    return array.astype(np.float32) if array.dtype == np.float64 else array


def moments_of_rows(sizes, layout, blanket, kind, vectors, site, values, observed):
    """First and second moment of the label's posterior at rows, to be compiled."""
    about = vectors, site.weights, site.env, blanket

    def with_every_label(slots: Array, inputs: Array) -> Array:
        """[values, slots, width, rows], with what the site's effects make of the label."""
        every = slot_outputs_by_label(sizes, layout, *about, inputs, slots, site.grid)
        if site.refine is not None:
            every = jnp.einsum("fc,cswn->fswn", site.refine, every)
        moved = jnp.einsum("ski,siw->ksw", site.added[slots], site.effects[slots])
        return every + moved[..., None]

    inputs = layout.inputs(values, observed)
    label = slot_outputs(sizes, *about, inputs, jnp.arange(1))[0] + site.effects[0, 0, :, None]
    total = _label_log_density(kind, label, site)
    for slots, rows in ((site.by_row, inputs), (site.by_label, jnp.zeros_like(inputs[:1]))):
        if len(slots):
            some = blanket.take(slots)
            shift = _shift(some, site.other[slots], site.effects[slots], rows)
            every = with_every_label(slots, rows) + shift
            cells = jnp.swapaxes(some.values(values), 1, 2)  # [slots, width, rows]
            found = _log_densities(layout.kinds, some, every, cells, site.noise[slots])
            total = total + site.temperature * (found * some.observed(observed)).sum(1)
    posterior = jax.nn.softmax(total, axis=0)  # [values, rows]
    return posterior.T @ site.support, posterior.T @ site.support**2


def _shift(blanket: Any, other: Array, effects: Array, inputs: Array) -> Array:
    """What the site's effects make of a constant and of the inputs that are not the label:
    [slots, width, rows]."""
    own = inputs.T[blanket.reads] * (blanket.reads_any * other)[..., None]  # [slots, inputs, rows]
    return effects[:, 0, :, None] + jnp.einsum("sin,siw->swn", own, effects[:, 1:])


@jit(Effort.MANY_ROWS)
def _moments(sizes, layout, blanket, kind, vectors, site, values, observed):
    about = sizes, layout, blanket, kind, vectors, site
    return in_blocks(lambda rows: moments_of_rows(*about, *rows), (values, observed))


def _log_densities(
    kinds: Sequence[str], blanket: Any, outputs: Array, values: Array, noise: Array
) -> Array:
    """log p(value | parents, label) of every slot: [values of the label, slots, rows]."""
    found = jnp.zeros(())
    if "continuous" in kinds:
        spread = noise[:, None]
        square = (values[:, 0] - outputs[:, :, 0]) ** 2
        normal = -0.5 * (square / spread + jnp.log(2 * jnp.pi * spread))
        found = found + blanket.continuous[:, None] * normal
    if "binary" in kinds:
        two = values[:, 0] * outputs[:, :, 0] - jax.nn.softplus(outputs[:, :, 0])
        found = found + blanket.binary[:, None] * two
    if "categorical" in kinds:
        logits = jnp.where(blanket.columns_any[..., None] > 0, outputs, -1e9)
        many = (values * jax.nn.log_softmax(logits, axis=2)).sum(2)
        found = found + blanket.categorical[:, None] * many
    return found


def _label_log_density(kind: str, outputs: Array, site: GraphSite) -> Array:
    """log p(value | parents of the label) from its outputs [width, rows]: [values, rows]."""
    if kind == "continuous":
        return -0.5 * (site.support[:, :1] - outputs[0]) ** 2 / site.noise[0]
    if kind == "binary":
        return jax.nn.log_softmax(jnp.stack([jnp.zeros_like(outputs[0]), outputs[0]]), axis=0)
    return jax.nn.log_softmax(outputs[: site.support.shape[1]], axis=0)
