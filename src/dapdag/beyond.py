"""Sites beyond the sources: where their E lies, and how far a prediction follows it.

The encoder has never seen such a site. Rows at the edge of what it knows all vote alike, so that it
takes the site to be nearer to the sources than it is. The decoder knows better: under which E are
the site's features likeliest? That question has an answer wherever E lies.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._compiled import compiled_quickly
from .chunks import padded_piece
from .model import objective as obj
from .model.network import unravel
from .trained import EnvPosterior, Model

# How far beyond the sources a prediction follows E, in ranges that they span.
BEYOND = 2.0
# At this distance beyond the sources, in ranges, the votes that see E are alone where they lead.
WHOLLY = 0.2
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
