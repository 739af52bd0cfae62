"""What a model says of new rows, as a table to be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.text import level
from dapdag._sklearn.sites import adapt, interval_of, numbers_of, probabilities_of
from dapdag.inference.prediction import LabelDistribution
from dapdag.io.columns import whole_numbers
from dapdag.io.new_rows import NewRows

SITE = "site"
IMPUTED = "imputed"


@dataclass(frozen=True, eq=False)
class Predictions:
    """One row per row of the new table, and one per site.

    The columns of `table`: those that were kept; the site, where there are several; `prediction`,
    a number or the likeliest class; `low` and `high` of the interval of a number, or
    `probability_C` of each class C with `low_C` and `high_C`, the interval of that probability (of
    two classes for the second); and `outside`, whether the row's site lies beyond the sources.
    """

    table: pd.DataFrame
    environments: pd.DataFrame


def predict_at_site(
    site: Any,
    new: NewRows,
    *,
    coverage: float = 0.9,
    keep: Sequence[str] = (),
    domain: str | None = None,
) -> Predictions:
    """Predict rows of a site that is known; its environment stays as it is."""
    environments = site.environment_
    if hasattr(site, "classes_"):
        ends = site.predict_interval(new.X, coverage)
        found = class_columns(site.classes_, site.predict_proba(new.X), ends)
    else:
        low, high = site.predict_interval(new.X, coverage).T
        found = {"prediction": site.predict(new.X), "low": low, "high": high}
    return _beside(new, keep, domain, found, environments)


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
    sites = adapt(model, new.X, new.site)
    found = label_columns(model, sites.label, coverage, lambda: sites.class_intervals(coverage))
    return _beside(new, keep, domain, found, sites.environments)


def _beside(
    new: NewRows,
    keep: Sequence[str],
    domain: str | None,
    found: dict[str, Any],
    environments: pd.DataFrame,
) -> Predictions:
    table = together(new.rows.frame, new.site, keep, domain, found, environments)
    return Predictions(table, environments)


def together(
    frame: pd.DataFrame,
    site: Any,
    keep: Sequence[Any],
    domain: str | None,
    found: dict[str, Any],
    environments: pd.DataFrame,
) -> pd.DataFrame:
    """The columns of predictions behind those of `frame` that are kept and each row's site."""
    columns: dict[Any, Any] = {name: frame[name].array for name in keep}
    if site is not None:
        columns[domain or SITE] = site
        outside: Any = environments["outside"].reindex(site).to_numpy()
    else:
        outside = bool(environments["outside"].iloc[0])
    for name in found:
        if name in columns:
            raise ValueError(
                f"column {name!r} of the new table has the name of a column of predictions: "
                "rename it"
            )
    return pd.DataFrame({**columns, **found}, index=frame.index).assign(outside=outside)


def label_columns(
    estimator: Any,
    label: LabelDistribution,
    coverage: float,
    class_ends: Callable[[], NDArray[np.float64]],
) -> dict[str, Any]:
    """The label's columns of a table of predictions; `class_ends` computes the intervals of
    probabilities."""
    if hasattr(estimator, "classes_"):
        return class_columns(estimator.classes_, probabilities_of(label), class_ends())
    model = estimator.fitted_.model
    low, high = interval_of(model, label, coverage).T
    return {"prediction": numbers_of(model, label)[0], "low": low, "high": high}


def class_columns(classes: Any, probability: Any, ends: Any) -> dict[str, Any]:
    """The likeliest class, the probability of each, and its interval: of two classes that of the
    second, which the other mirrors."""
    names = [level(value) for value in classes]
    likeliest = classes[probability.argmax(1)]
    if likeliest.dtype.kind == "f":
        likeliest = pd.Series([level(value) for value in likeliest]).to_numpy()
    return {
        "prediction": likeliest,
        **{f"probability_{name}": probability[:, k] for k, name in enumerate(names)},
        **{
            f"{end}_{name}": ends[:, k, position]
            for k, name in enumerate(names)
            if k or len(names) > 2
            for position, end in enumerate(("low", "high"))
        },
    }


def fill_in(
    new: NewRows, complete: pd.DataFrame, as_text: bool = False
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The new table with its missing cells taken from `complete`, and how many in each column.

    Columns that the model does not know stay as they stand in their file, and with `as_text` so
    does every cell that has a value. Columns that the table lacks come behind the others, and last
    `IMPUTED`, which names the columns that were filled in each row.
    """
    frame, raw = new.rows.frame, new.rows.raw
    known = {str(name) for name in complete.columns}
    table = frame.copy(deep=False)
    if IMPUTED in table:
        raise ValueError(
            f"column {IMPUTED!r} of the new table has the name of the column that tells what was "
            "filled in: rename it"
        )
    if raw is not None:
        for name in table:
            if as_text or name not in known:
                table[name] = raw[name]
    marks = np.full(len(table), "", dtype=object)
    filled = {}
    for position, column_name in enumerate(complete.columns):
        name, values = str(column_name), complete.iloc[:, position].set_axis(table.index)
        absent = np.ones(len(table), dtype=bool)
        if name in frame:
            absent = (frame[name].isna() & values.notna()).to_numpy()
        if not absent.any():
            continue
        estimates = values.map(_rounded)
        if as_text and raw is not None:
            estimates = _in_writing(estimates, new)
        if name in frame:
            mixed = table[name].astype(object).where(~absent, estimates)
            table[name] = mixed if as_text else mixed.infer_objects()
        else:
            table[name] = estimates
        marks[absent] += np.where(marks[absent] == "", name, ";" + name)
        filled[name] = int(absent.sum())
    return table.assign(**{IMPUTED: marks}), filled


def _in_writing(estimates: pd.Series, new: NewRows) -> pd.Series:
    """Estimates as text, with the decimal mark of their row's file."""
    marks = np.array(new.rows.decimals or ("." for _ in new.rows.files), dtype=object)
    of_row = marks[new.rows.file_of_row]
    shown = [
        str(level(value)).replace(".", mark) if isinstance(value, float) else str(value)
        for value, mark in zip(estimates, of_row, strict=True)
    ]
    return pd.Series(shown, index=estimates.index, dtype=object)


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
