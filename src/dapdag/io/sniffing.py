"""What a file is, judged by its content: kind, compression, encoding, separator, decimal mark."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dapdag.io.streams import local

HEAD_BYTES = 1 << 18
SAMPLE_RECORDS = 200
SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}

_COMPRESSIONS: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bz2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_COMMA_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_POINT_DECIMAL = re.compile(r"[+-]?\d*\.\d+")
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Text:
    """How a text table is to be read, and its header."""

    compression: str | None
    encoding: str
    separator: str
    decimal: str
    names: tuple[str, ...]
    skips_blanks: bool = True  # before a cell, as in `a, "b"`


def clean(text: str) -> str:
    """A name or a value without blanks around it, letters and their accents composed."""
    return unicodedata.normalize("NFC", text.strip())


def kind_of(path: Path) -> str:
    """`parquet`, `model`, `excel`, `archive`, `json`, `binary` or `text`."""
    with local(path).open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[8:9] == b"{" and b"dapdag-model" in head:
        return "model"
    if head.startswith(b"\xd0\xcf\x11\xe0") or path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        return "excel"
    if head.startswith(b"PK\x03\x04"):
        return "archive"
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return "json"
    compressed = any(head.startswith(magic) for magic in _COMPRESSIONS)
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "binary" if b"\0" in head and not compressed and not wide else "text"


def sniff(
    path: Path,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> Text:
    """How to read a text table; what the caller knows is not guessed."""
    compression, head, complete = _head(path)
    if encoding is None:
        encoding = next((e for bom, e in _BOMS.items() if head.startswith(bom)), "utf-8")
    text = _decoded(path, head, encoding, complete)
    if not text.strip():
        raise ValueError(f"{path} is empty: it needs a line of column names, and rows below it")
    separator = _separator(path, text) if separator is None else separator_of(separator)
    records = _records(text, separator)
    decimal = _decimal(records) if decimal is None else decimal
    if len(decimal) != 1:
        raise ValueError(f"--decimal {decimal!r}: the decimal mark is one character, '.' or ','")
    names = tuple(clean(name) for name in records[0])
    _check_header(path, names, records, separator)
    # Blanks before a cell stay, unless a quote follows them: it would not be seen as one.
    skips = separator == " " or re.search(re.escape(separator) + ' +"', text) is not None
    return Text(compression, encoding, separator, decimal, names, skips)


def separator_of(given: str) -> str:
    """A separator as the user writes it: a character, or `tab`, `comma`, `semicolon`, `pipe`."""
    separator = SEPARATOR_NAMES.get(given.lower(), given)
    if len(separator) != 1:
        names = ", ".join(name for name in SEPARATOR_NAMES if name.isalpha())
        raise ValueError(f"--separator {given!r}: give one character, or one of {names}")
    return separator


def open_text(path: Path, compression: str | None) -> IO[bytes]:
    """The bytes of a file that may be compressed."""
    openers = dict(_COMPRESSIONS.values())
    return openers[compression](path, "rb") if compression else path.open("rb")


def undecodable(path: Path, compression: str | None, encoding: str) -> ValueError:
    """The complaint about a file that is not in the given encoding."""
    place = ""
    with open_text(local(path), compression) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                place = f" (byte 0x{line[error.start]:02x} in line {number:,})"
                break
    other = "latin-1" if encoding.startswith("utf-8") else "utf-8"
    return ValueError(
        f"{path} is not {encoding.upper()} text{place}: give its --encoding, for example "
        f"{other}, or save it as UTF-8"
    )


def looks_like_data(names: tuple[str, ...]) -> bool:
    """Whether a header is more likely a row: numbers, of which some are fractions or repeated."""
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    odd = len(set(numbers)) < len(numbers) or not all(name.isdecimal() for name in numbers)
    return len(numbers) > len(names) / 2 and odd


def _head(path: Path) -> tuple[str | None, bytes, bool]:
    """Compression, the first bytes, and whether these are all."""
    with local(path).open("rb") as file:
        magic = file.read(8)
    compression = next((n for m, (n, _) in _COMPRESSIONS.items() if magic.startswith(m)), None)
    try:
        with open_text(local(path), compression) as file:
            head = file.read(HEAD_BYTES)
            return compression, head, not file.read(1)
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a damaged {compression} file ({error})") from error


def _decoded(path: Path, head: bytes, encoding: str, complete: bool) -> str:
    """The head as text, up to its last whole line."""
    if not complete:
        end = head.rfind(b"\n")
        head = head[: end + 1] if end > 0 else head
    try:
        return head.decode(encoding, errors="strict" if complete else "ignore")
    except UnicodeDecodeError:
        raise undecodable(path, _head(path)[0], encoding) from None
    except LookupError:
        raise ValueError(f"--encoding {encoding}: there is no such encoding") from None


def _records(text: str, separator: str) -> list[list[str]]:
    """The first records that are not blank lines."""
    records = []
    try:
        for record in csv.reader(
            io.StringIO(text, newline=None), delimiter=separator, skipinitialspace=separator != " "
        ):
            if separator == " ":
                record = [cell for cell in record if cell]
            if any(cell.strip() for cell in record):
                records.append(record)
            if len(records) > SAMPLE_RECORDS:
                break
    except csv.Error:
        return records or [[text.partition("\n")[0]]]
    return records


def _separator(path: Path, text: str) -> str:
    """The one that cuts the header into most fields and all lines alike."""
    widths = {s: [len(record) for record in _records(text, s)] for s in (*SEPARATORS, " ")}
    alike = [s for s in SEPARATORS if widths[s][0] > 1 and len(set(widths[s])) == 1]
    if alike:
        return max(alike, key=lambda s: widths[s][0])
    best = max(SEPARATORS, key=lambda s: widths[s][0])
    if widths[best][0] > 1:
        return best
    if widths[" "][0] > 1 and len(set(widths[" "])) == 1:
        return " "
    lines = [line for line in text.splitlines()[:SAMPLE_RECORDS] if line.strip()]
    for mark in ":^~":
        if len({line.count(mark) for line in lines}) == 1 and mark in lines[0]:
            raise ValueError(
                f"{path} has one column, {lines[0][:60]!r}: if {mark!r} separates its columns, "
                f"give --separator {mark!r}"
            )
    return ","


def _decimal(records: list[list[str]]) -> str:
    cells = [cell.strip() for record in records[1:] for cell in record]
    commas = any(_COMMA_DECIMAL.fullmatch(cell) for cell in cells)
    points = any(_POINT_DECIMAL.fullmatch(cell) for cell in cells)
    return "," if commas and not points else "."


def _check_header(
    path: Path, names: tuple[str, ...], records: list[list[str]], separator: str
) -> None:
    repeated = next((n for n, times in Counter(names).items() if n and times > 1), None)
    if looks_like_data(names):
        raise ValueError(
            f"{path} starts with {', '.join(names[:4])}{', …' if len(names) > 4 else ''}, which "
            "looks like a row: put a line of column names above it"
        )
    if repeated is not None:
        places = [str(k) for k, name in enumerate(names, start=1) if name == repeated]
        raise ValueError(
            f"{path} has {len(places)} columns named {repeated!r} (columns {', '.join(places)}): "
            "give every column a name of its own"
        )
    longer = [len(record) for record in records[1:] if len(record) > len(names)]
    if longer and len(longer) == len(records) - 1 and len(set(longer)) == 1:
        raise ValueError(
            f"{path}: its rows have {longer[0]} cells, its header has {len(names)}: give every "
            f"column a name (the separator seems to be {separator!r})"
        )
