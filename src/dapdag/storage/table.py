"""What was learned about the columns of a table, as JSON and arrays, and back.

Names and levels keep their type: a model that was fitted on the classes ``np.int8(3)`` predicts
``int8``, and a column named ``3`` is not one named ``"3"``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Continuous, Discrete, Standardised, Variable
from ..data.table import Table
from .scalars import decode_scalar, encode_scalar

Arrays = dict[str, NDArray]


def encode_table(table: Table) -> tuple[dict[str, Any], Arrays]:
    """The table as JSON, and the arrays that go beside it."""
    arrays: Arrays = {}
    features = [
        _encode_variable(v, f"the name of column {j}", f"table.{j}.", arrays)
        for j, v in enumerate(table.features)
    ]
    label = _encode_variable(table.label, "the name of the label", "table.label.", arrays)
    return {"features": features, "label": label}, arrays


def decode_table(coded: Mapping[str, Any], arrays: Arrays) -> Table:
    """The table again; takes its arrays out of `arrays`."""
    features = tuple(
        _decode_variable(v, f"table.{j}.", arrays) for j, v in enumerate(coded["features"])
    )
    return Table(features, _decode_variable(coded["label"], "table.label.", arrays))


def _encode_variable(v: Variable, what: str, prefix: str, arrays: Arrays) -> dict[str, Any]:
    name = encode_scalar(v.name, what)
    if isinstance(v, Continuous):
        arrays[prefix + "knots"], arrays[prefix + "scores"] = v.knots, v.scores
        ends = None if np.isnan(v.low) else [v.low, v.high]
        return {"type": "continuous", "name": name, "range": ends}
    if isinstance(v, Standardised):
        moments = {"mean": v.mean, "deviation": v.deviation}
        coded = {key: encode_scalar(value, key) for key, value in moments.items()}
        return {"type": "standardised", "name": name, **coded}
    levels = [encode_scalar(level, f"a level of {v.name!r}") for level in v.levels]
    return {"type": "discrete", "name": name, "levels": levels, "shares": list(v.shares)}


def _decode_variable(coded: Mapping[str, Any], prefix: str, arrays: Arrays) -> Variable:
    kind, name = coded["type"], decode_scalar(coded["name"])
    if kind == "continuous":
        knots, scores = (_real(arrays.pop(prefix + part)) for part in ("knots", "scores"))
        if knots.ndim != 1 or knots.shape != scores.shape:
            raise ValueError(
                f"column {name!r} has knots of shape {knots.shape} and scores of {scores.shape}"
            )
        if not (np.isfinite(knots).all() and np.isfinite(scores).all()):
            raise ValueError(f"column {name!r} has knots or scores that are not finite")
        low, high = (np.nan, np.nan) if coded["range"] is None else coded["range"]
        return Continuous(name, knots, scores, float(low), float(high))
    if kind == "standardised":
        mean, deviation = (decode_scalar(coded[key]) for key in ("mean", "deviation"))
        return Standardised(name, _real(mean).item(), _real(deviation).item())
    if kind != "discrete":
        raise ValueError(f"column {name!r} is of the unknown type {kind!r}")
    levels = tuple(decode_scalar(level) for level in coded["levels"])
    shares = tuple(_real(share).item() for share in coded["shares"])
    if len(levels) != len(shares):
        raise ValueError(f"column {name!r} has {len(levels)} levels and {len(shares)} shares")
    return Discrete(name, levels, shares)


def _real(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype != np.float64:
        raise ValueError(f"expected double precision numbers, found {array.dtype}")
    return array
