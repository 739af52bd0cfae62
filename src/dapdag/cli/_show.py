"""How results look on a terminal: plain tables and short lines, at most 80 columns wide."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
NARROWEST = 12
MOST_ROWS = 40
GAP = "   "


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    numbers: Sequence[int] = (),
    most: int = MOST_ROWS,
) -> None:
    """A table with a line below its headers; `numbers` are columns set to the right.

    What is too wide ends in an ellipsis, columns that do not fit go below the others, and beyond
    `most` rows it says how many more there are.
    """
    every = [list(row) for row in rows]
    shown = every[:most]
    widths = _widths([list(headers), *shown], numbers)
    out = _console()
    for columns in _blocks(widths):
        if title:
            out.print(title, style="bold")
        out.print(_line(headers, columns, widths, numbers), style="bold")
        out.print(
            "─" * (sum(widths[k] for k in columns) + len(GAP) * (len(columns) - 1)), style="dim"
        )
        for row in shown:
            out.print(_line(row, columns, widths, numbers))
        if len(every) > most:
            out.print(f"… and {len(every) - most:,} more", style="dim")
        out.print()


def print_lines(*lines: str) -> None:
    """Lines of text; on a terminal wrapped between words, for programs left whole."""
    out = _console()
    for line in lines:
        out.print(line, soft_wrap=not out.is_terminal)


def _console() -> Console:
    from rich.console import Console

    return Console(
        highlight=False, markup=False, emoji=False, width=_terminal_width(), soft_wrap=False
    )


def _terminal_width() -> int:
    return max(40, min(WIDTH, shutil.get_terminal_size().columns))


def _widths(cells: list[list[str]], numbers: Sequence[int]) -> list[int]:
    """Widths of the columns, the widest of text narrowed until all fit or none can be narrowed."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    text = [k for k in range(len(widths)) if k not in numbers]
    while sum(widths) + len(GAP) * (len(widths) - 1) > _terminal_width():
        widest = max(text, key=lambda k: widths[k])
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _blocks(widths: list[int]) -> list[list[int]]:
    """Columns that fit side by side; every block begins with the first column."""
    blocks, room = [[0]], _terminal_width() - widths[0]
    for k in range(1, len(widths)):
        needed = len(GAP) + widths[k]
        if needed > room and len(blocks[-1]) > 1:
            blocks.append([0])
            room = _terminal_width() - widths[0]
        blocks[-1].append(k)
        room -= needed
    return blocks


def _line(
    row: Sequence[str], columns: Sequence[int], widths: Sequence[int], numbers: Sequence[int]
) -> str:
    from rich.cells import cell_len, set_cell_size

    cells = []
    for k in columns:
        text, width = " ".join(row[k].split()), widths[k]
        if cell_len(text) > width:
            text = set_cell_size(text, width - 1).rstrip() + "…"
        room = " " * (width - cell_len(text))
        cells.append(room + text if k in numbers else text + room)
    return GAP.join(cells).rstrip()
