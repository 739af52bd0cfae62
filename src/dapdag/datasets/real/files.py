"""Finding and reading the files of published data sets, which are not distributed with dapdag."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER_VARIABLE = "DAPDAG_DATA"

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Publication:
    """A published data set: what its files are called, and where they come from."""

    name: str
    originals: tuple[str, ...]  # names, with * for any text; complete when each has a match
    source: str

    def files(self, folder: Folder = None) -> tuple[Path | None, list[Path]]:
        """The prepared table NAME.csv if there is one, else the original files.

        Both are looked for in NAME below the folder, then in the folder itself.
        """
        root = data_folder(folder, self)
        places = [root / self.name, root]
        for place in places:
            prepared = place / f"{self.name}.csv"
            if prepared.is_file():
                return prepared, []
            found = [sorted(place.glob(pattern)) for pattern in self.originals]
            if all(found):
                return None, [path for group in found for path in group]
        raise FileNotFoundError(
            f"{self.name}: neither {self.name}.csv nor the original files "
            f"({', '.join(self.originals)}) are in {places[0]} or {places[1]}. {self.advice}"
        )

    @property
    def advice(self) -> str:
        return (
            f"Get them from {self.source}, put them into a folder called {self.name}, and name the "
            f"folder above it in the environment variable {FOLDER_VARIABLE} or in folder=."
        )


def data_folder(folder: Folder, publication: Publication) -> Path:
    """The folder of all data sets: the argument, else the environment variable."""
    given = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if not given:
        raise FileNotFoundError(
            f"{publication.name}: no folder of data sets is known, {FOLDER_VARIABLE} is not set. "
            f"{publication.advice}"
        )
    root = Path(given)
    if not root.is_dir():
        raise FileNotFoundError(f"{publication.name}: {root} is not a folder. {publication.advice}")
    return root


def read_table(path: Path, needed: Iterable[str], **options: Any) -> pd.DataFrame:
    """A CSV file that has at least the needed columns."""
    try:
        table = pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    return with_columns(table, needed, path)


def with_columns(table: pd.DataFrame, needed: Iterable[str], path: Path) -> pd.DataFrame:
    """The table itself, once it is known to have rows and these columns."""
    missing = [c for c in needed if c not in table.columns]
    if missing:
        raise ValueError(
            f"{path} lacks the column(s) {missing}; it has {list(map(str, table.columns))}. Is it "
            "the file of this data set, and comma-separated?"
        )
    if table.empty:
        raise ValueError(f"{path} has a header but no rows.")
    return table


def read_sheet(path: Path) -> pd.DataFrame:
    """The first sheet of an Excel file, or a CSV file."""
    if path.suffix.lower() == ".csv":
        return pd.read_csv(path)
    try:
        return pd.read_excel(path)
    except ImportError as error:
        raise ValueError(
            f"{path} needs a reader of Excel files ({error}): install dapdag[real], or save the "
            "sheet as CSV beside it"
        ) from error


def read_r_frame(path: Path, name: str) -> pd.DataFrame:
    """The data frame called `name` in an .rda file of R."""
    try:
        import rdata
    except ImportError as error:
        raise ValueError(
            f"{path} needs a reader of R's files ({error}): install dapdag[real], or let R write "
            f"{path.with_suffix('.csv').name} beside it with "
            f'write.csv({name}, "{path.with_suffix(".csv").name}", row.names = FALSE)'
        ) from error
    found = rdata.read_rda(path)
    if name not in found:
        raise ValueError(f"{path} holds {sorted(found)}, not {name!r}.")
    return pd.DataFrame(found[name])


def numbers(table: pd.DataFrame, columns: Sequence[str], path: Path) -> pd.DataFrame:
    """These columns as floats; the first cell that is not a number is an error."""
    done = {}
    for name in columns:
        column = pd.to_numeric(table[name], errors="coerce")
        strange = table[name].notna() & column.isna()
        if strange.any():
            cell = table.loc[strange, name].tolist()[0]
            raise ValueError(
                f"{path}, column {name!r}: {cell!r} is not a number "
                f"({int(strange.sum())} such cell(s))."
            )
        done[name] = column.astype(np.float64)
    return pd.DataFrame(done)


def categories(
    column: pd.Series, levels: Sequence[Any], path: Path, ordered: bool = False
) -> pd.Series:
    """A column of categories; a value that is none of the levels is an error."""
    strange = column.notna() & ~column.isin(list(levels))
    if strange.any():
        raise ValueError(
            f"{path}, column {column.name!r}: {column[strange].tolist()[0]!r} is none of "
            f"{list(levels)} ({int(strange.sum())} such cell(s))."
        )
    return column.astype(pd.CategoricalDtype(list(levels), ordered=ordered))


def binary_label(column: pd.Series, path: Path) -> pd.Series:
    """A label of 0 and 1 as integers, none missing."""
    if not column.isin([0, 1]).all():
        strange = column[~column.isin([0, 1])].tolist()[0]
        raise ValueError(f"{path}, label {column.name!r}: {strange!r} is neither 0 nor 1.")
    return column.astype(np.int64)
