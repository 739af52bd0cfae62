"""Rows of a new table in the columns of a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.text import nearest, quoted, suggestion
from dapdag._runtime.warning import MissingFeatureWarning
from dapdag.data.columns import Discrete, Variable
from dapdag.io.columns import clean_numbers
from dapdag.io.reading import Reading, Rows, column_names, read_tables, table_files
from dapdag.io.sentinels import tell_sentinels
from dapdag.io.sniffing import clean
from dapdag.io.study import site_labels


@dataclass(frozen=True, eq=False)
class NewRows:
    """New rows for a model, and what else their table holds.

    Attributes
    ----------
    X : DataFrame or array
        An array for a model that was fitted on one.
    site : array or None
        Site of every row as text; None if all rows are one.
    rows : Rows
        The table as it was read.
    unused : list of str
        Columns of the table that the model does not know.
    lacking : list of str
        Columns of the model that the table has not.
    domain : str or None
        Column that names the sites.
    ids : tuple of str
        Columns that name rows, as in training.
    """

    X: Any  # a DataFrame, or an array for a model that was fitted on one
    site: NDArray[Any] | None  # each row's site as text; None: all rows are one
    rows: Rows
    unused: list[str]  # columns of the table that the model does not know
    lacking: list[str]  # columns of the model that the table has not
    domain: str | None = None  # the column that names the sites
    ids: tuple[str, ...] = ()  # columns of the table that name rows, as in training

    def __len__(self) -> int:
        return len(self.rows.frame)

    @property
    def has_sites(self) -> bool:
        return self.site is not None


def read_new_rows(
    model: Any,
    paths: Sequence[str | Path],
    *,
    domain: str | None = None,
    keep: Sequence[str] | None = (),
    reading: Reading | None = None,
) -> NewRows:
    """Read what a model needs of one new table or of several, one per site.

    What `dapdag fit` was told about its tables counts here as well: what stands for a missing
    value, the decimal mark, and the columns that name sites and rows.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        A fitted estimator.
    paths : sequence of path-like
        Files and folders.
    domain : str, optional
        Column that names each row's site. By default that of the training tables, where it is
        there; an empty text makes all rows of a file one site.
    keep : sequence of str, default=()
        Columns to read beside the model's; None reads all.
    reading : Reading, optional
        What the content does not tell, or tells wrongly.

    Returns
    -------
    NewRows
        Rows for the model.
    """
    plan = plan_reading(model, paths, domain=domain, keep=keep, reading=reading)
    rows = read_tables(
        plan.files,
        plan.reading,
        columns=plan.wanted,
        text=plan.text,
        levels=plan.levels,
        keep_raw=keep is None,
    )
    found = match_model(model, rows, domain=plan.domain, head=plan.head)
    new = replace(found, ids=plan.ids)
    tell_sentinels(new.X, model, "; it is taken for a value")
    if keep is None:
        return new
    # Large tables: what the model needs is in X, and need not be in memory twice.
    return replace(new, rows=replace(rows, frame=rows.frame[plan.beside]))


@dataclass(frozen=True, eq=False)
class ReadingPlan:
    """Which files and columns are read for a model, and how."""

    files: list[Path]
    reading: Reading
    head: list[str]  # all columns of the files
    domain: str | None
    ids: tuple[str, ...]
    beside: list[str]  # columns to read beside the model's
    wanted: set[str] | None  # None: all
    text: list[str]  # columns that stay text
    levels: dict[str, tuple[Any, ...]]

    @property
    def has_sites(self) -> bool:
        return self.domain is not None or len(self.files) > 1


def plan_reading(
    model: Any,
    paths: Sequence[str | Path],
    *,
    domain: str | None = None,
    keep: Sequence[str] | None = (),
    reading: Reading | None = None,
) -> ReadingPlan:
    """What `read_new_rows` reads, from the headers of the files."""
    features = model.fitted_.model.table.features
    told = getattr(model, "reading_", None) or {}
    reading = _as_before(reading or Reading(), told)
    files = [file for path in paths for file in table_files(Path(path))]
    head = list(dict.fromkeys(name for file in files for name in column_names(file, reading)))
    if domain is None and told.get("domain") in head:
        domain = told["domain"]
    domain = clean(domain) if domain else None
    ids = tuple(name for name in told.get("ids", ()) if name in head)
    keep = None if keep is None else [*map(clean, keep), *(n for n in ids if n not in keep)]
    beside = list(dict.fromkeys([*(keep or ()), *([domain] if domain else [])]))
    for name in beside:
        if name not in head:
            raise ValueError(
                f"{files[0]} has no column {name!r}; " + suggestion(name, head, "its columns are")
            )
    numeric = {str(v.name) for v in features if not _is_text(v)}
    return ReadingPlan(
        files,
        reading,
        head,
        domain,
        ids,
        beside,
        wanted=None if keep is None else {*(str(v.name) for v in features), *beside},
        text=[name for name in head if name not in numeric],
        levels={str(v.name): v.levels for v in features if isinstance(v, Discrete)},
    )


def _as_before(given: Reading, told: Mapping[str, Any]) -> Reading:
    """The reading of the training tables, where nothing else is given."""
    missing = (*given.missing, *(m for m in told.get("missing", ()) if m not in given.missing))
    return replace(given, missing=missing, decimal=given.decimal or told.get("decimal"))


def match_model(
    model: Any, rows: Rows, *, domain: str | None = None, head: Sequence[str] | None = None
) -> NewRows:
    """The model's columns of `rows`; a column that is not there counts as missing, with a warning.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        A fitted DAPDAGRegressor or DAPDAGClassifier.
    rows : Rows
        What `read_tables` returned.
    domain : str, optional
        Column that names each row's site.
    head : sequence of str, optional
        Names of all columns of the files, where `rows` holds only some.

    Returns
    -------
    NewRows
        Rows for the model.

    Raises
    ------
    ValueError
        For text in a column of numbers, for a column that is there under a similar name, and for
        a table with none of the model's columns.
    """
    table = model.fitted_.model.table
    names = [str(v.name) for v in table.features]
    head = [str(name) for name in rows.frame] if head is None else list(head)
    unused = [name for name in head if name not in names]
    lacking = [name for name in names if name not in head]
    if len(lacking) == len(names):
        raise ValueError(
            f"{rows.name} has none of the model's columns ({quoted(names)}); its columns are "
            f"{quoted(head)}"
        )
    free = [name for name in unused if name not in (domain, str(table.label.name))]
    for name in lacking:
        meant = nearest(name, free)
        if meant is not None:
            raise ValueError(
                f"{rows.name} has no column {name!r}, which the model knows, but has {meant!r}: "
                "if that is the same, rename it"
            )
    if lacking:
        warnings.warn(
            f"{rows.name} has no column {quoted(lacking)}: the model counts it as missing in "
            "every row",
            MissingFeatureWarning,
            stacklevel=3,
        )
    X = pd.DataFrame({v.name: _column(rows, v) for v in table.features}, index=rows.frame.index)
    named = domain is not None or len(rows.files) > 1
    return NewRows(
        X=X if hasattr(model, "feature_names_in_") else X.to_numpy(),
        site=site_labels(rows, domain) if named else None,
        rows=rows,
        unused=unused,
        lacking=lacking,
        domain=domain,
    )


def known_labels(model: Any, rows: Rows) -> pd.Series | None:
    """Labels that stand in a new table, with values of the type of the training's; or None."""
    label = model.fitted_.model.table.label
    if str(label.name) not in rows.frame:
        return None
    found = _column(rows, label)
    return found if bool(found.notna().any()) else None


def _is_text(variable: Variable) -> bool:
    """Whether its levels are texts; the last one may stand for rare levels of any type."""
    return isinstance(variable, Discrete) and isinstance(variable.levels[0], str)


def _column(rows: Rows, variable: Variable) -> pd.Series:
    """One column with values of the type that the model was fitted on."""
    name = str(variable.name)
    if name not in rows.frame:
        return pd.Series(np.nan, index=rows.frame.index)
    column = rows.frame[name]
    if _is_text(variable):
        return column.astype(object).map(str, na_action="ignore")
    if isinstance(variable, Discrete) and all(
        isinstance(v, bool | np.bool_) for v in variable.levels
    ):
        return column.astype(object).map(_truth, na_action="ignore")
    return clean_numbers(rows, name)


def _truth(value: Any) -> Any:
    return {"true": True, "false": False, "1": True, "0": False}.get(str(value).lower(), value)
