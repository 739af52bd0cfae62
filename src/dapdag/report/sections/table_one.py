"""Characteristics of the rows by site, the new site first, with standardised differences."""

from typing import NamedTuple

import numpy as np

from ..._runtime.text import level, number, percent, signed
from ...data.schema import Column
from ...data.summaries import pooled, standardised_difference
from ..facts import UNNAMED, Facts
from ..markup import Markup, details, markup, paragraph, table, tag

# So many sites fit on paper beside the new one and all sources together.
MAX_NEW, MAX_SOURCES, FIRST_COLUMNS, MAX_LEVELS = 2, 4, 20, 4
# A difference from here on is named; 0.1 is the usual mark for balance, 0.25 for trouble.
LARGE = 0.25

Summary = tuple[float, ...]


class Row(NamedTuple):
    """One column at the new sites, in all sources together, and at each source."""

    column: Column
    new: list[Summary]
    all: Summary
    sources: list[Summary]
    difference: float  # of the first new site from all sources


def table_one(facts: Facts) -> Markup:
    if not facts.record.sources or not facts.record.sources[0].cells:
        return paragraph("The model file holds no summaries of its columns.", class_="note")
    rows = _rows(facts)
    if facts.new is not None:
        size = {row.column.name: abs(np.nan_to_num(row.difference, posinf=1e9)) for row in rows}
        order = sorted(rows, key=lambda row: -size[row.column.name])
    else:
        order = rows
    first, rest = order[:FIRST_COLUMNS], order[FIRST_COLUMNS:]
    return markup(
        [
            _lead(facts, rows),
            _table(facts, first, "Characteristics by site: mean (standard deviation), or share"),
            details(f"{len(rest)} more columns", _table(facts, rest, "Characteristics, continued"))
            if rest
            else None,
        ]
    )


def largest_differences(facts: Facts, most: int = 3) -> list[str]:
    """Columns in which the first new site differs most from all sources, with the difference."""
    rows = [row for row in _rows(facts) if abs(row.difference) >= LARGE]
    rows.sort(key=lambda row: -abs(row.difference))
    return [f"{row.column.name} ({_difference(row)})" for row in rows[:most]]


def _rows(facts: Facts) -> list[Row]:
    sources, found = facts.record.sources, []
    for j, column in enumerate(facts.columns):
        discrete = bool(column.levels)
        parts = [source.cells[j] if source.cells else () for source in sources]
        values = [source.rows * (1 - source.missing[j]) for source in sources]
        together = pooled(parts, values, discrete)
        new = [] if facts.new is None else [cells[j] for cells in facts.new.cells[:MAX_NEW]]
        gap = standardised_difference(new[0], together, discrete) if new else float("nan")
        found.append(Row(column, new, together, parts, gap))
    return found


def _lead(facts: Facts, rows: list[Row]) -> Markup:
    if facts.new is None:
        return paragraph("Who the model learned from.")
    large = sum(abs(row.difference) >= LARGE for row in rows)
    which = "" if len(facts.new.domains) == 1 else f" of {facts.new.domains[0]}"
    return paragraph(
        f"Who the new rows{which} are, beside those that the model learned from. ",
        tag("strong", f"{large} of {len(rows)} columns differ by {LARGE} standard deviations")
        if large
        else tag("strong", f"No column differs by {LARGE} standard deviations"),
        " or more from all known sites together.",
    )


def _table(facts: Facts, rows: list[Row], caption: str) -> Markup:
    new = [] if facts.new is None else facts.new.domains[:MAX_NEW]
    sources = facts.record.sources[:MAX_SOURCES]
    counts = [] if facts.new is None else facts.new.sizes()[:MAX_NEW].tolist()
    heads = [
        *(_head("New site" if d == UNNAMED else d, n) for d, n in zip(new, counts, strict=True)),
        _head("All known sites", facts.record.rows),
        *(["Difference (sd)"] if new else []),
        *(_head(source.name, source.rows) for source in sources),
    ]
    body = [
        [
            _name(row.column),
            *(_cell(row.column, cells) for cells in row.new),
            _cell(row.column, row.all),
            *([_difference(row)] if new else []),
            *(_cell(row.column, cells) for cells in row.sources[:MAX_SOURCES]),
        ]
        for row in rows
    ]
    more = len(facts.record.sources) - len(sources)
    if more:
        caption += f"; {more} more known sites are in “all”"
    return table(["Column", *heads], body, caption, numeric=range(1, 1 + len(heads)), class_="one")


def _head(name: object, rows: int) -> Markup:
    size = f"{rows:,}".replace(",", "\u202f")
    return markup([str(name), tag("br"), tag("span", f"n = {size}", class_="small")])


def _name(column: Column) -> str:
    """The column, and of two levels the one whose share is shown."""
    two = 1 <= len(column.levels) <= 2
    return f"{column.name} = {level(column.levels[-1])}" if two else str(column.name)


def _cell(column: Column, cells: Summary) -> Markup | str:
    if not cells:
        return "–"
    if not column.levels:
        return f"{number(cells[0])} ({number(cells[1], 2)})"
    if len(column.levels) <= 2:
        return percent(cells[-1])
    shown = sorted(range(len(cells)), key=lambda k: -cells[k])[:MAX_LEVELS]
    lines = [f"{percent(cells[k])} {level(column.levels[k])}" for k in sorted(shown)]
    return markup([[line, tag("br")] for line in lines[:-1]] + [lines[-1]])


def _difference(row: Row) -> str:
    gap = row.difference
    if np.isnan(gap):
        return "–"
    if np.isinf(gap):
        return "other values"
    return number(gap, 2) if len(row.column.levels) > 2 else signed(round(gap, 2), 2)
