"""From rows of a new domain to its E, and from E to the label's predictive distribution.

Rows stream through in chunks of one compiled size: one pass adds up the encoder's summary, a
second one predicts. Memory does not grow with the domain.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._compiled import compiled
from .beyond import bounded, located, trust_at
from .chunks import SMALLEST_CHUNK, Chunks, padded_piece
from .domains import Encoded, layout_of
from .lacking import drawn_back
from .levels import all_classes, class_shares, site_shares
from .model import Network, Sizes, Summary
from .model import objective as obj
from .model.encoder import posterior
from .model.likelihoods import bounded_log_scale, mean
from .model.network import unravel
from .table import Discrete, Table, padded_size
from .trained import EnvPosterior, Model

# Inside a compiled call rows go through in blocks that fit the cache.
BLOCK_ROWS = 128
# A posterior this narrow, as a share of the spread of the sources' E, adds nothing to the label's
# variance that could be seen: its mean stands for it, and large domains predict fast.
NARROW = 0.02


@dataclass(frozen=True)
class LabelDistribution:
    """Mean of the label's columns per row and, for numbers, the variance (standardised units)."""

    mean: NDArray[np.float64]  # [rows, label columns]
    variance: NDArray[np.float64] | None


def _no_rows(model: Model) -> Summary:
    zero = np.zeros((model.n_members, model.sizes.env_dim))
    return Summary(zero, zero)  # type: ignore[arg-type]


def summarise(model: Model, chunks: Chunks) -> Summary:
    """The encoder's summary of all rows of one domain, per member: [members, dim]."""

    def part(data: Encoded, present: NDArray[np.float32]) -> Summary:
        found = _summarise(
            model.sizes,
            model.layout,
            model.vectors,
            model.prior_precision,
            data.values,
            data.observed,
            present,
        )
        # Sums over chunks are kept in double precision: a million rows must not lose the last.
        return jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), found)

    return sum((found for _, found in chunks.map(part)), start=_no_rows(model))


def summarise_call(
    table: Table, sizes: Sizes, vectors: NDArray, prior_precision: float, X: pd.DataFrame
) -> tuple[Any, ...]:
    """The program that `summarise` will call for rows like these, and its arguments."""
    layout = jax.tree.map(jnp.asarray, layout_of(table, sizes.indicators))
    data, present = padded_piece(table, X)
    cells = data.values, data.observed, present
    return _summarise, sizes, layout, vectors, prior_precision, *cells


def environment_of(model: Model, summary: Summary) -> EnvPosterior:
    """Posterior of E from a summary; a model without environments has E = 0 for certain."""
    if not model.formulation.uses_environment:
        zero = np.zeros((model.n_members, model.sizes.env_dim))
        return EnvPosterior(zero, zero)
    q = posterior(summary, model.prior_precision)
    return EnvPosterior(np.asarray(q.mean), np.asarray(q.variance))


def infer_environment(model: Model, X: pd.DataFrame) -> EnvPosterior:
    """Posterior of E of the domain that `X` holds."""
    return _infer(model, Chunks(model.table, X))


def encoded_environment(model: Model, X: pd.DataFrame) -> EnvPosterior:
    """Posterior of E as the encoder alone sees it: right for the sources, which taught it."""
    return _encode(model, Chunks(model.table, X))


def _infer(model: Model, chunks: Chunks) -> EnvPosterior:
    q = _encode(model, chunks)
    return located(model, chunks.X, q) if model.formulation.uses_environment else q


def _encode(model: Model, chunks: Chunks) -> EnvPosterior:
    # Without environments nothing depends on the rows: no need to go through them.
    uses = model.formulation.uses_environment
    return environment_of(model, summarise(model, chunks) if uses else _no_rows(model))


def draws_of(model: Model, q: EnvPosterior) -> NDArray[np.float32]:
    """Points of E to average over: [members, draws, dim].

    The paper's Monte Carlo draws; μ alone for the point formulation and for a narrow posterior.
    Points far beyond the sources are brought back to where the networks can be trusted to bend on
    as they were taught to; `environment` still tells where they were.
    """
    points = _unbounded_draws(model, q)
    return bounded(model, points).astype(np.float32)


def _unbounded_draws(model: Model, q: EnvPosterior) -> NDArray[np.float64]:
    deviation = np.sqrt(q.variance)
    spread = model.source_mean.std(1)
    narrow = NARROW * model.rules.narrow_is_mean
    if not model.formulation.bayesian or np.all(deviation <= narrow * spread):
        return q.mean[:, None]
    return q.mean[:, None] + deviation[:, None] * model.normal


def predict_domain(model: Model, X: pd.DataFrame) -> LabelDistribution:
    """The label's distribution for the rows of one domain, whose E they tell themselves."""
    chunks = Chunks(model.table, X)
    found = _predict_rows(model, chunks, _infer(model, chunks))
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
def _summarise(sizes, layout, vectors, prior_precision, values, observed, present) -> Summary:
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def block(rows: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs = layout.inputs(rows[0], rows[1])
        sums = jax.vmap(lambda n: n.summarise(layout, inputs, rows[2], prior_precision))(networks)
        return sums.excess[None], sums.weighted[None]  # [1, members, dim]

    excess, weighted = _in_blocks(block, (values, observed, present))
    return Summary(excess.sum(0), weighted.sum(0))


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

    return _in_blocks(block, (values, observed))


def _in_blocks(
    function: Callable[[Any], tuple[jax.Array, ...]], arrays: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    """Apply a function of rows to blocks of them, one after the other."""
    rows = arrays[0].shape[0]
    if rows % BLOCK_ROWS:
        return function(arrays)
    blocks = tuple(a.reshape(-1, BLOCK_ROWS, *a.shape[1:]) for a in arrays)
    return tuple(a.reshape(-1, *a.shape[2:]) for a in jax.lax.map(function, blocks))


@compiled
def _reconstruct(sizes, layout, vectors, parents, env, values, observed):
    inputs = layout.inputs(values, observed)

    def member(vector: jax.Array, env: jax.Array) -> jax.Array:
        decoder = unravel(sizes, vector).decoder
        return mean(layout, decoder.reconstruct(layout, parents, inputs, env))

    return jax.vmap(member)(jnp.asarray(vectors), env).mean(0)
