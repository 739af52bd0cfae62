"""Sites whose features no E explains.

One number of E cannot tell of every way in which a site may differ. The decoder can: it says how
likely each feature is, given its parents and E. A site where a feature is much less likely than in
the source that it fits worst is of a kind that the sources do not know.
"""

from collections.abc import Hashable

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.compile import compiled_quickly
from ..data.chunks import padded_piece
from ..model import objective as obj
from ..model.network import unravel
from .fitted import EnvPosterior, Model

# A feature is unlike the sources when its cells are this much less likely (a factor of e).
UNLIKE = 1.0
# Few rows say little: a site is judged as if it had this many more that are no surprise.
FURTHER_ROWS = 10
ROWS = 1024


def largest_losses(losses: NDArray, parents: NDArray) -> NDArray[np.float64]:
    """How badly each feature is explained in the source that it fits worst: [features].

    `losses` [members, domains, features] are means over held-out rows. Infinite where nothing is
    known, and for children of the label, which is not known at a new site.
    """
    known = np.isfinite(losses)
    mean = np.where(known, losses, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    worst = np.where(known.any(0), mean, -np.inf).max(0)
    asked = np.isfinite(worst) & (parents[-1, : len(worst)] == 0)
    return np.where(asked, worst, np.inf)


def unexplained(model: Model, X: pd.DataFrame, q: EnvPosterior) -> NDArray[np.float64]:
    """How much less likely the cells of each feature are than in the source that it fits worst.

    In logarithms; NaN for features that cannot be asked or that the site lacks.
    """
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(int))
    if not len(rows) or not np.isfinite(model.explained).any():
        return np.full(len(model.explained), np.nan)
    data, present = padded_piece(model.table, X.iloc[rows])
    found = _losses(
        model.sizes,
        model.formulation,
        model.layout,
        model.vectors,
        model.parents,
        q.mean.astype(np.float32),
        data.values,
        data.observed,
    )
    n_features = len(model.explained)
    seen = (data.observed * present[:, None])[:, :n_features]
    cells = seen.sum(0)
    total = (np.asarray(found)[:, :n_features] * seen).sum(0)
    asked = (cells > 0) & np.isfinite(model.explained)
    excess = np.full(n_features, np.nan)
    excess[asked] = (total - cells * model.explained)[asked] / (cells[asked] + FURTHER_ROWS)
    return excess


def unlike_sources(excess: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether any feature of a domain is unlike the sources: [domains, features] → [domains]."""
    return np.asarray((np.nan_to_num(excess, nan=-np.inf) > UNLIKE).any(1))


def unlike_features(model: Model, excess: NDArray[np.float64]) -> list[Hashable]:
    """The features of one domain that are unlike the sources, the worst first."""
    worst_first = np.argsort(-np.nan_to_num(excess), kind="stable")
    return [model.table.features[j].name for j in worst_first if excess[j] > UNLIKE]


@compiled_quickly
def _losses(sizes, formulation, layout, vectors, parents, envs, values, observed):
    """The loss of every cell, averaged over members: [rows, variables]."""
    inputs = layout.inputs(values, observed)

    def member(lane: tuple[jax.Array, jax.Array]) -> jax.Array:
        decoder = unravel(sizes, lane[0]).decoder
        outputs = decoder.reconstruct(layout, parents, inputs, lane[1])
        return obj.cell_losses(formulation, layout, decoder, outputs, values)

    return jax.lax.map(member, (jnp.asarray(vectors), jnp.asarray(envs))).mean(0)
