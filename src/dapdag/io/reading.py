"""Tables from files: CSV and its relatives, Parquet; one file, several, or a folder of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.text import counted, nearest, quoted
from dapdag.io.sniffing import Text, kind_of, sniff, undecodable

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".dat", ".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz")

_NOT_TABLES = {
    "model": "is a dapdag model, and a table is expected here: give a CSV or Parquet file",
    "excel": "is a spreadsheet: save the sheet as CSV, and give that file",
    "archive": "is a ZIP archive: unpack it, and give the table inside",
    "binary": "is neither text nor Parquet: save the table as CSV or Parquet",
}


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
        return f"{self.files[k]}, row {row - int(ends[k]) + self.counts[k] + 1:,}"

    def site_of_row(self) -> NDArray[Any]:
        """The name of each row's file, without its suffixes: the site of tables without one."""
        stems = [_stem(path) for path in self.files]
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

    Parameters
    ----------
    path : the file; text may be compressed (gzip, bz2, xz)
    reading : what the content does not tell, or tells wrongly
    columns : the columns wanted, where the file has them; all by default
    text : columns to be read as text even where they look like numbers: `007` stays `007`
    """
    path = Path(path)
    if _is_parquet(path):
        frame = _read_parquet(path, columns)
    else:
        frame = _read_text(path, reading or Reading(), columns, text)
    if frame.empty:
        raise ValueError(f"{path} has column names and no rows below them")
    return frame


def column_names(path: str | Path, reading: Reading | None = None) -> list[str]:
    """The columns of a table, without its rows."""
    path, given = Path(path), reading or Reading()
    if _is_parquet(path):
        import pyarrow.parquet as pq

        return [str(name) for name in pq.read_schema(path).names]
    return _names(sniff(path, given.encoding, given.separator, given.decimal))


def read_tables(
    paths: Iterable[str | Path],
    reading: Reading | None = None,
    *,
    columns: Collection[str] | None = None,
    text: Collection[str] = (),
) -> Rows:
    """The tables of several files, or of all files in a folder, one below the other.

    A column that some of the files lack is missing in their rows, and a warning says so.
    """
    files = [file for path in paths for file in table_files(Path(path))]
    frames = [read_table(file, reading, columns=columns, text=text) for file in files]
    _tell_differences(files, frames)
    counts = tuple(len(frame) for frame in frames)
    whole = frames[0] if len(frames) == 1 else _below_each_other(frames)
    return Rows(whole, tuple(files), counts)


def table_files(path: Path) -> list[Path]:
    """The file itself, or the tables in a folder by name."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.is_file() and _is_table(file))
    if not found:
        raise ValueError(f"the folder {path} holds no table (*.csv, *.tsv, *.parquet)")
    return found


def _is_parquet(path: Path) -> bool:
    """Whether it is Parquet or else text; anything but a table is refused."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}{_neighbour(path)}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and one table is expected here")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: it needs a line of column names, and rows below it")
    kind = kind_of(path)
    if kind in _NOT_TABLES:
        raise ValueError(f"{path} {_NOT_TABLES[kind]}")
    return kind == "parquet"


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(TABLE_SUFFIXES) and not name.startswith(".")


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (*_COMPRESSED, *TABLE_SUFFIXES):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name or path.name


def _neighbour(path: Path) -> str:
    """The file beside it that was probably meant."""
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    meant = nearest(path.name, [file.name for file in path.parent.iterdir()])
    return f": did you mean {path.with_name(meant)}?" if meant else ""


def _read_parquet(path: Path, columns: Collection[str] | None) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(
                    f"{path} has several columns named {repeated[0]!r}: give every column a name "
                    "of its own"
                )
            wanted = None if columns is None else [name for name in names if name in columns]
            frame = file.read(wanted).to_pandas()
    except pa.ArrowException as error:
        raise ValueError(f"{path} is a Parquet file that cannot be read ({error})") from error
    # An index that pandas wrote is a column, or the bare numbers of the rows.
    named = [name for name in frame.index.names if name is not None and name in names]
    frame = frame.reset_index(level=named) if named else frame
    return frame.reset_index(drop=True).rename(columns=str)


def _read_text(
    path: Path, reading: Reading, columns: Collection[str] | None, text: Collection[str]
) -> pd.DataFrame:
    found = sniff(path, reading.encoding, reading.separator, reading.decimal)
    names = _names(found)
    wanted = None if columns is None else [name for name in names if name in columns]
    if wanted == []:
        wanted = names
    try:
        frame = pd.read_csv(
            path,
            sep=r"\s+" if found.separator == " " else found.separator,
            decimal=found.decimal,
            encoding=found.encoding,
            compression=found.compression,  # type: ignore[arg-type]
            header=0,
            names=names,
            usecols=wanted,
            dtype={name: str for name in text if name in names},
            na_values=list(reading.missing) or None,
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except UnicodeDecodeError:
        raise undecodable(path, found.compression, found.encoding) from None
    except pd.errors.ParserError as error:
        raise ValueError(f"{path}: {_unparsed(str(error), found)}") from error
    return _without_nameless(path, frame, found)


def _names(found: Text) -> list[str]:
    """The header, with names for columns that have none."""
    return [name or f"Unnamed: {k}" for k, name in enumerate(found.names)]


def _without_nameless(path: Path, frame: pd.DataFrame, found: Text) -> pd.DataFrame:
    """Without columns that have neither name nor value: a separator at line ends makes them."""
    nameless = [f"Unnamed: {k}" for k, name in enumerate(found.names) if not name]
    void = [name for name in nameless if name in frame and frame[name].isna().all()]
    if void:
        warnings.warn(
            f"{path}: {counted(len(void), 'column')} without a name and without values left out",
            stacklevel=4,
        )
    return frame.drop(columns=void)


def _unparsed(error: str, found: Text) -> str:
    fields = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", error)
    if fields:
        expected, line, seen = fields.groups()
        return (
            f"line {int(line):,} has {seen} cells, and the header has {expected}: put quotes "
            f"around cells that hold the separator {found.separator!r}, or give --separator"
        )
    unclosed = re.search(r"EOF inside string starting at row (\d+)", error)
    if unclosed:
        return f"the quote that opens in row {int(unclosed[1]):,} is never closed"
    return " ".join(error.split())


def _tell_differences(files: Sequence[Path], frames: Sequence[pd.DataFrame]) -> None:
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
