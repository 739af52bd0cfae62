"""Missing cells from the graph and the domain's E.

A missing value is judged by its Markov blanket: how likely it is given its parents, and how likely
it makes the observed values of its children, under the E of its domain. Cells are filled from
their parents first, in the order of the graph, and then improved a variable at a time over a grid
of candidates, whose weighted mean (or likeliest level) is taken.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.compile import compiled
from ..data.columns import Discrete, Variable
from ..data.layout import Encoded, encode, padded_size
from ..data.table import Table
from ..model import Layout, Sizes
from ..model.likelihoods import log_density, mean
from ..model.network import unravel
from .environment import infer_environment
from .fitted import EnvPosterior, Model
from .prediction import predict_label

CHUNK_ROWS = 4096
SMALLEST_CHUNK = 64
GRID = np.linspace(-2.5, 2.5, 16)  # of a standardised variable
SWEEPS = 3


def impute_frame(
    model: Model, frame: pd.DataFrame, codes: NDArray[np.intp], n_domains: int
) -> pd.DataFrame:
    """The table with every missing cell filled; what was observed stays as it is."""
    if not frame.isna().to_numpy().any():
        return frame.copy()
    filled = np.empty((len(frame), model.table.feature_width))
    for d in range(n_domains):
        rows = np.flatnonzero(codes == d)
        part = frame.iloc[rows]
        env = infer_environment(model, part)
        for start in range(0, len(rows), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            filled[rows[chunk]] = _fill(model, part.iloc[chunk], env)
    return _completed(model.table, frame, filled)


def _fill(model: Model, X: pd.DataFrame, env: EnvPosterior) -> NDArray[np.float64]:
    """Encoded features of some rows of one domain, complete."""
    label = np.asarray(predict_label(model, X, env).mean)
    data = _padded(encode(model.table, *model.table.encode(X), label))
    members = _from_parents(
        model.sizes,
        model.layout,
        model.vectors,
        model.parents,
        env.mean.astype(np.float32),
        data.values,
        data.observed,
        _rounds(model.parents),
    )
    incomplete = [
        v
        for v, variable in enumerate(model.table.features)
        if any(variable.scale) and (data.observed[: len(X), v] == 0).any()
    ]
    candidates = _candidates(model.table, incomplete, model.sizes.columns)
    for _ in range(SWEEPS):
        for v, (points, real) in zip(incomplete, candidates, strict=True):
            members = _from_blanket(
                model.sizes,
                model.layout,
                model.vectors,
                model.parents,
                env.mean.astype(np.float32),
                members,
                data.observed,
                np.int32(v),
                points,
                real,
            )
    width = model.table.feature_width
    return np.asarray(members, dtype=float).mean(0)[: len(X), :width]


def _padded(data: Encoded) -> Encoded:
    pad = ((0, padded_size(len(data.values), SMALLEST_CHUNK) - len(data.values)), (0, 0))
    return Encoded(np.pad(data.values, pad), np.pad(data.observed, pad))


def _rounds(parents: NDArray) -> np.int32:
    """How many times values must be handed on until they have come down the longest path."""
    reach, rounds = parents > 0, 1
    np.fill_diagonal(reach, False)
    step = reach.copy()
    while reach.any() and rounds < len(parents):
        reach, rounds = (reach.astype(int) @ step) > 0, rounds + 1
    return np.int32(rounds)


def _candidates(
    table: Table, variables: list[int], columns: int
) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """For each variable the values to try, in its columns, and which of them are real."""
    starts = np.cumsum([0, *(v.width for v in table.features)])
    most = max([len(GRID), *(len(_levels(table.features[v])) for v in variables)])
    size = padded_size(most)
    found = []
    for v in variables:
        values = _levels(table.features[v])
        points = np.zeros((size, columns), dtype=np.float32)
        points[: len(values), starts[v] : starts[v + 1]] = values
        found.append((points, np.arange(size) < len(values)))
    return found


def _levels(variable: Variable) -> NDArray[np.floating]:
    """Encoded values that a variable can take; a grid of them if it is continuous."""
    if not isinstance(variable, Discrete):
        scores = variable.scores  # type: ignore[union-attr]
        return np.clip(GRID, scores[0], scores[-1])[:, None]
    return np.eye(2)[:, 1:] if variable.kind == "binary" else np.eye(len(variable.levels))


@compiled
def _from_parents(
    sizes: Sizes,
    layout: Layout,
    vectors: Any,
    parents: Any,
    envs: Any,
    values: Any,
    observed: Any,
    rounds: Any,
) -> jax.Array:
    """Missing cells as expected from their parents: [members, rows, columns]."""
    seen = layout.to_columns(jnp.asarray(observed))

    def member(vector: jax.Array, env: jax.Array) -> jax.Array:
        decoder = unravel(sizes, vector).decoder

        def again(_: jax.Array, cells: jax.Array) -> jax.Array:
            inputs = layout.inputs(cells, jnp.ones_like(observed))
            expected = mean(layout, decoder.reconstruct(layout, parents, inputs, env))
            return jnp.where(seen > 0, values, expected)

        start = jnp.where(seen > 0, values, layout.center)
        return jax.lax.fori_loop(0, rounds, again, start)

    return jax.vmap(member)(jnp.asarray(vectors), jnp.asarray(envs))


@compiled
def _from_blanket(
    sizes: Sizes,
    layout: Layout,
    vectors: Any,
    parents: Any,
    envs: Any,
    members: Any,
    observed: Any,
    variable: Any,
    points: Any,
    real: Any,
) -> jax.Array:
    """One variable's missing cells anew, given all others."""
    own = layout.owner[:, variable]  # its columns
    missing = (1.0 - jnp.asarray(observed)[:, variable])[:, None] * own
    # Itself and its children; the label is only predicted, from these very cells.
    judges = (jnp.arange(sizes.variables) == variable) + jnp.asarray(parents)[variable]
    judges = judges.at[-1].set(0.0)

    def member(vector: jax.Array, env: jax.Array, cells: jax.Array) -> jax.Array:
        decoder = unravel(sizes, vector).decoder

        def evidence(point: jax.Array) -> jax.Array:
            tried = cells * (1.0 - own) + point * own
            inputs = layout.inputs(tried, jnp.ones_like(observed))
            outputs = decoder.reconstruct(layout, parents, inputs, env)
            return log_density(layout, outputs, tried, decoder.log_scale) @ judges

        scores = jax.lax.map(evidence, jnp.asarray(points))  # [candidates, rows]
        weights = jax.nn.softmax(jnp.where(jnp.asarray(real)[:, None], scores, -jnp.inf), axis=0)
        return jnp.where(missing > 0, weights.T @ points, cells)

    return jax.vmap(member)(jnp.asarray(vectors), jnp.asarray(envs), jnp.asarray(members))


def _completed(table: Table, frame: pd.DataFrame, filled: NDArray) -> pd.DataFrame:
    out = frame.copy()
    start = 0
    for j, variable in enumerate(table.features):
        block = filled[:, start : start + variable.width]
        start += variable.width
        column = frame.iloc[:, j]
        missing = column.isna().to_numpy()
        # Of a column without any value in the sources there is nothing to tell.
        if not missing.any() or (not isinstance(variable, Discrete) and not any(variable.scale)):
            continue
        values = column.astype(object).to_numpy(copy=True)
        values[missing] = variable.decode(block[missing])
        out.isetitem(j, _like(column, values))  # type: ignore[arg-type]
    return out


def _like(column: pd.Series, values: NDArray) -> pd.Series:
    """Complete values as a column of the type that it had, where they fit it."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        known = column.dtype.categories
        unknown = [v for v in pd.unique(values) if v not in known]
        dtype = pd.CategoricalDtype(known.append(pd.Index(unknown)), column.dtype.ordered)
        return pd.Series(values, index=column.index, name=column.name, dtype=dtype)
    found = pd.Series(values, index=column.index, name=column.name).infer_objects()
    fits = pd.api.types.is_numeric_dtype(found) == pd.api.types.is_numeric_dtype(column.dtype)
    return found.astype(column.dtype) if fits and column.dtype != object else found
