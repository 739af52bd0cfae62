"""The question and the data, in numbers."""

from collections.abc import Sequence

import numpy as np

from ..._runtime.text import level, listing, number, percent, plural
from ...data.schema import Column
from ...record import Source
from ..facts import KINDS, Facts
from ..markup import Markup, details, markup, paragraph, table, tag
from ..strips import bar

FEW_SITES, MAX_SITES, MAX_COLUMNS, MAX_CLASSES = 15, 100, 300, 6


def data(facts: Facts) -> Markup:
    return markup([_question(facts), _sites(facts), _columns(facts)])


def _question(facts: Facts) -> Markup:
    label, n = str(facts.label.name), len(facts.columns)
    if facts.classes is None:
        what = ["the number ", tag("strong", label)]
    elif facts.is_binary:
        what = ["how probable ", tag("strong", facts.event), " is"]
    else:
        classes = listing(map(level, facts.classes), MAX_CLASSES)
        what = ["which class of ", tag("strong", label), f" a row has ({classes})"]
    return paragraph(
        "The model answers, for one row of a table: ",
        what,
        f", given {plural(n, 'column')}, at a site whose outcomes nobody has seen. It learned from "
        "sites where the outcome is known and kept them apart; what makes a site different from "
        "the others is summed up in a few numbers, its environment E, read off its own table.",
    )


def _sites(facts: Facts) -> Markup:
    record = facts.record
    shown = record.sources[:MAX_SITES]
    outcome = _outcome_headings(facts)
    rows = [
        [
            source.name,
            f"{source.rows:,}".replace(",", "\u202f"),
            *_outcome(facts, source),
            percent(float(np.mean(source.missing)) if source.missing else 0.0),
        ]
        for source in shown
    ]
    more = len(record.sources) - len(shown)
    sites = table(
        ["Site", "Rows", *outcome, "Missing cells"],
        rows,
        "Sites the model learned from" + (f", the first {len(shown)}" if more else ""),
        numeric=range(1, 3 + len(outcome)),
    )
    return markup(
        [
            paragraph(
                tag(
                    "strong",
                    plural(record.rows, "row"),
                    " from ",
                    plural(len(record.sources), "site"),
                ),
                f", all with their outcome{_unlabelled(record.sources)}.",
                f" {plural(record.unlabelled_rows, 'row')} of sites without outcomes helped to "
                "learn how the columns hang together."
                if record.unlabelled_rows
                else None,
            ),
            _spread(facts, record.sources) if facts.is_binary else None,
            sites
            if len(shown) <= FEW_SITES
            else details(f"The {len(record.sources)} sites", sites),
        ]
    )


def _unlabelled(sources: Sequence[Source]) -> str:
    unknown = sum(source.rows - source.labelled for source in sources)
    return f" but for {plural(unknown, 'row')}" if unknown else ""


def _outcome_headings(facts: Facts) -> list[str]:
    if facts.classes is None:
        return [f"Mean {facts.label.name}", "Standard deviation"]
    if facts.is_binary:
        return [f"Share with {facts.event}"]
    return [level(c) for c in facts.classes[:MAX_CLASSES]]


def _outcome(facts: Facts, source: Source) -> list[str]:
    if not source.label:
        return ["too few"] * len(_outcome_headings(facts))
    if facts.classes is None:
        return [number(value) for value in source.label]
    shares = source.label[1:] if facts.is_binary else source.label[:MAX_CLASSES]
    return [percent(share) for share in shares]


def _spread(facts: Facts, sources: Sequence[Source]) -> Markup | None:
    shares = {source.name: source.label[1] for source in sources if source.label}
    if len(shares) < 2:
        return None
    low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    return paragraph(
        f"The share with {facts.event} runs from {percent(shares[low])} ({low}) to "
        f"{percent(shares[high])} ({high}).",
    )


def _columns(facts: Facts) -> Markup:
    shown = facts.columns[:MAX_COLUMNS]
    missing = facts.record.missing_overall()
    rows = []
    for k, column in enumerate(shown):
        share = float(missing.iloc[k])
        gap = tag("span", percent(share), bar(share, "muted"), class_="with-bar")
        rows.append([column.name, KINDS[column.kind], _values(column), gap])
    more = len(facts.columns) - len(shown)
    return details(
        f"The {plural(len(facts.columns), 'column')}",
        paragraph(f"The first {len(shown)} are shown.") if more else None,
        table(
            ["Column", "Type", "Values", "Missing"],
            rows,
            "Columns the model reads, as they were in its sources",
        ),
    )


def _values(column: Column) -> str:
    if column.range is not None:
        return f"{number(column.range[0])} to {number(column.range[1])}"
    return listing(map(level, column.levels))
