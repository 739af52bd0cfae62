"""Rows of a site → posterior of its E.

Rows stream through in chunks of one compiled size and add up to the encoder's summary: memory does
not grow with the site. Outside the range of the sources the amortised posterior saturates, because
the encoder was trained on none of such rows; there E is re-estimated by maximum a posteriori under
the decoder, given the features that do not depend on the label.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from .._runtime.compile import jit
from ..data.chunks import Chunks, padded
from ..data.layout import Encoded
from ..model import Summary
from ..model.constants import CLIP_RANGES, NARROW, REFINE_POINTS
from ..model.encoder import posterior
from ..model.parameters import unravel
from .fitted import EnvPosterior, FittedModel
from .programs import MemberDecoder, in_blocks, per_member


def environment_at(
    model: FittedModel, summary: Summary, some: Encoded, n_rows: int
) -> EnvPosterior:
    """Posterior of E of a site: THE function from rows to E.

    `summary` is that of all `n_rows` rows, `some` are a part of them that stands for all.
    """
    q = environment_of(model, summary)
    return refine(model, some, n_rows, q) if model.formulation.uses_environment else q


def encode(model: FittedModel, chunks: Chunks) -> EnvPosterior:
    """Posterior of E by the encoder alone: accurate for the sources, on which it was trained."""
    # Without environments nothing depends on the rows: no need to go through them.
    uses = model.formulation.uses_environment
    return environment_of(model, summarise(model, chunks) if uses else no_rows(model))


def summarise(model: FittedModel, chunks: Chunks) -> Summary:
    """The encoder's summary of all rows of one site, per member: [members, dim]."""
    parts = chunks.map(lambda data, present: summarise_piece(model, data, present))
    return sum((found for _, found in parts), start=no_rows(model))


def summarise_piece(model: FittedModel, data: Encoded, present: NDArray[np.float32]) -> Summary:
    """The encoder's summary of some padded rows; 0 without environments, which nothing needs."""
    if not model.formulation.uses_environment:
        return no_rows(model)
    about = model.sizes, model.layout, model.vectors, model.prior_precision
    found = _summarise(*about, data.values, data.observed, present)
    # Sums over chunks are kept in double precision: a million rows must not lose the last.
    return jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), found)


def environment_of(model: FittedModel, summary: Summary) -> EnvPosterior:
    """Posterior of E from a summary; a model without environments has E = 0 for certain."""
    if not model.formulation.uses_environment:
        zero = np.zeros((model.n_members, model.sizes.env_dim))
        return EnvPosterior(zero, zero)
    q = posterior(summary, model.prior_precision)
    return EnvPosterior(np.asarray(q.mean), np.asarray(q.variance))


def draws_of(model: FittedModel, q: EnvPosterior) -> NDArray[np.float32]:
    """Points of E to average over: [members, draws, dim].

    The paper's Monte Carlo draws; the mean alone for the point formulation and for a narrow
    posterior. Points far outside the sources are clipped to where the networks still extrapolate
    plausibly; `environment` reports them as they are.
    """
    return clip_to_range(model, _unclipped_draws(model, q)).astype(np.float32)


def _unclipped_draws(model: FittedModel, q: EnvPosterior) -> NDArray[np.float64]:
    deviation = np.sqrt(q.variance)
    spread = model.source_mean.std(1)
    narrow = NARROW * model.rules.narrow_is_mean
    if not model.formulation.bayesian or np.all(deviation <= narrow * spread):
        return q.mean[:, None]
    return q.mean[:, None] + deviation[:, None] * model.normal


def clip_to_range(model: FittedModel, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points of E, [members, …, dim], clipped to the extended range of the sources."""
    if not model.rules.clips_env:
        return points
    low, high = _extended_range(model)
    return np.clip(points, low[:, None], high[:, None])


def _extended_range(model: FittedModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sources' range, extended by `CLIP_RANGES` ranges on either side: [members, dim]."""
    low, high = model.source_span
    slack = CLIP_RANGES * (high - low)
    return low - slack, high + slack


def distance_outside(model: FittedModel, q: EnvPosterior) -> NDArray[np.float64]:
    """How far E lies outside the sources' range, in ranges: [members, dim]."""
    low, high = model.source_span
    excess = np.maximum(np.maximum(low - q.mean, q.mean - high), 0.0)
    return np.asarray(excess / np.maximum(high - low, 1e-12))


def refine(model: FittedModel, some: Encoded, n_rows: int, q: EnvPosterior) -> EnvPosterior:
    """The posterior with its mean moved to the maximum a posteriori under the decoder, for every
    member whose encoder places E outside the sources' range.

    Only features without the label among their parents count: at a new site it is not known.
    """
    if not model.rules.refines_env:
        return q
    outside = distance_outside(model, q).max(axis=1) > 0
    usable = label_free(model)
    if not outside.any() or not usable.any() or not model.sizes.reads:
        return q
    data = padded(some)
    cells = usable, data.values, data.observed
    low, high = _search_range(model, q)
    best = np.clip(q.mean, low, high)
    # A grid over the whole side, then a finer one around its best point.
    for reach in (1.0, 2.0 / (REFINE_POINTS - 1)):
        for dimension in range(model.sizes.env_dim):
            points = _grid(best, low, high, dimension, reach)
            likelihood = per_member(model, _log_likelihoods, (points,), *cells)
            prior = -0.5 * model.prior_precision * (points**2).sum(-1)
            posterior = likelihood * (n_rows / len(some.values)) + prior
            best = points[np.arange(len(points)), posterior.argmax(1)]
    return replace(q, mean=np.where(outside[:, None], best, q.mean))


def label_free(model: FittedModel) -> NDArray[np.float32]:
    """1 for the features whose reconstruction does not need the label."""
    usable = 1.0 - model.parents[-1]
    usable[-1] = 0.0
    return usable.astype(np.float32)


def _search_range(
    model: FittedModel, q: EnvPosterior
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where E is searched: on the side of the sources where the encoder places it, within the
    extended range. Another E across the sources may give similar features."""
    (low, high), (lowest, highest) = model.source_span, _extended_range(model)
    above, below = q.mean > high, q.mean < low
    least = np.where(above, high, np.where(below, lowest, q.mean))
    most = np.where(above, highest, np.where(below, low, q.mean))
    return least, most


def _grid(
    best: NDArray, low: NDArray, high: NDArray, dimension: int, reach: float
) -> NDArray[np.float64]:
    """Points in one dimension of E: around the best, within `reach` of its search range.

    [members, points, dim]
    """
    here, least, most = (part[:, dimension] for part in (best, low, high))
    width = reach * (most - least)
    start, end = np.maximum(here - width, least), np.minimum(here + width, most)
    points = np.repeat(best[:, None], REFINE_POINTS, axis=1)
    points[:, :, dimension] = np.linspace(start, end, REFINE_POINTS).T
    return points


def _log_likelihoods(
    member: MemberDecoder, points: Array, usable: Array, values: Array, observed: Array
) -> Array:
    """log density of the usable features at every point of E."""

    def at(env: Array) -> Array:
        return -(member.losses(values, observed, env) * observed * usable).sum()

    return jax.lax.map(at, points)


def no_rows(model: FittedModel) -> Summary:
    """The summary of a site without rows."""
    zero = np.zeros((model.n_members, model.sizes.env_dim))
    return Summary(zero, zero)  # type: ignore[arg-type]


@jit()
def _summarise(sizes, layout, vectors, prior_precision, values, observed, present) -> Summary:
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def block(rows: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs = layout.inputs(rows[0], rows[1])
        sums = jax.vmap(lambda n: n.summarise(layout, inputs, rows[2], prior_precision))(networks)
        return sums.excess[None], sums.weighted[None]  # [1, members, dim]

    excess, weighted = in_blocks(block, (values, observed, present))
    return Summary(excess.sum(0), weighted.sum(0))
