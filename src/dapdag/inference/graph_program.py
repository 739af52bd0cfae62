"""Inference on the graph for many rows of a site whose effects are known, in one compiled program.

The same posterior as `graph_expert.expect`, with the mechanisms evaluated block by block.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from .._runtime.compile import jit
from ..data.layout import Encoded
from ..model.mechanisms import with_label
from .experts import label_grid, label_inputs, label_support, padded_label, slot_outputs
from .fitted import FittedModel
from .graph_expert import interpolation
from .programs import in_blocks
from .site_effects import Effects


def label_moments(
    model: FittedModel,
    weights: NDArray,
    env: NDArray,
    effects: Sequence[Effects],
    temperature: float,
    data: Encoded,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean [rows, label columns] of the label's posterior, and the variance [rows] of a number."""
    site, grid = site_arrays(model, weights, env, effects, temperature)
    about = model.sizes, model.layout, model.blanket, model.table.label.kind, model.vectors
    mean, square = _moments(*about, site, grid, data.values, data.observed)
    mean, square = (np.asarray(a, dtype=float) for a in (mean, square))
    return mean, np.maximum(square[:, 0] - mean[:, 0] ** 2, 0.0)


def site_arrays(
    model: FittedModel,
    weights: NDArray,
    env: NDArray,
    effects: Sequence[Effects],
    temperature: float,
) -> tuple[tuple[NDArray[np.float32], ...], NDArray[np.float32]]:
    """What the program needs to know about a site, and the grid of the label's values."""
    blanket: Any = model.blanket
    support, grid = label_support(model), label_grid(model)
    added, other = label_inputs(model, support)
    moved = np.zeros((len(blanket.variable), *effects[0].effects.shape))
    noise = np.ones(len(moved))
    for s, own in enumerate(effects):
        moved[s], noise[s] = own.effects, own.noise
    refine = interpolation(grid[:, 0], support[:, 0])
    site = weights, env, added, other, moved, noise, refine, support, np.array(temperature)
    return tuple(a.astype(np.float32) for a in site), padded_label(model, grid)


def moments_of_rows(sizes, layout, blanket, kind, vectors, site, grid, values, observed):
    """First and second moment of the label's posterior at rows, to be compiled."""
    weights, env, added, other, moved, noise, refine, support, temperature = site

    def outputs(inputs: Array) -> Array:
        return slot_outputs(sizes, vectors, weights, env, blanket, inputs)

    inputs = layout.inputs(values, observed)
    own = inputs[:, blanket.reads] * blanket.reads_any * other  # [rows, slots, inputs]
    shift = moved[:, 0] + jnp.einsum("nsi,siw->nsw", own, moved[:, 1:])
    by_label = jnp.einsum("ski,siw->ksw", added, moved)
    coarse = jax.lax.map(lambda value: outputs(with_label(layout, inputs, value)), grid)
    every = jnp.einsum("fc,cnsw->fnsw", refine, coarse) + shift + by_label[:, None]
    total = _label_log_density(kind, outputs(inputs)[:, 0] + shift[:, 0], support, noise[0])
    cells = jnp.moveaxis(blanket.values(values), 0, 1)  # [rows, slots, width]
    seen = blanket.observed(observed).T
    children = _log_densities(blanket, every, cells, noise) * seen
    total = total + temperature * children[..., 1:].sum(-1)  # [values, rows]
    posterior = jax.nn.softmax(total, axis=0)
    return posterior.T @ support, posterior.T @ support**2


@jit()
def _moments(sizes, layout, blanket, kind, vectors, site, grid, values, observed):
    about = sizes, layout, blanket, kind, vectors, site, grid
    return in_blocks(lambda rows: moments_of_rows(*about, *rows), (values, observed))


def _log_densities(blanket: Any, outputs: Array, values: Array, noise: Array) -> Array:
    """log p(value | parents, label) of every slot: [values of the label, rows, slots]."""
    number, truth = outputs[..., 0], values[..., 0]
    normal = -0.5 * ((truth - number) ** 2 / noise + jnp.log(2 * jnp.pi * noise))
    two = truth * number - jax.nn.softplus(number)
    logits = jnp.where(blanket.columns_any > 0, outputs, -1e9)
    many = (values * jax.nn.log_softmax(logits, axis=-1)).sum(-1)
    return blanket.continuous * normal + blanket.binary * two + blanket.categorical * many


def _label_log_density(kind: str, outputs: Array, support: Array, noise: Array) -> Array:
    """log p(value | parents of the label): [values, rows]."""
    if kind == "continuous":
        return -0.5 * (support[:, :1] - outputs[:, 0]) ** 2 / noise
    if kind == "binary":
        return jax.nn.log_softmax(jnp.stack([jnp.zeros_like(outputs[:, 0]), outputs[:, 0]]), axis=0)
    return jax.nn.log_softmax(outputs[:, : support.shape[1]], axis=1).T
