"""Missing cells from the graph and the site's E.

A missing value is weighted by its Markov blanket: its likelihood given its parents, and that of the
observed values of its children, under the E of its site. Cells are filled from their parents first,
in the order of the graph, and then improved a variable at a time over a grid of candidates, whose
weighted mean (or likeliest level) is taken.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Float
from numpy.typing import NDArray

from .._runtime.compile import Effort
from ..data.chunks import padded
from ..data.columns import Discrete, Variable
from ..data.layout import encode, padded_size
from ..data.table import Table
from ..model.constants import IMPUTE_GRID, IMPUTE_SWEEPS
from .fitted import EnvPosterior, FittedModel
from .programs import MemberDecoder, per_member
from .site import Site

# Rows that are filled at a time: memory does not grow with the site.
IMPUTE_ROWS = 4096


def impute(site: Site) -> NDArray[np.float64]:
    """Encoded features of all rows of a site, complete: [rows, feature columns]."""
    return impute_rows(site.model, site.X, site.label.mean, site.env)


def impute_rows(
    model: FittedModel, X: pd.DataFrame, label: NDArray[np.float64], env: EnvPosterior
) -> NDArray[np.float64]:
    """The same for some rows of a site that is known; `label` is the one predicted for them."""
    filled = np.empty((len(X), model.table.feature_width))
    for start in range(0, len(X), IMPUTE_ROWS):
        chunk = slice(start, start + IMPUTE_ROWS)
        filled[chunk] = _fill(model, X.iloc[chunk], label[chunk], env)
    return filled


def _fill(
    model: FittedModel, X: pd.DataFrame, label: NDArray[np.float64], env: EnvPosterior
) -> NDArray[np.float64]:
    """Encoded features of some rows of one site, complete; `label` is the one predicted."""
    data = padded(encode(model.table, *model.table.encode(X), label))
    members = per_member(
        *(model, _from_parents, (env.mean,), data.values, data.observed, _rounds(model.parents)),
        effort=Effort.FAST_TO_RUN,
    )
    incomplete = [
        v
        for v, variable in enumerate(model.table.features)
        if any(variable.scale) and (data.observed[: len(X), v] == 0).any()
    ]
    candidates = _candidates(model.table, incomplete, model.sizes.columns)
    for _ in range(IMPUTE_SWEEPS):
        for v, (points, real) in zip(incomplete, candidates, strict=True):
            members = per_member(
                *(model, _from_blanket, (env.mean, members)),
                *(data.observed, np.int32(v), points, real),
                effort=Effort.FAST_TO_RUN,
            )
    width = model.table.feature_width
    return np.asarray(members, dtype=float).mean(0)[: len(X), :width]


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
    most = max([len(IMPUTE_GRID), *(len(_levels(table.features[v])) for v in variables)])
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
        return np.clip(IMPUTE_GRID, scores[0], scores[-1])[:, None]
    return np.eye(2)[:, 1:] if variable.kind == "binary" else np.eye(len(variable.levels))


def _from_parents(
    member: MemberDecoder, env: Array, values: Array, observed: Array, rounds: Array
) -> Float[Array, "rows columns"]:
    """Missing cells as expected from their parents."""
    seen = member.layout.to_columns(observed)
    complete = jnp.ones_like(observed)

    def again(_: Array, cells: Array) -> Array:
        return jnp.where(seen > 0, values, member.means(cells, complete, env))

    start = jnp.where(seen > 0, values, member.layout.center)
    return jax.lax.fori_loop(0, rounds, again, start)


def _from_blanket(
    member: MemberDecoder,
    env: Array,
    cells: Array,
    observed: Array,
    variable: Array,
    points: Array,
    real: Array,
) -> Float[Array, "rows columns"]:
    """One variable's missing cells anew, given all others."""
    own = member.layout.owner[:, variable]  # its columns
    missing = (1.0 - observed[:, variable])[:, None] * own
    # Itself and its children; the label is only predicted, from these very cells.
    blanket = (jnp.arange(observed.shape[1]) == variable) + member.parents[variable]
    blanket = blanket.at[-1].set(0.0)
    complete = jnp.ones_like(observed)

    def evidence(point: Array) -> Array:
        tried = cells * (1.0 - own) + point * own
        return member.log_densities(tried, complete, env) @ blanket

    scores = jax.lax.map(evidence, points)  # [candidates, rows]
    weights = jax.nn.softmax(jnp.where(real[:, None], scores, -jnp.inf), axis=0)
    return jnp.where(missing > 0, weights.T @ points, cells)


def completed(table: Table, frame: pd.DataFrame, filled: NDArray) -> pd.DataFrame:
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
