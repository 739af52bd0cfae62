"""Times of rows, as users give them, cut into periods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..model.constants import FEWEST_PERIODS, MOST_PERIODS, PERIOD_ROWS


@dataclass(frozen=True, eq=False)
class Periods:
    """The period of every row; periods are in the order of time."""

    code: NDArray[np.intp]  # [rows]
    order: NDArray[np.intp]  # rows in the order of time
    labels: list[Any]
    starts: list[Any]
    ends: list[Any]

    @property
    def count(self) -> int:
        return len(self.labels)

    def thinned(self, most: int) -> NDArray[np.intp]:
        """At most so many rows, evenly spaced in time, in the order of the table."""
        step = np.linspace(0, len(self.order) - 1, min(most, len(self.order))).astype(int)
        return np.sort(self.order[np.unique(step)])


def cut_into_periods(time: Any, n_rows: int, periods: int | str | None) -> Periods:
    """Periods with equal numbers of rows, or of a calendar's frequency."""
    values = _times(time, n_rows)
    order = np.argsort(values.to_numpy(), kind="stable")
    if isinstance(periods, str):
        if not pd.api.types.is_datetime64_any_dtype(values):
            raise ValueError(f"periods={periods!r} is a frequency of dates, and time holds numbers")
        try:
            found = values.dt.tz_localize(None).dt.to_period(periods)
        except ValueError as error:
            raise ValueError(f"periods={periods!r} is no frequency of dates: {error}") from error
        code, labels = pd.factorize(found, sort=True)
        names = [str(label) for label in labels]
    else:
        count = _count(periods, n_rows)
        ranked = values.rank(method="min").to_numpy()[order]
        # rows of one moment fall into one period
        cut = np.minimum(((ranked - 1) * count / n_rows).astype(int), count - 1)
        code = np.empty(n_rows, dtype=np.intp)
        code[order] = pd.factorize(cut)[0]
        names = [str(k + 1) for k in range(int(code.max()) + 1)]
    if len(names) < 2:
        raise ValueError("all rows fall into one period: give more periods, or rows of other times")
    groups = values.groupby(code)
    return Periods(code, order, names, list(groups.min()), list(groups.max()))


def _count(periods: int | None, n_rows: int) -> int:
    if periods is None:
        return int(np.clip(n_rows // PERIOD_ROWS, FEWEST_PERIODS, MOST_PERIODS))
    if not 2 <= periods <= n_rows or periods != int(periods):
        raise ValueError(
            f"periods must be a whole number between 2 and the {n_rows} rows, not {periods}"
        )
    return int(periods)


def _times(time: Any, n_rows: int) -> pd.Series:
    """Times as dates or numbers."""
    given = np.asarray(time) if not isinstance(time, pd.Series) else time.to_numpy()
    if given.ndim != 1:
        raise ValueError(f"time must be one value per row, and has shape {given.shape}")
    values = pd.Series(given)
    if len(values) != n_rows:
        raise ValueError(f"time has {len(values)} values, X has {n_rows} rows")
    absent = np.flatnonzero(values.isna())
    if len(absent):
        raise ValueError(
            f"time is missing in {len(absent)} row(s), the first at position {absent[0]}"
        )
    if pd.api.types.is_bool_dtype(values):
        raise ValueError("time holds truth values: give dates or numbers")
    if pd.api.types.is_datetime64_any_dtype(values):
        return values
    if pd.api.types.is_numeric_dtype(values):
        infinite = np.flatnonzero(~np.isfinite(values.to_numpy(dtype=float)))
        if len(infinite):
            raise ValueError(f"time is infinite at position {infinite[0]}")
        return values.astype(float)
    text = values.astype(str)
    numbers = pd.to_numeric(text, errors="coerce")
    if numbers.notna().all():
        return numbers.astype(float)
    dates = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True)
    strange = np.flatnonzero(dates.isna())
    if len(strange):
        raise ValueError(
            f"time holds {values.iloc[strange[0]]!r} at position {strange[0]}, which is neither a "
            "number nor a date such as 2024-03-31"
        )
    return dates.dt.tz_localize(None)
