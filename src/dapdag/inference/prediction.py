"""E of a site and its rows → the label's predictive distribution."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .._runtime.compile import jit
from ..data.chunks import Chunks
from ..data.columns import Discrete
from ..data.layout import Encoded
from ..model import Network
from ..model.parameters import unravel
from .environment import draws_of
from .fitted import EnvPosterior, FittedModel
from .missing import shrink_to_prevalence
from .programs import in_blocks
from .recalibration import all_classes, class_proportions, site_proportions


@dataclass(frozen=True)
class LabelDistribution:
    """Mean of the label's columns per row and, for numbers, the variance (standardised units)."""

    mean: NDArray[np.float64]  # [rows, label columns]
    variance: NDArray[np.float64] | None


def predict_label(model: FittedModel, chunks: Chunks, q: EnvPosterior) -> LabelDistribution:
    """The label's distribution for rows of a site whose E has the posterior `q`.

    Numbers: the variance is that of the networks' means over members, draws of E and networks, plus
    the noise at a site that was not trained on, plus what missing features add.
    """
    means, spread, missing = _moments(model, chunks, q)
    if isinstance(model.table.label, Discrete):
        return LabelDistribution(_shrink_incomplete(model, means, missing), None)
    # The standardised label has variance 1: a row without any feature has no more.
    noise = model.inflation * float(np.mean(model.label_scale**2))
    added = np.clip(missing @ model.missing.penalty, 0.0, max(1.0 - noise, 0.0))
    return LabelDistribution(means, spread + noise + added[:, None])


def recalibrate(model: FittedModel, found: LabelDistribution) -> LabelDistribution:
    """The distribution for all rows of one site, with its class prevalence recalibrated."""
    if model.prevalence is None:
        return found
    moved = model.prevalence.applied(all_classes(found.mean))
    return LabelDistribution(moved[:, -found.mean.shape[1] :], None)


def _moments(
    model: FittedModel, chunks: Chunks, q: EnvPosterior
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float32]]:
    """Mean and variance over networks of the label's columns, and which features are missing."""
    envs, weights = draws_of(model, q), model.stack_weights.astype(np.float32)
    n_features, width = len(model.table.features), model.table.label.width

    def part(data: Encoded, present: NDArray[np.float32]) -> tuple[NDArray, NDArray, NDArray]:
        found = _predict(
            model.sizes,
            model.layout,
            model.vectors,
            model.parents,
            weights,
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
    return means, spread, missing


def _shrink_incomplete(
    model: FittedModel, means: NDArray[np.float64], missing: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Probabilities of the label's columns, shrunk towards the prevalence where cells are
    missing."""
    slope = np.exp(missing @ np.log(model.missing.penalty))
    incomplete = np.flatnonzero(slope < 1.0)
    if not len(incomplete):
        return means
    out = means.copy()
    overall = class_proportions(model.table.label)  # type: ignore[arg-type]
    found = all_classes(means)
    shrunk = shrink_to_prevalence(
        found[incomplete], slope[incomplete], site_proportions(found, overall)
    )
    out[incomplete] = shrunk[:, -means.shape[1] :]
    return out


@jit()
def _predict(sizes, layout, vectors, parents, weights, envs, values, observed):
    """Mean over members, draws and networks of the label's mean, and the variance of those."""
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))

    def block(rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs = layout.inputs(*rows)

        def member(network: Network, envs: jax.Array) -> jax.Array:
            return network.label_means(layout, parents, inputs, envs)

        means = jax.vmap(member)(networks, envs)  # [members, draws, networks, rows, label columns]
        shares = weights[:, None, None] / (means.shape[0] * means.shape[1])
        first = (shares * means).sum((0, 1, 2))
        return first, (shares * (means - first) ** 2).sum((0, 1, 2))

    return in_blocks(block, (values, observed))
