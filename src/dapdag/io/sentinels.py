"""Numbers that probably stand for a missing value: −9, 999 and the like, far off the others."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

from dapdag._runtime.text import counted, significant
from dapdag._runtime.warning import ReadingWarning

# Codes by custom: −1, and repetitions of 7, 8 or 9 with either sign.
_CODE = re.compile(r"-1|-?(7+|8+|9+)")
# Any other value must be further off, and occur more often.
FAR = 3.0
OFTEN = 3
FEWEST_OTHERS = 5


def likely_sentinels(column: pd.Series) -> dict[float, int]:
    """Extreme values of a column that probably stand for missing cells, and how often each does.

    A code by custom counts if it lies further from the others than they span, or is negative where
    no other value is; any other value if it occurs often and lies three times as far.
    """
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return {}
    known = column.to_numpy(dtype=float, na_value=np.nan)
    values, counts = np.unique(known[np.isfinite(known)], return_counts=True)
    found: dict[float, int] = {}
    for end in (0, -1, 0, -1):  # two on either side
        if counts.sum() - counts[end : end + 1 or None].sum() < FEWEST_OTHERS or len(values) < 3:
            break
        value, others = values[end], np.delete(values, end)
        gap = abs(value - others[end])
        span = float(others[-1] - others[0])
        code = value.is_integer() and _CODE.fullmatch(str(int(value))) is not None
        alone_negative = value < 0 <= others[0]
        far = gap > span or (alone_negative and value <= -7) or (alone_negative and gap > 0.5)
        if (code and far) or (counts[end] >= OFTEN and gap > FAR * span):
            found[float(value)] = int(counts[end])
            values, counts = others, np.delete(counts, end)
    return found


def tell_sentinels(X: Any, model: Any = None, otherwise: str = "") -> None:
    """Warn of values that look like codes for missing cells.

    Of a new table, only of values beyond those that the model was trained on.
    """
    if not isinstance(X, pd.DataFrame):
        return
    ranges = {} if model is None else {c.name: c.range for c in _columns(model)}
    for name, column in X.items():
        found = likely_sentinels(column)
        span = ranges.get(name)
        if model is not None:
            found = {
                v: n for v, n in found.items() if span is not None and not span[0] <= v <= span[1]
            }
        if not found:
            continue
        shown = ", ".join(significant(value) for value in found)
        code = np.format_float_positional(next(iter(found)), trim="-")
        warnings.warn(
            f"column {str(name)!r}: {shown} ({counted(sum(found.values()), 'cell')}) lies far off "
            f"the other values{otherwise}; if it stands for a missing value, give --missing {code}",
            ReadingWarning,
            stacklevel=3,
        )


def _columns(model: Any) -> Any:
    record = getattr(model, "record_", None)
    return () if record is None else record.columns
