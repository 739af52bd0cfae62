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
    keep = [k for k, name in enumerate(names) if name in wanted]
    pieces: list[list[pa.Array]] = [[] for _ in keep]
    rows: list[list[str]] = []

    def store() -> None:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        for piece, k in zip(pieces, keep, strict=True):
            piece.append(pa.array(columns[k], type=pa.string()))
        rows.clear()

    try:
        with (
            open_text(local(path), found.compression) as file,
            io.TextIOWrapper(file, encoding=found.encoding, newline="") as text,
        ):
            for record in _rows(path, text, found, len(names)):
                rows.append(record)
                if len(rows) == ROWS_AT_ONCE:
                    store()
    except UnicodeDecodeError:
        raise undecodable(path, found.compression, found.encoding) from None
    store()
    return {
        names[k]: pa.chunked_array(piece, type=pa.string())
        for k, piece in zip(keep, pieces, strict=True)
    }


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
