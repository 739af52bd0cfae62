"""Tables from files: CSV and its relatives, Parquet; one file, several, or a folder of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.text import counted, nearest, quoted
from dapdag._runtime.warning import ReadingWarning
from dapdag.io.cells import read_cells
from dapdag.io.names import is_table_name, stem
from dapdag.io.sniffing import Text, clean, kind_of, sniff
from dapdag.io.streams import is_stream, local
from dapdag.io.values import FileCells, clean_frame, typed_frames

_NOT_TABLES = {
    "model": "is a dapdag model, and a table is expected here: give a CSV or Parquet file",
    "excel": "is a spreadsheet: save the sheet as CSV, and give that file",
    "archive": "is a ZIP archive: unpack it, and give the table inside",
    "json": "is JSON, and a table is expected here: save it as CSV or Parquet, for example with "
    "pandas.read_json(...).to_csv(...)",
    "binary": "is neither text nor Parquet: save the table as CSV or Parquet",
}


_NAMELESS = re.compile(r"Unnamed: \d+")


@dataclass(frozen=True)
class Reading:
    """How text is to be read; None means that the file itself tells."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()  # cells that stand for a missing value, beside the usual ones


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one or several files, in one frame that knows where each row came from."""

    frame: pd.DataFrame
    files: tuple[Path, ...]
    counts: tuple[int, ...]
    raw: pd.DataFrame | None = None  # every cell as it stood in its file, where that was asked for
    decimals: tuple[str, ...] = ()  # decimal mark of each file
    before: int = 0  # rows of the first file that are not among these

    @property
    def name(self) -> str:
        """The files in words."""
        first = str(self.files[0])
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @property
    def file_of_row(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.files)), self.counts)

    def where(self, row: int) -> str:
        """The file of a row and its number there, counted from 1 below the header."""
        ends = np.cumsum(self.counts)
        k = int(np.searchsorted(ends, row, side="right"))
        before = self.before if k == 0 else 0
        return f"{self.files[k]}, row {before + row - int(ends[k]) + self.counts[k] + 1:,}"

    def site_of_row(self) -> NDArray[Any]:
        """The name of each row's file, without its suffixes: the site of tables without one."""
        stems = [clean(stem(path)) for path in self.files]
        repeated = sorted({stem for stem in stems if stems.count(stem) > 1})
        if repeated:
            raise ValueError(
                f"several files are named {repeated[0]!r}, and the name of a file is its site: "
                "rename them, or give the column of the site with --domain"
            )
        return np.array(stems, dtype=object)[self.file_of_row]


def read_table(
    path: str | Path,
    reading: Reading | None = None,
    *,
    columns: Collection[str] | None = None,
    text: Collection[str] = (),
) -> pd.DataFrame:
    """One table from a CSV, TSV or Parquet file, its kind and its separator found from its content.

    Blanks around names and values do not count, and a letter with an accent is one character.

    Parameters
    ----------
    path : the file, or `-` for standard input; text may be compressed (gzip, bz2, xz)
    reading : what the content does not tell, or tells wrongly
    columns : the columns wanted, where the file has them; all by default
    text : columns to be read as text even where they look like numbers: `007` stays `007`
    """
    return read_tables([path], reading, columns=columns, text=text).frame


def column_names(path: str | Path, reading: Reading | None = None) -> list[str]:
    """The columns of a table, without its rows."""
    path, given = Path(path), reading or Reading()
    if is_parquet(path):
        import pyarrow.parquet as pq

        return [clean(str(name)) for name in pq.read_schema(local(path)).names]
    return names_of(sniff(path, given.encoding, given.separator, given.decimal))


def read_tables(
    paths: Iterable[str | Path],
    reading: Reading | None = None,
    *,
    columns: Collection[str] | None = None,
    text: Collection[str] = (),
    levels: Mapping[str, Collection[str]] | None = None,
    keep_raw: bool = False,
) -> Rows:
    """The tables of several files, or of all files in a folder, one below the other.

    A column that some of the files lack is missing in their rows, and a warning says so. `levels`
    are those of a fitted model, by column; `keep_raw` also keeps every cell as it stood there.
    """
    given = reading or Reading()
    files = [file for path in paths for file in table_files(Path(path))]
    frames: dict[int, pd.DataFrame] = {}
    cells: dict[int, FileCells] = {}
    for k, file in enumerate(files):
        if is_parquet(file):
            frames[k] = _read_parquet(file, columns)
        else:
            cells[k] = _read_text(file, given, columns)
    raw = {k: frame.copy(deep=False) for k, frame in frames.items()}
    if keep_raw:
        raw |= {k: _as_it_stands(one) for k, one in cells.items()}
    frames = {k: clean_frame(frame, given.missing) for k, frame in frames.items()}
    typed = typed_frames(list(cells.values()), missing=given.missing, text=text, levels=levels)
    frames |= dict(zip(cells, typed, strict=True))
    every = [_without_nameless(file, frames[k]) for k, file in enumerate(files)]
    for file, frame in zip(files, every, strict=True):
        if frame.empty:
            raise ValueError(f"{file} has column names and no rows below them")
    tell_differences(files, every)
    counts = tuple(len(frame) for frame in every)
    as_it_stands = None
    if keep_raw:
        parts = [raw[k][list(frame)] for k, frame in enumerate(every)]
        as_it_stands = pd.concat(parts, ignore_index=True)
    whole = every[0] if len(every) == 1 else _below_each_other(every)
    marks = tuple(cells[k].decimal if k in cells else "." for k in range(len(files)))
    return Rows(whole, tuple(files), counts, as_it_stands, marks)


def table_files(path: Path) -> list[Path]:
    """The file itself, or the tables in a folder by name; subfolders are named in a warning."""
    if is_stream(path) or not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.is_file() and is_table_name(file))
    below = sorted(
        folder.name
        for folder in path.iterdir()
        if folder.is_dir()
        and not folder.name.startswith(".")
        and any(is_table_name(file) for file in folder.iterdir())
    )
    if below:
        warnings.warn(
            f"the folder {path} has subfolders with tables that are not read: {quoted(below, 4)}; "
            "name them beside it if they belong to it",
            ReadingWarning,
            stacklevel=3,
        )
    if not found:
        raise ValueError(f"the folder {path} holds no table (*.csv, *.tsv, *.parquet)")
    return found


def is_parquet(path: Path) -> bool:
    """Whether it is Parquet or else text; anything but a table is refused."""
    if not is_stream(path) and not path.exists():
        raise FileNotFoundError(f"there is no file {path}{_neighbour(path)}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and one table is expected here")
    if local(path).stat().st_size == 0:
        raise ValueError(f"{path} is empty: it needs a line of column names, and rows below it")
    kind = kind_of(path)
    if kind in _NOT_TABLES:
        raise ValueError(f"{path} {_NOT_TABLES[kind]}")
    return kind == "parquet"


def _neighbour(path: Path) -> str:
    """The file beside it that was probably meant."""
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    meant = nearest(path.name, [file.name for file in path.parent.iterdir()])
    return f": did you mean {path.with_name(meant)}?" if meant else ""


def _read_parquet(path: Path, columns: Collection[str] | None) -> pd.DataFrame:
    import pyarrow as pa

    try:
        with parquet_file(path) as file:
            return plain_frame(file.read(wanted_of(path, file, columns)).to_pandas(), file)
    except pa.ArrowException as error:
        raise unreadable(path, error) from error


def parquet_file(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(local(path))


def unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is a Parquet file that cannot be read ({error})")


def wanted_of(path: Path, file: Any, columns: Collection[str] | None) -> list[str] | None:
    """The columns to read, by their names in the file; None for all."""
    names = file.schema_arrow.names
    cleaned = [clean(name) for name in names]
    repeated = sorted({name for name in cleaned if cleaned.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{path} has several columns named {repeated[0]!r}: give every column a name of its own"
        )
    return None if columns is None else [name for name in names if clean(name) in columns]


def plain_frame(frame: pd.DataFrame, file: Any) -> pd.DataFrame:
    """The columns by their clean names, and rows by their numbers."""
    # An index that pandas wrote is a column, or the bare numbers of the rows.
    names = file.schema_arrow.names
    named = [name for name in frame.index.names if name is not None and name in names]
    frame = frame.reset_index(level=named) if named else frame
    return frame.reset_index(drop=True).rename(columns=lambda name: clean(str(name)))


def _read_text(path: Path, reading: Reading, columns: Collection[str] | None) -> FileCells:
    found = sniff(path, reading.encoding, reading.separator, reading.decimal)
    names = names_of(found)
    wanted = names if columns is None else [name for name in names if name in columns]
    return FileCells(read_cells(path, found, names, wanted or names), found.decimal)


def _as_it_stands(cells: FileCells) -> pd.DataFrame:
    return pd.DataFrame({name: column.to_pandas() for name, column in cells.columns.items()})


def names_of(found: Text) -> list[str]:
    """The header, with names for columns that have none."""
    return [name or f"Unnamed: {k}" for k, name in enumerate(found.names)]


def _without_nameless(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Without columns that have neither name nor value: a separator at line ends makes them."""
    void = [name for name in frame if _NAMELESS.fullmatch(str(name)) and frame[name].isna().all()]
    if void:
        warnings.warn(
            f"{path}: {counted(len(void), 'column')} without a name and without values left out",
            ReadingWarning,
            stacklevel=4,
        )
    return frame.drop(columns=void)


def tell_differences(files: Sequence[Path], frames: Sequence[Collection[Any]]) -> None:
    everywhere = set.intersection(*(set(frame) for frame in frames))
    anywhere = {name: None for frame in frames for name in frame}
    if not everywhere:
        raise ValueError(f"the files {quoted(files, 3)} have no column in common")
    for name in anywhere:
        if name not in everywhere:
            lacking = [
                file.name for file, frame in zip(files, frames, strict=True) if name not in frame
            ]
            warnings.warn(
                f"column {name!r} is not in {quoted(lacking, 3)}: it counts as missing there",
                ReadingWarning,
                stacklevel=3,
            )


def _below_each_other(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    names = list(dict.fromkeys(name for frame in frames for name in frame))
    whole = {}
    for name in names:
        parts = [
            frame[name] if name in frame else pd.Series(np.nan, index=frame.index)
            for frame in frames
        ]
        # A column without values has whatever type the reader chose: the others decide.
        telling = [part for part in parts if part.notna().any()] or parts[:1]
        kinds = {part.dtype for part in telling}
        if len(kinds) > 1 and not all(pd.api.types.is_numeric_dtype(kind) for kind in kinds):
            parts = [part.astype(object) for part in parts]
        elif len(kinds) == 1 and not pd.api.types.is_numeric_dtype(telling[0].dtype):
            parts = [part.astype(telling[0].dtype) for part in parts]
        whole[name] = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(whole)
