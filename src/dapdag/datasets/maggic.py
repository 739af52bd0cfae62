"""MAGGIC: heart-failure patients of many studies, from a file that the user has.

The Meta-Analysis Global Group in Chronic Heart Failure does not publish its data; ask the group
(University of Auckland) for access. The paper uses twelve variables that all studies share and does
not list them. The twelve here are the eight of its simulated patients, which follow a graph learned
on MAGGIC, and four of the published MAGGIC risk score; other variables can be declared.
"""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import DomainData

STUDY = "study"
LABEL = "survival_1y"
MAX_PROBLEMS = 12


@dataclass(frozen=True)
class MaggicVariable:
    """A column that a file must have: a number within bounds, or 0 and 1."""

    name: str
    kind: Literal["number", "binary"]
    meaning: str
    low: float = 0.0
    high: float = 1.0


MAGGIC_VARIABLES = (
    MaggicVariable("age", "number", "years", 0, 120),
    MaggicVariable("sex", "binary", "1 = male"),
    MaggicVariable("ethnicity", "binary", "1 = the study's minority"),
    MaggicVariable("diabetes", "binary", "history of diabetes"),
    MaggicVariable("angina", "binary", "history of angina"),
    MaggicVariable("myocardial_infarction", "binary", "history of infarction"),
    MaggicVariable("ejection_fraction", "number", "left ventricle, per cent", 1, 100),
    MaggicVariable("systolic_bp", "number", "mmHg", 40, 300),
    MaggicVariable("ace_inhibitor", "binary", "treated with an ACE inhibitor"),
    MaggicVariable("nyha_1", "binary", "NYHA class I"),
    MaggicVariable("nyha_2", "binary", "NYHA class II"),
    MaggicVariable("nyha_3", "binary", "NYHA class III; class IV has 0 in all three"),
)
NYHA = ("nyha_1", "nyha_2", "nyha_3")


def load_maggic(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    variables: Sequence[MaggicVariable] = MAGGIC_VARIABLES,
) -> DomainData:
    """Patients as they are in the file, missing cells and all.

    `prepare_studies` turns them into the paper's tables.

    Parameters
    ----------
    path : path-like
        A CSV or Parquet file with one row per patient and the columns `study` (name), `survival_1y`
        (1 = alive after one year, 0 = not, empty = unknown) and those of `MAGGIC_VARIABLES`; empty
        cells are missing values, further columns are ignored.
    columns : mapping from str to str, optional
        The file's name of a column, by the name used here, where they differ.
    variables : sequence of MaggicVariable, optional
        Other variables to expect. By default those of the paper.

    Returns
    -------
    DomainData
        Table with missing cells, label and study of every row.

    Raises
    ------
    ValueError
        With all that is wrong with the file: missing columns, text among numbers, impossible
        values.
    """
    file = Path(path)
    table = _read(file)
    table = _renamed(table, columns or {}, variables, file)
    problems = list(_problems(table, variables))
    if problems:
        more = len(problems) - MAX_PROBLEMS
        listed = "; ".join(problems[:MAX_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        raise ValueError(f"{file} is not a MAGGIC file: {listed}.")
    values = {v.name: pd.to_numeric(table[v.name]).astype(np.float64) for v in variables}
    return DomainData(
        X=pd.DataFrame(values),
        y=pd.to_numeric(table[LABEL]).astype(np.float64),
        sample_domain=table[STUDY].astype(str).to_numpy(dtype=object),
        task="classification",
        name="maggic",
        description="One-year survival of patients with chronic heart failure, by study.",
        licence="not public; subject to the agreement with the MAGGIC group",
    )


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist. MAGGIC is not public: ask the group (University of Auckland) "
            "for access, or try make_maggic_like()."
        )
    if path.suffix.lower() in (".parquet", ".pq"):
        return pd.read_parquet(path)
    if path.suffix.lower() != ".csv":
        raise ValueError(f"{path}: expected a .csv or .parquet file.")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header = next(csv.reader(file), [])
        repeated = sorted({name for name in header if header.count(name) > 1})
        if repeated:
            raise ValueError(f"{path}: column(s) {repeated} appear more than once.")
        return pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error


def _renamed(
    table: pd.DataFrame,
    columns: Mapping[str, str],
    variables: Sequence[MaggicVariable],
    path: Path,
) -> pd.DataFrame:
    """The expected columns under their own names, and no others."""
    expected = [STUDY, LABEL, *(v.name for v in variables)]
    unknown = [name for name in columns if name not in expected]
    if unknown:
        raise ValueError(f"columns: {unknown} are not among the expected {expected}.")
    there = {name: columns.get(name, name) for name in expected}
    missing = [name if name == own else f"{own} (for {name})" for name, own in there.items()]
    missing = [
        shown
        for shown, own in zip(missing, there.values(), strict=True)
        if own not in table.columns
    ]
    if missing:
        found = list(map(str, table.columns))
        hint = " Is it comma-separated?" if len(found) == 1 else " columns= maps other names."
        raise ValueError(f"{path} lacks the column(s) {missing}; it has {found}.{hint}")
    if table.empty:
        raise ValueError(f"{path} has a header but no rows.")
    return pd.DataFrame({name: table[own].to_numpy() for name, own in there.items()})


def _problems(table: pd.DataFrame, variables: Sequence[MaggicVariable]) -> Iterator[str]:
    """What is wrong with the cells, a phrase each; rows are counted from 1 below the header."""
    unnamed = table[STUDY].isna()
    if unnamed.any():
        yield f"column '{STUDY}' is empty in {_rows(unnamed)}"
    label = MaggicVariable(LABEL, "binary", "")
    fine = set()
    for variable in (label, *variables):
        column = table[variable.name]
        numeric = pd.to_numeric(column, errors="coerce")
        strange = column.notna() & numeric.isna()
        if variable.kind == "binary":
            wrong = numeric.notna() & ~numeric.isin([0, 1])
            expected = "0 or 1"
        else:
            wrong = numeric.notna() & ~numeric.between(variable.low, variable.high)
            expected = f"from {variable.low:g} to {variable.high:g} ({variable.meaning})"
        for bad, what in ((strange, "which is not a number"), (wrong, f"not {expected}")):
            if bad.any():
                cell = repr(column[bad].tolist()[0])
                yield f"column '{variable.name}' holds {cell}, {what}, in {_rows(bad)}"
        if not (strange | wrong).any():
            fine.add(variable.name)
    if table[LABEL].isna().all():
        yield f"column '{LABEL}' is empty everywhere"
    if fine >= set(NYHA):
        several = table[list(NYHA)].astype(np.float64).sum(axis=1) > 1
        if several.any():
            yield f"{', '.join(NYHA)}: more than one is 1 in {_rows(several)}"


def _rows(bad: pd.Series) -> str:
    first = int(np.argmax(bad.to_numpy())) + 1
    count = int(bad.sum())
    return f"row {first}" + (f" and {count - 1} more" if count > 1 else "")
