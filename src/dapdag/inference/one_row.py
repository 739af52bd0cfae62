"""One row of a known site, scored in well under a millisecond.

All that the site fixes lies on the device beforehand, and one small program computes what the
experts say. The result is that of `prediction.score_rows`.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._runtime.compile import OPTIONS, Effort
from ..data.layout import Encoded
from . import experts, graph_program
from .environment import draws_of
from .fitted import FittedModel
from .prediction import (
    LabelDistribution,
    SiteEstimate,
    combine_experts,
    experts_from,
    graph_setting,
    recalibrate,
)


class OneRow:
    """Scores rows of one site one at a time."""

    def __init__(self, model: FittedModel, site: SiteEstimate) -> None:
        self._model, self._site = model, site
        networks: Any = (
            *(model.layout, model.vectors, model.parents),
            *(model.network_weights, draws_of(model, site.env)),
        )
        graph: Any = None
        if site.effects and site.weights[2] > 0:
            graph = model.blanket, graph_program.graph_site(model, *_graph_site(model, site))
        leaves, tree = jax.tree.flatten((networks, graph))
        self._constant = [_on_device(leaf) for leaf in leaves]
        self._program = _program(tree, model.sizes, model.table.label.kind)
        self._width = model.table.label.width

    def __call__(self, row: Encoded) -> LabelDistribution:
        """The label's distribution of one encoded row."""
        first, second, graph = jax.device_get(
            self._program(self._constant, row.values, row.observed)
        )
        means, squares = (
            np.swapaxes(a, 0, 1)[..., : self._width].astype(float) for a in (first, second)
        )
        by_graph = None
        if graph is not None:
            mean, square = (a.astype(float) for a in graph)
            by_graph = mean, np.maximum(square[:, 0] - mean[:, 0] ** 2, 0.0)
        found = experts_from(self._model, self._site, row, means, squares, by_graph)
        return recalibrate(self._model, self._site, row, combine_experts(self._model, found))


def _graph_site(model: FittedModel, site: SiteEstimate) -> tuple[Any, ...]:
    shares, env, temperature = graph_setting(model, site.env)
    return shares, env, site.effects, temperature


def _on_device(leaf: Any) -> jax.Array:
    array = np.asarray(leaf)
    return jnp.asarray(array.astype(np.float32) if array.dtype == np.float64 else array)


@functools.lru_cache(maxsize=16)
def _program(tree: Any, sizes: Any, kind: str) -> Any:
    """One program for all sites of models of one shape."""

    def score(constant: list[jax.Array], values: jax.Array, observed: jax.Array) -> Any:
        networks, graph = jax.tree.unflatten(tree, constant)
        layout, vectors, parents, weights, envs = networks
        about = sizes, layout, vectors, parents, weights, envs
        first, second = experts.moments_of_rows(*about, values, observed)
        if graph is None:
            return first, second, None
        blanket, site = graph
        slots = sizes, layout, blanket, kind, vectors, site
        return first, second, graph_program.moments_of_rows(*slots, values, observed)

    return jax.jit(score, compiler_options=OPTIONS[Effort.FAST_TO_RUN])
