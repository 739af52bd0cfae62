"""What a model says of new rows, as a table to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dapdag._runtime.text import level
from dapdag._sklearn.sites import Sites, adapt
from dapdag.io.columns import whole_numbers
from dapdag.io.new_rows import NewRows

SITE = "site"


@dataclass(frozen=True, eq=False)
class Predictions:
    """One row per row of the new table, and one per site.

    The columns of `table`: those that were kept; the site, where there are several; `prediction`,
    a number or the likeliest class; `low` and `high` of the interval of a number, or
    `probability_C` of each class C; and `outside`, whether the row's site lies beyond the sources.
    """

    table: pd.DataFrame
    environments: pd.DataFrame


def predict_table(
    model: Any,
    new: NewRows,
    *,
    coverage: float = 0.9,
    keep: Sequence[str] = (),
    domain: str | None = None,
) -> Predictions:
    """Predict all rows, each site under its own environment.

    Parameters
    ----------
    model : a fitted DAPDAG estimator
    coverage : of the interval of a number
    keep : columns of the new table to stand before the predictions
    domain : name for the column of sites; `site` if they came from the names of files
    """
    frame = new.rows.frame
    sites = adapt(model, new.X, new.site)
    environments = sites.environment(model.coordinates_)
    columns: dict[str, Any] = {name: frame[name].to_numpy() for name in keep}
    if new.site is not None:
        columns[domain or SITE] = new.site
        outside: Any = environments["outside"].reindex(new.site).to_numpy()
    else:
        outside = bool(environments["outside"].iloc[0])
    found = _classes(model, sites) if hasattr(model, "classes_") else _numbers(sites, coverage)
    for name in found:
        if name in columns:
            raise ValueError(
                f"column {name!r} of the new table has the name of a column of predictions: "
                "rename it"
            )
    table = pd.DataFrame({**columns, **found}, index=frame.index)
    return Predictions(table.assign(outside=outside), environments)


def _numbers(sites: Sites, coverage: float) -> dict[str, Any]:
    low, high = sites.interval(coverage).T
    return {"prediction": sites.numbers()[0], "low": low, "high": high}


def _classes(model: Any, sites: Sites) -> dict[str, Any]:
    probability = sites.probabilities()
    names = [level(value) for value in model.classes_]
    likeliest = model.classes_[probability.argmax(1)]
    if likeliest.dtype.kind == "f":
        likeliest = pd.Series([level(value) for value in likeliest]).to_numpy()
    return {
        "prediction": likeliest,
        **{f"probability_{name}": probability[:, k] for k, name in enumerate(names)},
    }


def fill_in(new: NewRows, complete: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """The new table with its missing cells taken from `complete`, and how many in each column.

    Cells with a value and columns that the model does not know stay as they are; columns that the
    table lacks come last.
    """
    table = new.rows.frame.copy(deep=False)
    filled = {}
    for position, name in enumerate(complete.columns):
        values = complete.iloc[:, position].set_axis(table.index)
        if str(name) not in table:
            table[str(name)], filled[str(name)] = values, len(table)
            continue
        column = table[str(name)]
        absent = column.isna() & values.notna()
        if absent.any():
            filled_in = column.astype(object).where(~absent, values.map(_rounded))
            table[str(name)] = filled_in.infer_objects()
        filled[str(name)] = int(absent.sum())
    return table, {name: count for name, count in filled.items() if count}


def as_written(filled: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """For text files: whole numbers of a column of whole numbers without the `.0` of a float.

    A missing cell makes a column of floats out of 140 and 130; they are to be written as they were.
    """
    table = filled.copy(deep=False)
    for name in table:
        if name in before and whole_numbers(before[name]) and table[name].dtype.kind == "f":
            values = [_whole(value) for value in table[name]]
            table[name] = pd.Series(values, index=table.index, dtype=object)
    return table


def _rounded(value: Any) -> Any:
    """An estimate without digits that mean nothing."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value
