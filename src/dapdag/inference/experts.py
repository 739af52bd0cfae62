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

from .._runtime.compile import jit
from ..data.layout import Encoded
from ..model import Network
from ..model.constants import GRID_POINTS, GRID_REFINED
from ..model.mechanisms import with_label
from ..model.parameters import unravel
from .fitted import FittedModel
from .graph_expert import class_support, refined
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


def evaluate_slots(
    model: FittedModel, weights: NDArray, env: NDArray, data: Encoded, n_rows: int, labelled: bool
) -> list[SlotRows]:
    """Outputs of the mechanisms of the label and its children at the first rows of a site.

    `weights` [members, networks] sum to 1, `env` is [members, dim]. With `labelled` the label is
    the one of each row; else it takes every value of `label_support`.
    """
    support = label_support(model)
    numbers = model.table.label.kind == "continuous"
    coarse = np.linspace(*model.label_range, GRID_POINTS)[:, None] if numbers else support
    padded = np.zeros((len(coarse), model.sizes.label_columns), dtype=np.float32)
    padded[:, : support.shape[1]] = coarse
    single = weights.astype(np.float32), env.astype(np.float32)
    about = model.sizes, model.layout, model.blanket, model.vectors
    program = _labelled_slots if labelled else _slots
    known, asked, own = program(*about, *single, data.values, data.observed, padded)
    first = np.asarray(known, dtype=float)[:n_rows]  # [rows, slots, width]
    every = np.asarray(asked, dtype=float)[:n_rows]  # [rows, values, slots, width]
    own = np.asarray(own, dtype=float)[:n_rows]  # [rows, slots, inputs]
    if labelled:
        support = np.zeros((1, support.shape[1]))
        every = first[:, None]
    elif numbers:
        every = np.moveaxis(refined(np.moveaxis(every, 1, 0), coarse[:, 0], support[:, 0]), 0, 1)
    return _slot_rows(model, data, n_rows, first, every, own, support, labelled)


def _slot_rows(
    model: FittedModel,
    data: Encoded,
    n_rows: int,
    first: Floats,
    every: Floats,
    own: Floats,
    support: Floats,
    labelled: bool,
) -> list[SlotRows]:
    blanket: Any = model.blanket
    columns = model.layout.owner.shape[0]
    start = columns - model.sizes.label_columns
    center = np.asarray(model.layout.center, dtype=float)
    out = []
    for s in np.flatnonzero(blanket.real).tolist():
        kind = next(k for k in ("continuous", "binary", "categorical") if getattr(blanket, k)[s])
        outputs = first[None, :, s] if s == 0 else np.moveaxis(every[:, :, s], 1, 0)
        if kind == "categorical":
            outputs = np.where(blanket.columns_any[s] > 0, outputs, -1e9)
        values = data.values[:n_rows, blanket.columns[s]] * blanket.columns_any[s]
        design = np.concatenate([np.ones((n_rows, 1)), own[:, s] * (s > 0)], axis=1)
        label = np.zeros((len(outputs), design.shape[1]))
        reads = blanket.reads[s]
        of_label = (reads >= start) & (reads < columns) & (blanket.reads_any[s] > 0) & (s > 0)
        if not labelled:
            if model.sizes.indicators:
                # the label counts as known: it takes every value in turn
                design[:, 1:][:, reads == model.sizes.inputs - 1] = 0.0
            for at in np.flatnonzero(of_label).tolist():
                column = reads[at] - start
                design[:, 1 + at] = 0.0
                if column < support.shape[1]:
                    label[:, 1 + at] = support[:, column] - center[reads[at]]
        seen = data.observed[:n_rows, blanket.variable[s]].astype(float)
        out.append(SlotRows(kind, outputs, values.astype(float), seen, design, label))
    return out


@jit()
def _moments(sizes, layout, vectors, parents, weights, envs, values, observed):
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def block(rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs = layout.inputs(*rows)

        def member(network: Network, envs: jax.Array) -> jax.Array:
            return network.label_means(layout, parents, inputs, envs)

        means = jax.vmap(member)(networks, envs)  # [members, draws, networks, rows, label columns]
        shares = weights / means.shape[1]
        first = jnp.einsum("emk,mdknc->nec", shares, means)
        return first, jnp.einsum("emk,mdknc->nec", shares, means**2)

    return in_blocks(block, (values, observed))


def _slot_program(sizes, layout, blanket, vectors, weights, env, values, observed, support, known):
    """Outputs with the label as it is, outputs for every value of the label, and the inputs."""
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def outputs(inputs: Array) -> Array:
        def member(network: Network, env: Array) -> Array:
            assert network.mechanisms is not None
            return network.mechanisms.outputs(blanket, inputs, env[None])[0]

        each = jax.vmap(member)(networks, env)  # [members, networks, slots, rows, width]
        return jnp.einsum("mk,mksnw->nsw", weights, each)

    def block(rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        inputs = layout.inputs(*rows)
        own = inputs[:, blanket.reads] * blanket.reads_any
        first = outputs(inputs)
        if known:
            return first, first[:, None], own
        every = jax.lax.map(lambda value: outputs(with_label(layout, inputs, value)), support)
        return first, jnp.moveaxis(every, 0, 1), own

    return in_blocks(block, (values, observed))


@jit()
def _slots(sizes, layout, blanket, vectors, weights, env, values, observed, support):
    return _slot_program(
        *(sizes, layout, blanket, vectors, weights, env, values, observed, support), known=False
    )


@jit()
def _labelled_slots(sizes, layout, blanket, vectors, weights, env, values, observed, support):
    return _slot_program(
        *(sizes, layout, blanket, vectors, weights, env, values, observed, support), known=True
    )
