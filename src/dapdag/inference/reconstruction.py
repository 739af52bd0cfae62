"""Every variable from its parents and E, in the units of the table."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Array
from numpy.typing import NDArray

from .._runtime.compile import Effort
from ..data.chunks import padded
from ..data.columns import Discrete, Variable
from ..data.layout import Encoded, sizes_of
from ..data.table import Table
from .fitted import FittedModel
from .programs import MemberDecoder, per_member


def reconstruct(
    model: FittedModel, data: Encoded, env: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Expected value of every column from its parents and E [members, dim], averaged over members:
    [rows, columns]."""
    cells = padded(data)
    found = per_member(
        *(model, _means, (env,), cells.values, cells.observed), effort=Effort.FAST_TO_RUN
    )
    return found.mean(0).astype(np.float64)[: len(data.values)]


def _means(member: MemberDecoder, env: Array, values: Array, observed: Array) -> Array:
    return member.means(values, observed, env)


def encoded_label(table: Table, y: Any, n_rows: int) -> NDArray | None:
    if y is None:
        return None
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} values, X has {n_rows} rows")
    return table.encode_label(y)


def decoded(table: Table, out: NDArray, index: pd.Index) -> pd.DataFrame:
    columns: dict[Any, NDArray] = {}
    start = 0
    for variable in table.features:
        columns |= _columns(variable, out[:, start : start + variable.width])
        start += variable.width
    _, _, label_columns = sizes_of(table)
    first = out.shape[1] - label_columns
    columns |= _columns(table.label, out[:, first : first + table.label.width])
    return pd.DataFrame(columns, index=index)


def _columns(variable: Variable, block: NDArray) -> dict[Any, NDArray]:
    if not isinstance(variable, Discrete):
        return {variable.name: variable.decode(block)}
    if variable.kind == "binary":
        return {variable.name: block[:, 0]}
    return {f"{variable.name}={level}": block[:, k] for k, level in enumerate(variable.levels)}
