"""Sites beyond the sources: where their E lies, and how far a prediction follows it.

The encoder has never seen such a site. Rows at the edge of what it knows all vote alike, so that it
takes the site to be nearer to the sources than it is. The decoder knows better: under which E are
the site's features likeliest? That question has an answer wherever E lies.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.compile import compiled, compiled_quickly
from ..data.chunks import Chunks, padded_piece
from ..data.layout import Encoded, layout_of
from ..data.table import Table
from ..model import Sizes, Summary
from ..model import objective as obj
from ..model.encoder import posterior
from ..model.network import unravel
from .fitted import EnvPosterior, Model
from .programs import in_blocks

# A posterior this narrow, as a share of the spread of the sources' E, adds nothing to the label's
# variance that could be seen: its mean stands for it, and large domains predict fast.
NARROW = 0.02

# How far beyond the sources a prediction follows E, in ranges that they span.
BEYOND = 2.0
# Rows that tell where E lies.
ROWS = 1024
# Candidates for E in one dimension.
POINTS = 51


def bounded(model: Model, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points of E, [members, …, dim], brought back to where networks can be trusted to bend on."""
    if not model.rules.clips_env:
        return points
    low, high = _followed(model)
    return np.clip(points, low[:, None], high[:, None])


def _followed(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and the largest E that a prediction follows: [members, dim]."""
    low, high = model.source_span
    slack = BEYOND * (high - low)
    return low - slack, high + slack


def distance_beyond(model: Model, q: EnvPosterior) -> NDArray[np.float64]:
    """How far E lies beyond the sources, in ranges that they span: [members, dim]."""
    low, high = model.source_span
    excess = np.maximum(np.maximum(low - q.mean, q.mean - high), 0.0)
    return np.asarray(excess / np.maximum(high - low, 1e-12))


def located(model: Model, X: pd.DataFrame, q: EnvPosterior) -> EnvPosterior:
    """The posterior, moved to the likeliest E under each member that sees E beyond the sources.

    Only features without the label among their parents are asked: at a new site it is not known.
    """
    if not model.rules.refines_env:
        return q
    lost = distance_beyond(model, q).max(axis=1) > 0
    asked = _asked(model)
    if not lost.any() or not asked.any() or model.formulation.label_teaches_env:
        return q
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(int))
    data, _ = padded_piece(model.table, X.iloc[rows])
    low, high = _sides(model, q)
    best = np.clip(q.mean, low, high)
    # The whole side, then between the likeliest's neighbours.
    for reach in (1.0, 2.0 / (POINTS - 1)):
        for dimension in range(model.sizes.env_dim):
            points = _candidates(best, low, high, dimension, reach)
            likely = _log_densities(
                model.sizes,
                model.formulation,
                model.layout,
                model.vectors,
                model.parents,
                asked,
                points.astype(np.float32),
                data.values,
                data.observed,
            )
            prior = -0.5 * model.prior_precision * (points**2).sum(-1)
            posterior = np.asarray(likely) * (len(X) / len(rows)) + prior
            best = points[np.arange(len(points)), posterior.argmax(1)]
    return replace(q, mean=np.where(lost[:, None], best, q.mean))


def _sides(model: Model, q: EnvPosterior) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where E may lie: on the side of the sources where the encoder sees it, not farther than it is
    followed. Across the sources another E may look alike, and the encoder knows them apart."""
    (low, high), (lowest, highest) = model.source_span, _followed(model)
    above, below = q.mean > high, q.mean < low
    least = np.where(above, high, np.where(below, lowest, q.mean))
    most = np.where(above, highest, np.where(below, low, q.mean))
    return least, most


def _candidates(
    best: NDArray, low: NDArray, high: NDArray, dimension: int, reach: float
) -> NDArray[np.float64]:
    """Points in one dimension of E: around the best within `reach` of what is open to it.

    [members, points, dim]
    """
    here, least, most = (part[:, dimension] for part in (best, low, high))
    width = reach * (most - least)
    start, end = np.maximum(here - width, least), np.minimum(here + width, most)
    points = np.repeat(best[:, None], POINTS, axis=1)
    points[:, :, dimension] = np.linspace(start, end, POINTS).T
    return points


def _asked(model: Model) -> NDArray[np.float32]:
    """1 for the features whose reconstruction does not need the label."""
    asked = 1.0 - model.parents[-1]
    asked[-1] = 0.0
    return asked.astype(np.float32)


@compiled_quickly
def _log_densities(sizes, formulation, layout, vectors, parents, asked, points, values, observed):
    """log density of the features that are asked, under each member's points of E."""
    inputs = layout.inputs(values, observed)

    def member(vector: jax.Array, points: jax.Array) -> jax.Array:
        decoder = unravel(sizes, vector).decoder

        def at(env: jax.Array) -> jax.Array:
            outputs = decoder.reconstruct(layout, parents, inputs, env)
            losses = obj.cell_losses(formulation, layout, decoder, outputs, values)
            return -(losses * observed * asked).sum()

        return jax.lax.map(at, points)

    return jax.lax.map(lambda lane: member(*lane), (jnp.asarray(vectors), jnp.asarray(points)))


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
    return infer_from(model, Chunks(model.table, X))


def encoded_environment(model: Model, X: pd.DataFrame) -> EnvPosterior:
    """Posterior of E as the encoder alone sees it: right for the sources, which taught it."""
    return _encode(model, Chunks(model.table, X))


def infer_from(model: Model, chunks: Chunks) -> EnvPosterior:
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


@compiled
def _summarise(sizes, layout, vectors, prior_precision, values, observed, present) -> Summary:
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def block(rows: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs = layout.inputs(rows[0], rows[1])
        sums = jax.vmap(lambda n: n.summarise(layout, inputs, rows[2], prior_precision))(networks)
        return sums.excess[None], sums.weighted[None]  # [1, members, dim]

    excess, weighted = in_blocks(block, (values, observed, present))
    return Summary(excess.sum(0), weighted.sum(0))
