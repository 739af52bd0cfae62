"""Single values and frames as JSON, and back with the type that they had."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

# JSON holds these as they are; the numpy types are written with their name beside the value.
_NATIVE = (str, int, float, bool)
_NUMPY: dict[str, type[np.generic]] = {
    f"numpy.{t.__name__.rstrip('_')}": t
    for t in (
        *(np.str_, np.bool_, np.float16, np.float32, np.float64),
        *(np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64),
    )
}
_TAGS = {t: tag for tag, t in _NUMPY.items()}


def encode_scalar(value: Any, what: str) -> Any:
    """A string, number, bool or None as JSON; `what` names it in the error for anything else."""
    tag = _TAGS.get(type(value))
    if tag is None and value is not None and type(value) not in _NATIVE:
        raise ValueError(
            f"{what} is {value!r}, of type {type(value).__name__}, and cannot be saved: only "
            "strings, integers, floats and bools can; rename or convert it before fitting"
        )
    plain = value.item() if tag else value
    if isinstance(plain, float) and not math.isfinite(plain):
        # JSON has neither infinity nor NaN.
        return {"type": tag or "float", "value": str(plain)}
    return {"type": tag, "value": plain} if tag else plain


def decode_scalar(coded: Any) -> Any:
    """What `encode_scalar` was given, with its type."""
    if coded is None or type(coded) in _NATIVE:
        return coded
    try:
        tag, value = coded["type"], coded["value"]
        if type(value) in _NATIVE:
            return float(value) if tag == "float" else _NUMPY[tag](value)
    except (LookupError, OverflowError, TypeError, ValueError):
        pass
    raise ValueError(f"{coded!r} does not stand for a string, number or bool")


def encode_frame(frame: pd.DataFrame, what: str) -> dict[str, list[Any]]:
    """A table of scalars, column by column; its index is not kept."""
    return {
        str(name): [encode_scalar(_unboxed(cell), f"{what}[{name!r}]") for cell in frame[name]]
        for name in frame
    }


def _unboxed(cell: Any) -> Any:
    return None if cell is pd.NA else cell


def decode_frame(coded: Mapping[str, list[Any]]) -> pd.DataFrame:
    """What `encode_frame` was given."""
    return pd.DataFrame({name: [decode_scalar(v) for v in cells] for name, cells in coded.items()})
