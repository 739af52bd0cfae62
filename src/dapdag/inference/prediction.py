"""From rows of a new domain to its E, and from E to the label's predictive distribution.

Rows stream through in chunks of one compiled size: one pass adds up the encoder's summary, a
second one predicts. Memory does not grow with the domain.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.compile import compiled
from ..data.chunks import SMALLEST_CHUNK, Chunks
from ..data.columns import Discrete
from ..data.layout import Encoded, padded_size
from ..model import Network
from ..model import objective as obj
from ..model.likelihoods import bounded_log_scale, mean
from ..model.network import unravel
from .environment import distance_beyond, draws_of, infer_from
from .fitted import EnvPosterior, Model
from .missing import drawn_back
from .programs import in_blocks
from .recalibration import all_classes, class_shares, site_shares

# At this distance beyond the sources, in ranges, the votes that see E are alone where they lead.
WHOLLY = 0.2


@dataclass(frozen=True)
class LabelDistribution:
    """Mean of the label's columns per row and, for numbers, the variance (standardised units)."""

    mean: NDArray[np.float64]  # [rows, label columns]
    variance: NDArray[np.float64] | None


def predict_domain(model: Model, X: pd.DataFrame) -> LabelDistribution:
    """The label's distribution for the rows of one domain, whose E they tell themselves."""
    chunks = Chunks(model.table, X)
    found = _predict_rows(model, chunks, infer_from(model, chunks))
    if model.levels is None:
        return found
    levelled = model.levels.applied(all_classes(found.mean))
    return LabelDistribution(levelled[:, -found.mean.shape[1] :], None)


def predict_label(model: Model, X: pd.DataFrame, q: EnvPosterior) -> LabelDistribution:
    """The label's distribution for rows of a domain whose E is known up to `q`."""
    return _predict_rows(model, Chunks(model.table, X), q)


def _predict_rows(model: Model, chunks: Chunks, q: EnvPosterior) -> LabelDistribution:
    envs, trust = draws_of(model, q), trust_at(model, q)
    n_features, width = len(model.table.features), model.table.label.width

    def part(data: Encoded, present: NDArray[np.float32]) -> tuple[NDArray, NDArray, NDArray]:
        found = _predict(
            model.sizes,
            model.layout,
            model.vectors,
            model.parents,
            trust,
            envs,
            data.values,
            data.observed,
        )
        first, second = (np.asarray(array)[:, :width] for array in found)
        return first, second, 1.0 - data.observed[:, :n_features]

    means, spread = np.empty((2, len(chunks.X), width))
    missing = np.empty((len(chunks.X), n_features), dtype=np.float32)
    for rows, found in chunks.map(part):
        n = rows.stop - rows.start
        means[rows], spread[rows], missing[rows] = (array[:n] for array in found)
    if isinstance(model.table.label, Discrete):
        return LabelDistribution(_without_what_lacks(model, means, missing), None)
    # A row without any feature still knows the label's own spread, which is 1.
    noise = model.growth * float(np.mean(model.label_scale**2))
    lacked = np.clip(missing @ model.lacking.cost, 0.0, max(1.0 - noise, 0.0))
    return LabelDistribution(means, spread + noise + lacked[:, None])


def _without_what_lacks(
    model: Model, means: NDArray[np.float64], missing: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Probabilities of the label's columns, less sure of themselves where cells are missing."""
    slope = np.exp(missing @ np.log(model.lacking.cost))
    fewer = np.flatnonzero(slope < 1.0)
    if not len(fewer):
        return means
    out = means.copy()
    overall = class_shares(model.table.label)  # type: ignore[arg-type]
    found = all_classes(means)
    shares = site_shares(found, overall)
    out[fewer] = drawn_back(found[fewer], slope[fewer], shares)[:, -means.shape[1] :]
    return out


def reconstruct(model: Model, data: Encoded, env: NDArray[np.floating]) -> NDArray[np.float64]:
    """Expected value of every column from its parents and E, averaged over members."""
    n = len(data.values)
    size = padded_size(n, SMALLEST_CHUNK)
    pad = ((0, size - n), (0, 0))
    out = _reconstruct(
        model.sizes,
        model.layout,
        model.vectors,
        model.parents,
        np.asarray(env, dtype=np.float32),
        np.pad(data.values, pad),
        np.pad(data.observed, pad),
    )
    return np.asarray(out, dtype=np.float64)[:n]


def noise_scale(network: Network) -> jax.Array:
    """Learned noise of the standardised label."""
    return jnp.exp(bounded_log_scale(network.label_log_scale()))


@compiled
def _predict(sizes, layout, vectors, parents, trust, envs, values, observed):
    """Mean over members, draws and votes of the label's mean, and the variance of those means."""
    only_label = obj.label_layout(layout, sizes.label_columns)
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def block(rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs = layout.inputs(*rows)

        def member(network: Network, envs: jax.Array) -> jax.Array:
            votes = network.predict(layout, parents, inputs, envs)
            return jax.vmap(jax.vmap(lambda outputs: mean(only_label, outputs)))(votes)

        means = jax.vmap(member)(networks, envs)  # [members, draws, votes, rows, label columns]
        weights = trust[:, None, None] / (means.shape[0] * means.shape[1])
        first = (weights * means).sum((0, 1, 2))
        return first, (weights * (means - first) ** 2).sum((0, 1, 2))

    return in_blocks(block, (values, observed))


@compiled
def _reconstruct(sizes, layout, vectors, parents, env, values, observed):
    inputs = layout.inputs(values, observed)

    def member(vector: jax.Array, env: jax.Array) -> jax.Array:
        decoder = unravel(sizes, vector).decoder
        return mean(layout, decoder.reconstruct(layout, parents, inputs, env))

    return jax.vmap(member)(jnp.asarray(vectors), env).mean(0)


def trust_at(model: Model, q: EnvPosterior) -> NDArray[np.float32]:
    """How much each vote counts at a domain: E more, the farther it lies beyond the sources.

    Among the sources a mixture with the pooled votes steadies the prediction. Beyond them the
    pooled votes still answer for a site in their midst; so where E makes the greater part of the
    prediction, it comes to make all of it.
    """
    n = model.sizes.n_predictors
    share = model.trust[:n].sum()
    beyond = float(distance_beyond(model, q).mean()) * model.rules.weighs_by_distance
    if not model.sizes.n_pooled or not 0.5 < share < 1.0 or beyond == 0.0:
        return model.trust.astype(np.float32)
    grown = share + (1.0 - share) * min(beyond / WHOLLY, 1.0)
    part = np.where(np.arange(len(model.trust)) < n, grown / share, (1.0 - grown) / (1.0 - share))
    return (model.trust * part).astype(np.float32)
