"""TRIPOD+AI and TRIPOD-Cluster: what the software knows, and what the authors must write.

Item names follow Collins et al. (BMJ 2024, TRIPOD+AI) and Debray et al. (BMJ 2023,
TRIPOD-Cluster) in short words of our own; the checklists themselves are the reference.
"""

from typing import Any, NamedTuple

from ..._runtime.text import interval_text, level, listing, percent, plural
from ...evaluate.clinical.estimates import BINARY, NUMBERS, STATISTICS
from ..facts import Facts
from ..markup import Markup, markup, paragraph, table, tag

# An article lists every predictor and every site; beyond this they belong into a supplement.
MOST_NAMES = 40
REPORTED = {
    BINARY: ("c_statistic", "oe_ratio", "calibration_slope"),
    NUMBERS: ("r2", "calibration_in_the_large", "calibration_slope"),
}


class Item(NamedTuple):
    """One line of the checklist; `known` is None where only the authors can say."""

    topic: str
    known: str | None
    authors: str = ""


def tripod(facts: Facts) -> Markup:
    return markup(
        [
            paragraph(
                "A start for the checklists TRIPOD+AI and TRIPOD-Cluster. The second column is "
                "filled in by the software, the third says what the authors must add."
            ),
            table(
                ["Item", "What the software knows", "To be written by the authors"],
                [
                    [item.topic, item.known or "–", _for_authors(item.authors)]
                    for item in items(facts)
                ],
                "Reporting checklist",
                class_="checklist",
            ),
        ]
    )


def _for_authors(text: str) -> Any:
    return tag("strong", text) if text else "–"


def items(facts: Facts) -> list[Item]:
    """All lines, in the order of an article."""
    return [
        Item("Title and abstract", None, "Development or validation, sites, outcome"),
        Item("Background and aims", None, "Care pathway, intended use and users, existing models"),
        Item("Sources of data", _sources(facts), "Design, dates and setting of each site"),
        Item(
            "Participants", f"{plural(facts.record.rows, 'row')} in all", "Eligibility, treatments"
        ),
        Item("Outcome", _outcome(facts), "Definition, time horizon, assessment, blinding"),
        Item("Predictors", _predictors(facts), "Definition, timing and measurement at each site"),
        Item("Sample size", _size(facts), "Why it is enough; what was planned"),
        Item("Missing data", _missing(facts), "Why cells are missing; sites that never measured"),
        Item("Model", _model(facts), "Why this model; what was decided after seeing results"),
        Item("Differences between sites", _between(facts), "Known reasons for the differences"),
        Item("Internal–external validation", _validation(facts)),
        Item("Performance and heterogeneity", _performance(facts), "Subgroups and fairness"),
        Item("External validation", _external(facts), "Dates and recruitment of the new data"),
        Item(
            "Model updating",
            "None: nothing is refitted at a new site",
            "Local recalibration, if any",
        ),
        Item("Availability", _availability(facts), "Where model, code and data can be had"),
        Item("Interpretation and limits", None, "Limits, generalisability, use in practice"),
        Item("Protocol, registration, funding, ethics, patients' part", None, "All of them"),
    ]


def _sources(facts: Facts) -> str:
    sources = facts.record.sources
    rows = sorted(s.rows for s in sources)
    span = f"{rows[0]} to {rows[-1]} rows each"
    if rows[0] == rows[-1]:
        span = plural(rows[0], "row") + (" each" if len(rows) > 1 else "")
    names = listing((s.name for s in sources), MOST_NAMES)
    return f"{plural(len(sources), 'site')} ({names}), {span}"


def _outcome(facts: Facts) -> str:
    if facts.classes is None:
        return f"{facts.label.name}, a number"
    return f"{facts.label.name}: {listing(level(c) for c in facts.classes)}"


def _predictors(facts: Facts) -> str:
    names = [c.name for c in facts.columns]
    return f"{plural(len(names), 'candidate')}: {listing(names, MOST_NAMES)}"


def _size(facts: Facts) -> str:
    if not facts.is_binary:
        labelled = sum(s.labelled for s in facts.record.sources)
        return plural(labelled, "row") + " with an outcome"
    each = [
        f"{s.name} {round(s.label[1] * s.labelled)} of {s.labelled}"
        for s in facts.record.sources
        if s.label
    ]
    return (
        f"Events per site: {listing(each, MOST_NAMES)}"
        if each
        else "Too few rows per site to count"
    )


def _missing(facts: Facts) -> str:
    shares = facts.record.missing_overall().sort_values(ascending=False)
    some = [f"{name} {percent(share)}" for name, share in shares.items() if share > 0]
    how = "missing cells are part of the model: no row is dropped, nothing is imputed beforehand"
    return f"{listing(some, MOST_NAMES)}; {how}" if some else f"None missing; {how}"


def _model(facts: Facts) -> str:
    settings = facts.record.settings
    shown = {k: v for k, v in settings.items() if isinstance(v, int | float | str | bool)}
    return (
        f"DAPDAG {facts.record.versions.get('dapdag', '')}: domain adaptation via perturbed DAG "
        f"reconstruction; parameters {', '.join(f'{k}={v}' for k, v in sorted(shown.items()))}"
    )


def _between(facts: Facts) -> str:
    if not facts.uses_environment:
        return "One site only: differences between sites are not modelled"
    return "An environment E for each site, estimated from its rows without outcomes"


def _validation(facts: Facts) -> str | None:
    if facts.assessment is None:
        return "Not done: dapdag fit --assess"
    n = facts.assessment["target"].nunique()
    return f"Each of {plural(n, 'site')} left out once; all steps repeated without it"


def _performance(facts: Facts) -> str:
    found = facts.validated
    if found is None:
        return "Not assessed: dapdag fit --assess"
    said = []
    for name in REPORTED[found.task]:
        row: Any = found.summary.loc[(found.methods[0], name)]
        ends = interval_text(float("nan"), row["prediction_low"], row["prediction_high"])
        mean = interval_text(row["estimate"], row["low"], row["high"])
        said.append(
            f"{STATISTICS[name].title} {mean}, next site {ends}, I² {percent(float(row['i2']))}"
        )
    return "; ".join(said)


def _external(facts: Facts) -> str | None:
    found = None if facts.new is None else facts.new.validation
    if found is None:
        return "Not done: no outcomes of a new site"
    said = []
    for target in found.targets:
        tables: dict[str, Any] = {n: found.of(found.best(), n) for n in REPORTED[found.task]}
        rows: dict[str, Any] = {name: table.loc[target] for name, table in tables.items()}
        each = [
            f"{STATISTICS[name].title} {interval_text(row['estimate'], row['low'], row['high'])}"
            for name, row in rows.items()
        ]
        count = plural(int(next(iter(rows.values()))["rows"]), "row")
        said.append(f"{target} ({count}): {', '.join(each)}")
    return "; ".join(said)


def _availability(facts: Facts) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in sorted(facts.record.versions.items()))
    return f"The model file predicts without the training data; made with {versions}"
