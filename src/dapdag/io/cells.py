"""The cells of a text table as they stand there; every row has as many as the header."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from dapdag.io.sniffing import Text, open_text, undecodable
from dapdag.io.streams import local

ROWS_AT_ONCE = 50_000


def read_cells(
    path: Path, found: Text, names: Sequence[str], wanted: Collection[str]
) -> dict[str, pa.ChunkedArray]:
    """The text of every cell, blanks included, of the wanted columns.

    Raises
    ------
    ValueError
        For a row with more or fewer cells than `names`, with its line.
    """
    pieces = [piece for piece, _ in cell_batches(path, found, names, wanted, ROWS_AT_ONCE)]
    return {
        name: pa.chunked_array([piece[name] for piece in pieces], type=pa.string())
        for name in names
        if name in wanted
    }


def cell_batches(
    path: Path, found: Text, names: Sequence[str], wanted: Collection[str], rows_at_once: int
) -> Iterator[tuple[dict[str, pa.Array], int]]:
    """The same in batches of rows, each with the position in the file that was read up to.

    The last one may be shorter, or empty where the file has no rows.
    """
    keep = [k for k, name in enumerate(names) if name in wanted]
    rows: list[list[str]] = []

    def batch() -> dict[str, pa.Array]:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        rows.clear()
        return {names[k]: pa.array(columns[k], type=pa.string()) for k in keep}

    any_yet = False
    try:
        with (
            open_text(local(path), found.compression) as file,
            io.TextIOWrapper(file, encoding=found.encoding, newline="") as text,
        ):
            for record in _rows(path, text, found, len(names)):
                rows.append(record)
                if len(rows) == rows_at_once:
                    any_yet = True
                    yield batch(), 0 if found.compression else file.tell()
    except UnicodeDecodeError:
        raise undecodable(path, found.compression, found.encoding) from None
    if rows or not any_yet:
        yield batch(), local(path).stat().st_size


def _rows(path: Path, text: io.TextIOWrapper, found: Text, width: int) -> Iterator[list[str]]:
    """The records below the header; blank lines are none."""
    spaces = found.separator == " "
    latest = ""

    def lines() -> Iterator[str]:
        nonlocal latest
        for line in text:
            latest = line
            yield line.replace("\t", " ") if spaces else line

    reader = csv.reader(lines(), delimiter=found.separator, skipinitialspace=found.skips_blanks)
    header, before = True, 0
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"{path}: line {before + 1:,} cannot be read ({error}): is a quote that opens "
                "there never closed?"
            ) from None
        if record is None:
            return
        first, before = before + 1, reader.line_num
        if spaces:
            record = [cell for cell in record if cell]
        if not record or (len(record) == 1 and not record[0].strip()):
            continue
        if header:
            header = False
            continue
        if len(record) != width:
            raise ValueError(f"{path}: {_ragged(first, before, record, width, found.separator)}")
        # A quote that is open at the end of the file takes the last line end into its cell.
        if before > first and record[-1].endswith(("\n", "\r")) and latest.strip()[-1:] != '"':
            raise ValueError(f"{path}: the quote that opens in line {first:,} is never closed")
        yield record


def _ragged(first: int, last: int, record: list[str], width: int, separator: str) -> str:
    cells = f"{len(record)} cell{'' if len(record) == 1 else 's'}"
    where = f"line {first:,} has {cells}, and the header has {width}"
    if last > first:
        return f"{where}: it goes on to line {last:,}; is a quote that opens there never closed?"
    if len(record) > width:
        return (
            f"{where}: put quotes around cells that hold the separator {separator!r}, or give "
            "--separator"
        )
    return f"{where}: leave the cells of missing values empty between separators {separator!r}"
