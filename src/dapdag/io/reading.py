"""Tables from files: CSV and its relatives, Parquet; one file, several, or a folder of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dapdag._runtime.text import counted, nearest, quoted
from dapdag._runtime.warning import ReadingWarning
from dapdag.io.cells import read_cells
from dapdag.io.names import is_table_name
from dapdag.io.rows import Reading, Rows
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
    path : path-like
        The file, or `-` for standard input; text may be compressed (gzip, bz2, xz).
    reading : Reading, optional
        What the content does not tell, or tells wrongly.
    columns : collection of str, optional
        Columns wanted, where the file has them. By default all.
    text : collection of str, default=()
        Columns to be read as text even where they look like numbers: `007` stays `007`.

    Returns
    -------
    DataFrame
        The table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dapdag.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "north.csv"
    ...     _ = path.write_text("age; dose\\n61; 1,5\\n70; \\n")
    ...     table = read_table(path)
    >>> table["dose"].tolist()
    [1.5, nan]
    """
    return read_tables([path], reading, columns=columns, text=text).frame


def column_names(path: str | Path, reading: Reading | None = None) -> list[str]:
    """The columns of a table, without its rows.

    Parameters
    ----------
    path : path-like
        A table.
    reading : Reading, optional
        What the content does not tell, or tells wrongly.

    Returns
    -------
    list of str
        Names.
    """
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

    A column that some of the files lack is missing in their rows, and a warning says so.

    Parameters
    ----------
    paths : iterable of path-like
        Files and folders.
    reading : Reading, optional
        What the content does not tell, or tells wrongly.
    columns : collection of str, optional
        Columns wanted, where the files have them. By default all.
    text : collection of str, default=()
        Columns to be read as text even where they look like numbers.
    levels : mapping from str to collection of str, optional
        Levels of a fitted model, by column.
    keep_raw : bool, default=False
        Also keep every cell as it stood in its file.

    Returns
    -------
    Rows
        The rows, which know where they came from.
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
