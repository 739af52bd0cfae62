"""Every variable from its parents and E, in the units of the table."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.columns import Discrete, Variable
from ..data.layout import Encoded, encode, sizes_of
from ..data.table import Table
from .coordinates import EnvironmentMap
from .environment import infer_environment
from .fitted import Model
from .prediction import reconstruct


def reconstruct_frame(
    model: Model,
    env_map: EnvironmentMap,
    frame: pd.DataFrame,
    y: Any,
    codes: NDArray[np.intp],
    n_domains: int,
    env: Any = None,
) -> pd.DataFrame:
    """Reconstruct each domain under its own E, or all under the given one."""
    data = encode(model.table, *model.table.encode(frame), _label(model.table, y, len(frame)))
    out = np.empty(data.values.shape)
    for d in range(n_domains):
        rows = np.flatnonzero(codes == d)
        if env is None:
            members = infer_environment(model, frame.iloc[rows]).mean
        else:
            point = np.atleast_1d(np.asarray(env, dtype=float))
            if point.shape != (model.sizes.env_dim,):
                raise ValueError(
                    f"env must hold {model.sizes.env_dim} number(s), not shape {point.shape}"
                )
            members = env_map.to_members(point)
        part = Encoded(data.values[rows], data.observed[rows])
        out[rows] = reconstruct(model, part, members)
    return _decode(model.table, out, frame.index)


def _label(table: Table, y: Any, n_rows: int) -> NDArray | None:
    if y is None:
        return None
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} values, X has {n_rows} rows")
    return table.encode_label(y)


def _decode(table: Table, out: NDArray, index: pd.Index) -> pd.DataFrame:
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
