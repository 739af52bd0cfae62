"""Columns of dates and times: no network reads them, and as texts each would be a level."""

import datetime
import re
from typing import Any

import pandas as pd
from pandas.api import types

DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( .*)?"
    r"|\d{1,2}[-. ]*[A-Za-z]{3,9}[-., ]+(\d{4}|\d{2})"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
# Looked at; a column counts as one of dates if at least half of these are.
FIRST_VALUES, MOSTLY = 200, 0.5


def holds_dates(column: pd.Series) -> bool:
    """Whether a column has a type of dates, or most of its texts are dates."""
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return True
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return False
    if isinstance(column.dtype, pd.CategoricalDtype):
        return False
    some = column.dropna().head(FIRST_VALUES)
    return len(some) > 0 and sum(map(_is_date, some)) >= MOSTLY * len(some)


def _is_date(value: Any) -> bool:
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return True
    return isinstance(value, str) and DATE.fullmatch(value.strip()) is not None
