"""What was missing or out of range, in the sources and in the new table."""

import numpy as np
import pandas as pd

from ..._runtime.text import listing, percent
from ..facts import UNNAMED, Facts
from ..markup import Markup, markup, paragraph, table, tag

MAX_COLUMNS, MAX_SITES = 100, 8


def cells(facts: Facts) -> Markup:
    missing, strange = _both(facts)
    return markup(
        [
            _warnings(facts),
            _missing(missing),
            _strange(facts, strange),
        ]
    )


def _both(facts: Facts) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Missing and strange cells of the new sites, named so, and of the sources beside them."""
    missing, strange = [facts.record.missing()], [facts.record.clipped()]
    if facts.new is not None:
        names = [_new_name(domain) for domain in facts.new.domains]
        missing.insert(0, facts.new.missing.set_axis(names, axis=1))
        strange.insert(0, facts.new.strange.set_axis(names, axis=1))
    return pd.concat(missing, axis=1), pd.concat(strange, axis=1)


def _new_name(name: object) -> str:
    return "new table" if name == UNNAMED else f"{name} (new)"


def _warnings(facts: Facts) -> Markup | None:
    if facts.new is None or not facts.new.warnings:
        return None
    items = [tag("li", text) for text in facts.new.warnings]
    return tag(
        "div", tag("p", "While predicting, the model warned:"), tag("ul", items), class_="warning"
    )


def _missing(missing: pd.DataFrame) -> Markup:
    values = missing.to_numpy(dtype=float)
    worst = values.max(axis=1)
    if not worst.any():
        return paragraph("No cell was missing.")
    absent = missing.index[(values == 1).any(axis=1)]
    text = "The model takes missing cells as they are: nothing was filled in."
    if len(absent):
        verb = "is" if len(absent) == 1 else "are"
        text += f" {listing(absent)} {verb} missing throughout some site."
    return markup([paragraph(text), _share_table(missing, worst)])


def _share_table(missing: pd.DataFrame, worst: np.ndarray) -> Markup:
    order = [k for k in np.argsort(-worst, kind="stable") if worst[k] > 0][:MAX_COLUMNS]
    sites = _some_sites(missing)
    rows = [[missing.index[k], *(_shade(float(missing.iloc[k, j])) for j in sites)] for k in order]
    left = len(missing.columns) - len(sites)
    caption = "Share of missing cells, columns with the most first" + (
        f"; {left} sites not shown" if left else ""
    )
    headings = ["Column", *(missing.columns[j] for j in sites)]
    return table(headings, rows, caption, numeric=range(1, len(headings)), class_="heat")


def _some_sites(frame: pd.DataFrame) -> list[int]:
    """Positions of the first sites: the new ones, and sources beside them."""
    return list(range(min(frame.shape[1], MAX_SITES)))


def _shade(share: float) -> Markup:
    return tag("span", percent(share), class_="shade", style=f"--share:{share:.3f}")


def _strange(facts: Facts, strange: pd.DataFrame) -> Markup:
    counts = strange.to_numpy(dtype=int)
    kinds = {column.name: column.kind for column in facts.columns}
    rows = []
    sites = _some_sites(strange)
    for k in np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_COLUMNS]:
        if counts[k].sum():
            name = strange.index[k]
            what = "beyond the limits" if kinds[name] == "continuous" else "value no source has"
            rows.append([name, what, *(int(counts[k, j]) or "0" for j in sites)])
    if not rows:
        return paragraph("No cell lay beyond what the sources have.")
    return markup(
        [
            paragraph(
                "Numbers beyond the limits of a column (roughly the 1st to 99th percentile of the "
                "sources and a margin) count as the limit; values that no source has count as "
                "missing."
            ),
            table(
                ["Column", "What", *(strange.columns[j] for j in sites)],
                rows,
                "Cells beyond what the sources have",
                numeric=range(2, 2 + len(sites)),
            ),
        ]
    )
