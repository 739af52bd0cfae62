"""The type, values and missing cells of every column of a table, for the user to check."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.text import level, span
from .columns import OTHER, Continuous, Discrete, Variable, numbers_of
from .table import Table

TYPES = {"continuous": "number", "binary": "binary", "categorical": "category"}


@dataclass(frozen=True)
class Column:
    """One column of the table, or the label: what `schema_`, record, report and cli show of it.

    Attributes
    ----------
    name : hashable
        Name.
    kind : str
        "continuous", "binary" or "categorical".
    levels : tuple
        Levels of a discrete column.
    range : (float, float) or None
        Smallest and largest number of the sources.
    limits : (float, float) or None
        Values beyond them count as their end.
    """

    name: Hashable
    kind: str  # "continuous", "binary" or "categorical"
    levels: tuple[Any, ...]  # of a discrete column
    range: tuple[float, float] | None  # of numbers: the smallest and the largest of the sources
    limits: tuple[float, float] | None = None  # values beyond them count as their end

    @property
    def type(self) -> str:
        """The kind in the words of the command line: number, binary or category."""
        return TYPES[self.kind]

    @property
    def values(self) -> str:
        """The range of its numbers, or its levels."""
        return span(*self.range) if self.range is not None else ", ".join(map(level, self.levels))


def describe_column(variable: Variable) -> Column:
    """Kind, levels, range and limits of a variable."""
    if isinstance(variable, Discrete):
        return Column(variable.name, variable.kind, tuple(variable.levels), None)
    if not isinstance(variable, Continuous):
        return Column(variable.name, variable.kind, (), None)
    limits = float(variable.knots[0]), float(variable.knots[-1])
    known = not np.isnan(variable.low)
    ends = (variable.low, variable.high) if known else limits
    return Column(variable.name, variable.kind, (), ends, limits)


def schema_frame(table: Table, missing: pd.DataFrame, overall: pd.Series) -> pd.DataFrame:
    """One row per feature: its type, levels or range, share of missing cells, remarks.

    `missing` holds the share of missing cells, one row per feature and one column per source;
    `overall` the share over all sources.
    """
    found = {
        v.name: {
            "kind": kind_of(v),
            "values": "" if kind_of(v) == "constant" else describe_column(v).values,
            "missing": float(overall.iloc[j]),
            "note": _note(v, missing.iloc[j]),
        }
        for j, v in enumerate(table.features)
    }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("column")


def kind_of(variable: Variable) -> str:
    """The type of a variable; one that never varies is constant."""
    return variable.kind if any(variable.scale) else "constant"


def _note(variable: Variable, missing: pd.Series) -> str:
    notes = []
    if bool((missing == 1).all()):
        notes.append("no value in any source: not used")
    elif kind_of(variable) == "constant":
        notes.append("the same everywhere: not used")
    elif bool((missing == 1).any()):
        absent = [str(name) for name, share in missing.items() if share == 1]
        notes.append(f"no value in {', '.join(absent)}")
    if isinstance(variable, Discrete) and OTHER in variable.levels:
        notes.append(f"rare levels count as {OTHER}")
    return "; ".join(notes)


def duplicates(X: pd.DataFrame) -> list[tuple[Hashable, Hashable]]:
    """Pairs of columns that hold the same values, each with the first of its kind."""
    first: dict[bytes, int] = {}
    found: list[tuple[Hashable, Hashable]] = []
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        cells = pd.util.hash_pandas_object(column, index=False).to_numpy()
        key = hashlib.blake2b(cells.tobytes()).digest()
        k = first.setdefault(key, j)
        if k != j and X.iloc[:, k].equals(column):
            found.append((X.columns[k], X.columns[j]))
    return found


def cell_faults(
    variable: Variable, column: pd.Series
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which cells are missing, and which hold a value beyond the limits or levels."""
    absent = column.isna().to_numpy()
    if isinstance(variable, Discrete):
        return absent, ~variable.known(column) & ~absent
    if not isinstance(variable, Continuous):
        return absent, np.zeros(len(absent), dtype=bool)
    cells = numbers_of(column)
    return absent, (cells < variable.knots[0]) | (cells > variable.knots[-1])
