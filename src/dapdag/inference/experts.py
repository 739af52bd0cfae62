"""The experts' predictions of the label: networks without E (f0), networks with E (f1), and
inference on the graph (f2).

The compiled programs here serve left-out sources and new sites alike: weights say which networks
of which members are averaged.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from .._runtime.compile import Effort, jit
from ..data.layout import Encoded
from ..model import Network
from ..model.constants import GRID_POINTS, GRID_REFINED
from ..model.mechanisms import Blanket, Mechanisms, with_label
from ..model.parameters import unravel
from .fitted import FittedModel
from .graph_expert import class_support, interpolation
from .programs import in_blocks
from .site_effects import SlotRows

Floats = NDArray[np.float64]


def network_moments(
    model: FittedModel, weights: NDArray, envs: NDArray, data: Encoded
) -> tuple[NDArray, NDArray]:
    """First and second moment over members, draws and networks of the label's expected columns.

    `weights` [experts, members, networks] sum to 1 for every expert, `envs` are
    [members, draws, dim]; both results are [experts, rows, label columns].
    """
    width = model.table.label.width
    about = model.sizes, model.layout, model.vectors, model.parents
    single = weights.astype(np.float32), envs.astype(np.float32)
    found = _moments(*about, *single, data.values, data.observed)
    return tuple(np.swapaxes(np.asarray(a), 0, 1)[..., :width] for a in found)  # type: ignore[return-value]


def label_support(model: FittedModel) -> Floats:
    """Values that the label may take in inference on the graph: [values, label columns]."""
    if model.table.label.kind != "continuous":
        return class_support(model.table.label.width)
    low, high = model.label_range
    return np.linspace(low, high, GRID_REFINED)[:, None]


def label_grid(model: FittedModel) -> Floats:
    """Values of the label at which mechanisms are evaluated; those between are interpolated."""
    if model.table.label.kind != "continuous":
        return label_support(model)
    return np.linspace(*model.label_range, GRID_POINTS)[:, None]


def padded_label(model: FittedModel, values: Floats) -> NDArray[np.float32]:
    """Values of the label [values, columns] among its padded columns."""
    out = np.zeros((len(values), model.sizes.label_columns), dtype=np.float32)
    out[:, : values.shape[1]] = values
    return out


def label_inputs(model: FittedModel, support: Floats) -> tuple[Floats, Floats]:
    """What each value of the label adds to a slot's inputs, behind a constant: [slots, values,
    1 + inputs], and 1 for the inputs that are not the label's: [slots, inputs]."""
    blanket: Any = model.blanket
    columns = model.layout.owner.shape[0]
    start = columns - model.sizes.label_columns
    center = np.asarray(model.layout.center, dtype=float)
    slots, inputs = blanket.reads.shape
    added, other = np.zeros((slots, len(support), 1 + inputs)), np.ones((slots, inputs))
    of_label = (blanket.reads >= start) & (blanket.reads < columns)
    for s, at in np.argwhere(of_label & (blanket.reads_any > 0)).tolist():
        other[s, at] = 0.0
        column = blanket.reads[s, at] - start
        if column < support.shape[1]:
            added[s, :, 1 + at] = support[:, column] - center[blanket.reads[s, at]]
    if model.sizes.indicators:
        # the label counts as known: it takes every value in turn
        other[blanket.reads == model.sizes.inputs - 1] = 0.0
    other[0] = 0.0  # the label's own mechanism has an effect on its intercept only
    return added, other


def evaluate_slots(
    model: FittedModel, weights: NDArray, env: NDArray, data: Encoded, n_rows: int, labelled: bool
) -> list[SlotRows]:
    """Outputs of the mechanisms of the label and its children at the first rows of a site.

    `weights` [members, networks] sum to 1, `env` is [members, dim]. With `labelled` the label is
    the one of each row; else it takes every value of `label_support`.
    """
    support, grid = label_support(model), label_grid(model)
    about = model.sizes, model.layout, model.blanket, model.vectors
    single = weights.astype(np.float32), env.astype(np.float32)
    program = _labelled_slots if labelled else _slots
    found = program(*about, *single, data.values, data.observed, padded_label(model, grid))
    # [rows, slots, width], [rows, values, slots, width], [rows, slots, inputs]
    first, every, own = (np.asarray(a, dtype=float)[:n_rows] for a in found)
    added, other = label_inputs(model, support)
    if labelled:
        every = first[:, None]
        added, other = np.zeros_like(added[:, :1]), (other > -1.0).astype(float)
        other[0] = 0.0
    elif len(grid) < len(support):
        every = np.einsum("fc,ncsw->nfsw", interpolation(grid[:, 0], support[:, 0]), every)
    return _slot_rows(model, data, n_rows, first, every, own * other, added)


def _slot_rows(
    model: FittedModel,
    data: Encoded,
    n_rows: int,
    first: Floats,
    every: Floats,
    own: Floats,
    added: Floats,
) -> list[SlotRows]:
    blanket: Any = model.blanket
    out = []
    for s in np.flatnonzero(blanket.real).tolist():
        kind = next(k for k in ("continuous", "binary", "categorical") if getattr(blanket, k)[s])
        outputs = first[None, :, s] if s == 0 else np.moveaxis(every[:, :, s], 1, 0)
        if kind == "categorical":
            outputs = np.where(blanket.columns_any[s] > 0, outputs, -1e9)
        values = data.values[:n_rows, blanket.columns[s]] * blanket.columns_any[s]
        design = np.concatenate([np.ones((n_rows, 1)), own[:, s]], axis=1)
        seen = data.observed[:n_rows, blanket.variable[s]].astype(float)
        label = added[s, : len(outputs)]
        out.append(SlotRows(kind, outputs, values.astype(float), seen, design, label))
    return out


def moments_of_rows(sizes, layout, vectors, parents, weights, envs, values, observed):
    """`network_moments` of rows, to be compiled: [rows, experts, label columns] each."""
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))
    inputs = layout.inputs(values, observed)

    def member(network: Network, envs: jax.Array) -> jax.Array:
        return network.label_means(layout, parents, inputs, envs)

    means = jax.vmap(member)(networks, envs)  # [members, draws, networks, rows, label columns]
    shares = weights / means.shape[1]
    first = jnp.einsum("emk,mdknc->nec", shares, means)
    return first, jnp.einsum("emk,mdknc->nec", shares, means**2)


@jit(Effort.MANY_ROWS)
def _moments(sizes, layout, vectors, parents, weights, envs, values, observed):
    about = sizes, layout, vectors, parents, weights, envs
    return in_blocks(lambda rows: moments_of_rows(*about, *rows), (values, observed))


def slot_outputs(sizes, vectors, weights, env, blanket, inputs, slots):
    """Outputs of some slots, averaged over members and networks: [slots, width, rows]."""
    some, mechanisms = _take_slots(sizes, vectors, blanket, slots)
    first = jax.vmap(lambda own: own.filtered(some, inputs))(mechanisms)
    return _averaged(mechanisms, first, weights, env)


def slot_outputs_by_label(sizes, layout, vectors, weights, env, blanket, inputs, slots, labels):
    """The same for every value of the label: [values, slots, width, rows].

    The first layer is linear, so that its product with the other inputs serves all values.
    """
    some, mechanisms = _take_slots(sizes, vectors, blanket, slots)

    def filtered(inputs: Array, label: Array) -> Array:
        own = with_label(layout, inputs, label)
        return jax.vmap(lambda one: one.filtered(some, own))(mechanisms)

    center = layout.center[-labels.shape[1] :]
    of_rows = filtered(inputs, center)
    none = jnp.zeros_like(inputs[:1])
    return jax.lax.map(
        lambda label: _averaged(mechanisms, of_rows + filtered(none, label), weights, env), labels
    )


def _take_slots(sizes, vectors, blanket, slots) -> tuple[Blanket, Mechanisms]:
    """Some slots, and every member's mechanisms of them."""
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))
    assert networks.mechanisms is not None
    return blanket.take(slots), jax.vmap(lambda own: own.take(slots))(networks.mechanisms)


def _averaged(mechanisms: Mechanisms, first: Array, weights: Array, env: Array) -> Array:
    """What follows the first layer, averaged over members and networks: [slots, width, rows]."""

    def member(own: Mechanisms, first: Array, env: Array) -> Array:
        return own.after_filters(first, env[None])[0]

    each = jax.vmap(member)(mechanisms, first, env)  # [members, networks, slots, rows, width]
    return jnp.einsum("mk,mksnw->swn", weights, each)


@jit()
def _slots(sizes, layout, blanket, vectors, weights, env, values, observed, labels):
    """Outputs with the label unknown, outputs for every value of the label, and the inputs."""
    slots = jnp.arange(blanket.variable.shape[0])
    site = vectors, weights, env, blanket

    def block(rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        inputs = layout.inputs(*rows)
        first = slot_outputs(sizes, *site, inputs, slots)
        every = slot_outputs_by_label(sizes, layout, *site, inputs, slots, labels)
        own = inputs[:, blanket.reads] * blanket.reads_any
        return jnp.moveaxis(first, 2, 0), jnp.moveaxis(every, 3, 0), own

    return in_blocks(block, (values, observed))


@jit()
def _labelled_slots(sizes, layout, blanket, vectors, weights, env, values, observed, labels):
    """The same with the label that each row has."""
    del labels
    inputs = layout.inputs(values, observed)
    slots = jnp.arange(blanket.variable.shape[0])
    first = slot_outputs(sizes, vectors, weights, env, blanket, inputs, slots)
    first = jnp.moveaxis(first, 2, 0)
    return first, first[:, None], inputs[:, blanket.reads] * blanket.reads_any
