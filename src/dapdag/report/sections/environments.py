"""Where the sites lie, and whether the new ones lie within what was seen."""

from typing import Any

import numpy as np
import pandas as pd

from ..._runtime.text import listing, number, plural
from ...plotting import environment_distances
from ...plotting.style import Z95
from ..charts import plane
from ..facts import Facts
from ..markup import Markup, details, figure, markup, paragraph, table, tag
from ..strips import interval, scale
from ..svg import padded, ticks

MAX_ROWS = 120


def environments(facts: Facts) -> Markup:
    if not facts.uses_environment:
        return paragraph(
            "The model learned from a single site, so there is nothing from which it could have "
            "learned how sites differ: it treats a new site as if it were that one.",
            class_="warning",
        )
    together, is_source = _together(facts)
    several = "E2_mean" in together
    return markup(
        [
            paragraph(
                "Each site is a point on the map of environments: sites that lie close together "
                "have tables that behave alike. The position is estimated from the table alone, "
                "without outcomes. Its numbers have no unit and no meaning of their own, only "
                "the distances between sites do."
            ),
            paragraph(
                tag("strong", "E has no share in this model's predictions"),
                ": it describes how sites differ, and the predictions would be the same without "
                "it.",
                class_="note",
            )
            if not facts.prediction["adapts"]
            else None,
            verdict(facts),
            _map(together, is_source) if several else _rows(together, is_source),
            details("Every dimension as a table", _rows(together, is_source)) if several else None,
            _distances(facts),
        ]
    )


def verdict(facts: Facts) -> Markup:
    """Do the new sites lie within what was seen?"""
    if facts.new is None:
        return paragraph(
            "No new table was given. With one, its sites appear on this map: ",
            tag("code", "dapdag report MODEL NEW.csv -o report.html"),
            class_="note",
        )
    outside = facts.new.environments["outside"].astype(bool)
    beyond, within = outside.index[outside], outside.index[~outside]
    parts = []
    if len(beyond):
        parts.append(
            paragraph(
                tag("strong", f"{listing(beyond)} {_lie(beyond)} outside the sites"),
                " the model learned from. Its predictions there are extrapolations: the stated "
                "uncertainty is likely to be too small. Check them against some known outcomes "
                "before anyone relies on them.",
                _novel_features(facts),
                class_="warning",
            )
        )
    if len(within):
        parts.append(
            paragraph(
                tag("strong", f"{listing(within)} {_lie(within)} within the range"),
                " of the sites the model learned from. That makes its predictions there "
                "interpolations between known sites; it does not prove them right.",
                class_="good",
            )
        )
    return markup(parts)


def _novel_features(facts: Facts) -> str:
    """Which columns of a site are out of distribution, whatever its E."""
    assert facts.new is not None
    return "".join(
        f" {site} is unlike all of them in {listing(columns)}, wherever it lies on the map."
        for site, columns in facts.new.novel.items()
    )


def _lie(names: Any) -> str:
    return "lies" if len(names) == 1 else "lie"


def _together(facts: Facts) -> tuple[pd.DataFrame, np.ndarray]:
    tables = [facts.sources.assign(outside=False)]
    if facts.new is not None:
        tables.append(facts.new.environments)
    is_source = np.repeat([True, False], [len(facts.sources), sum(map(len, tables[1:]))])
    return pd.concat(tables), is_source


def _kinds(together: pd.DataFrame, is_source: np.ndarray) -> list[str]:
    return [
        "source" if source else ("outside" if out else "new")
        for source, out in zip(is_source, together["outside"].astype(bool), strict=True)
    ]


WORDS = {"source": "source", "new": "new, within", "outside": "new, outside"}


def _map(together: pd.DataFrame, is_source: np.ndarray) -> Markup:
    caption = (
        "Circles: sites the model learned from. Diamonds: new sites. Around each, the region that "
        "holds its position with 95\u202f% probability."
    )
    if "E3_mean" in together:
        caption += " The plane is the one in which the sources differ most."
    elif is_source.sum() > 1:
        caption += (
            " Dashed: the span of the sources, beyond which a site counts as outside (as does one "
            "whose features no E explains)."
        )
    return figure(plane(together, is_source), caption)


def _rows(together: pd.DataFrame, is_source: np.ndarray) -> Markup:
    """One dimension after the other, a row per site, sorted by the first."""
    kinds = np.array(_kinds(together, is_source))
    order = np.argsort(-together["E1_mean"].to_numpy(dtype=float), kind="stable")
    if len(order) > MAX_ROWS:
        new = [k for k in order if kinds[k] != "source"]
        step = -(-len(order) // MAX_ROWS)
        order = np.array([k for i, k in enumerate(order) if i % step == 0 or k in new])
    names = [str(c).removesuffix("_mean") for c in together if str(c).endswith("_mean")]
    parts = []
    for name in names[:4]:
        mean = together[f"{name}_mean"].to_numpy(dtype=float)
        half = Z95 * together[f"{name}_sd"].to_numpy(dtype=float)
        limits = padded(float((mean - half).min()), float((mean + half).max()), 0.04)
        span = (float(mean[is_source].min()), float(mean[is_source].max()))
        rows = [
            [
                tag("span", together.index[k], class_=f"site {kinds[k]}"),
                interval(mean[k], half[k], limits, span, kinds[k]),
                f"{number(mean[k], 2)} ± {number(half[k], 2)}",
                WORDS[kinds[k]],
            ]
            for k in order
        ]
        axis = scale(ticks(limits, 7), limits)
        caption = (
            f"Environment {name}: mean and 95\u202f% interval of each site; shaded: the span of "
            "the sources"
        )
        headings = ["Site", axis, f"{name} (95\u202f%)", "Kind"]
        parts.append(table(headings, rows, caption, numeric=[2], class_="map"))
    shown = "" if len(order) == len(together) else f" {len(order)} of {len(together)} sites."
    note = paragraph(f"Shown:{shown}", class_="small") if shown else None
    return markup([parts, note])


def _distances(facts: Facts) -> Markup | None:
    """Of each new site, the sources that are nearest to it."""
    if facts.new is None or len(facts.sources) < 2:
        return None
    distance = environment_distances(facts.sources, facts.new.environments)
    n = len(facts.sources)
    typical = np.median(distance.to_numpy()[:n, :n][np.triu_indices(n, 1)])
    rows = []
    for k, name in enumerate(facts.new.environments.index):
        to_sources = distance.to_numpy()[n + k, :n]
        order = np.argsort(to_sources)[:3]
        nearest = ", ".join(f"{facts.sources.index[j]} ({number(to_sources[j], 2)})" for j in order)
        rows.append([name, nearest])
    return details(
        f"The nearest {plural(min(3, n), 'source')} of each new site",
        paragraph(
            f"Distance between the estimated positions (Wasserstein). Between two sources it is "
            f"typically {number(float(typical), 2)}."
        ),
        table(["New site", "Nearest sources (distance)"], rows, "Nearest sources"),
    )
