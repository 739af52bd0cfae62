"""What the model says of the new table, and how sure it is."""

import numpy as np
import pandas as pd

from ..._runtime.text import level, listing, number, percent, plural, score
from ...evaluate.metrics import metric_title
from ..charts import histogram, scatter
from ..facts import COVERAGE, Facts, New
from ..markup import Markup, details, figure, markup, paragraph, table, tag
from ..scores import MEANING
from ..strips import bar
from .differences import difference
from .expected import expected

FIRST_ROWS, EXTREMES = 12, 5
MAX_SITES = 60
INTERVAL = "90\u202f% interval"


def predictions(facts: Facts) -> Markup:
    new = facts.new
    if new is None:
        return paragraph(
            "No new table was given, so there is nothing to predict. ",
            tag("code", "dapdag report MODEL NEW.csv -o report.html"),
            " adds it.",
            class_="note",
        )
    return markup(
        [
            _summary(facts, new),
            _pictures(facts, new),
            _extremes(facts, new),
            _by_site(facts, new),
            expected(new),
            difference(facts, new),
            _how_well(facts, new),
            _first_rows(facts, new),
        ]
    )


def _summary(facts: Facts, new: New) -> Markup:
    sites = plural(len(new.domains), "site")
    opening = f"{plural(new.rows, 'row')} of {sites}. "
    if facts.classes is None:
        assert new.interval is not None
        reach = float(np.median(np.ptp(new.interval, axis=1))) / 2
        low, middle, high = np.quantile(new.mean, [0.05, 0.5, 0.95])
        return paragraph(
            opening,
            tag("strong", f"The median prediction is {number(middle)}"),
            f"; nine in ten lie between {number(low)} and {number(high)}. A single outcome is "
            f"expected within ±{number(reach)} of its prediction in "
            f"{percent(COVERAGE)} of cases (median over rows).",
        )
    if facts.is_binary:
        sure = float(np.mean((new.mean < 0.1) | (new.mean > 0.9)))
        return paragraph(
            opening,
            tag("strong", f"On average {percent(float(new.mean.mean()))} for {facts.event}"),
            f", that is about {round(float(new.mean.sum())):,} of {new.rows:,} rows. For "
            f"{percent(sure)} of the rows the model is fairly sure (below 10\u202f% or above "
            f"90\u202f%); {percent(float(np.mean(np.abs(new.mean - 0.5) < 0.2)))} lie in the "
            "middle, between 30\u202f% and 70\u202f%.",
        )
    return paragraph(
        opening,
        tag("strong", f"Expected: {expected_counts(facts, new)}"),
        f". For {percent(float(np.mean(new.mean > 0.9)))} of the rows one class has more than "
        "90\u202f%.",
    )


def expected_counts(facts: Facts, new: New) -> str:
    """How many rows of each class are expected: the sums of their probabilities."""
    assert facts.classes is not None and new.probability is not None
    sums = new.probability.sum(0)
    order = np.argsort(-sums, kind="stable")
    return listing(f"{_count(float(sums[k]))} {level(facts.classes[k])}" for k in order)


def _count(value: float) -> str:
    return f"{round(value):,}".replace(",", "\u202f") if value >= 9.5 else f"{value:.1f}"


def _pictures(facts: Facts, new: New) -> Markup:
    if facts.classes is None:
        assert new.interval is not None
        pictures = [
            figure(
                histogram(new.mean, f"predicted {facts.label.name}", False),
                "Distribution of the predictions.",
            ),
            figure(
                histogram(np.ptp(new.interval, axis=1), "width of the 90\u202f% interval", False),
                "How sure the model is: the wider the interval of a row, the less it knows.",
            ),
        ]
    else:
        what = (
            f"probability of {facts.event}"
            if facts.is_binary
            else "probability of the likeliest class"
        )
        caption = (
            "Distribution of the predictions. Near 0 or 1 the outcome of a row is hardly in doubt; "
            "how far the probability itself may be off, its interval says."
            if facts.is_binary
            else "Distribution of the probability of each row's likeliest class. Where one class "
            "is frequent, this says little about the rare ones."
        )
        pictures = [figure(histogram(new.mean, what, True), caption)]
    return tag("div", pictures, class_="figures")


def _extremes(facts: Facts, new: New) -> Markup | None:
    """Rows with the highest and the lowest predictions, and the least certain ones, by name."""
    if new.rows < 3 or (facts.classes is not None and not facts.is_binary):
        return None
    n = min(EXTREMES, new.rows // 3)
    order = np.argsort(new.mean, kind="stable")
    assert new.interval is not None
    doubt = np.ptp(new.interval, axis=1)
    groups = [
        ("Highest", order[::-1][:n]),
        ("Lowest", order[:n]),
        ("Least certain", np.argsort(-doubt, kind="stable")[:n]),
    ]
    several = len(new.domains) > 1
    headings = _row_headings(facts, new, several)
    short = [h.removesuffix(f" of {facts.event}") if facts.is_binary else h for h in headings]
    tables = [
        tag(
            "div",
            table(
                short,
                [_one_row(facts, new, int(k), several) for k in rows],
                name,
                numeric=[k for k, h in enumerate(headings) if h == "Prediction"],
            ),
        )
        for name, rows in groups
    ]
    wide = " wide" if len(headings) > len(("Row", "Prediction", INTERVAL)) else ""
    return tag("div", tables, class_=f"figures rows{wide}")


def _by_site(facts: Facts, new: New) -> Markup | None:
    """One row per site, when there are several."""
    if len(new.domains) < 2:
        return None
    sizes, rows = new.sizes(), []
    for d, name in enumerate(new.domains[:MAX_SITES]):
        inside = new.codes == d
        cells: list = [name, f"{sizes[d]:,}".replace(",", "\u202f")]
        if facts.classes is None:
            assert new.std is not None
            cells += [number(float(new.mean[inside].mean())), number(float(new.std[inside].mean()))]
        else:
            cells += [percent(float(new.mean[inside].mean()))]
        cells.append("outside" if bool(new.environments["outside"].iloc[d]) else "within")
        rows.append(cells)
    about = (
        ["Mean prediction", "Mean standard deviation"]
        if facts.classes is None
        else ["Mean probability"]
    )
    more = len(new.domains) - len(rows)
    caption = "Predictions by site" + (f" (the first {len(rows)})" if more else "")
    headings = ["New site", "Rows", *about, "Environment"]
    return table(headings, rows, caption, numeric=range(1, 2 + len(about)))


def _how_well(facts: Facts, new: New) -> Markup | None:
    if new.scores is None:
        return None
    scores = new.scores
    names = list(scores.overall)
    rows: list[list] = [
        ["All labelled rows", f"{scores.rows:,}", *(score(scores.overall[m]) for m in names)]
    ]
    if len(new.domains) > 1:
        rows += [
            [name, f"{count:,}", *(score(found[m]) if m in found else "–" for m in names)]
            for name, found, count in zip(
                new.domains[:MAX_SITES], scores.by_domain, scores.labelled, strict=False
            )
        ]
    parts = [
        tag("h3", "How well, now that the outcomes are known"),
        table(
            ["Site", "Rows", *(metric_title(m) for m in names)],
            rows,
            "Predictions of the new table against its outcomes",
            numeric=range(1, 2 + len(names)),
        ),
        glossary(names, "screen"),
    ]
    if facts.classes is None:
        known = ~np.isnan(new.truth)  # type: ignore[arg-type]
        parts.append(
            figure(
                scatter(new.truth[known], new.mean[known], str(facts.label.name)),  # type: ignore[index]
                "Each point is a row; on the diagonal the prediction is exact.",
            )
        )
    return markup(parts)


def glossary(metrics: list[str], class_: str | None = None) -> Markup | None:
    """What the scores mean, in words."""
    known = [m for m in metrics if m in MEANING]
    if not known:
        return None
    terms = [[tag("dt", metric_title(m)), tag("dd", MEANING[m])] for m in known]
    return details("What these scores mean", tag("dl", terms), class_=class_)


def _first_rows(facts: Facts, new: New) -> Markup:
    n = min(FIRST_ROWS, new.rows)
    several = len(new.domains) > 1
    headings = _row_headings(facts, new, several)
    rows = [_one_row(facts, new, k, several) for k in range(n)]
    numeric = [k for k, h in enumerate(headings) if h == "Prediction"]
    return details(
        f"The first {plural(n, 'row')}",
        table(headings, rows, f"Predictions of the first {plural(n, 'row')}", numeric=numeric),
        class_="screen",
    )


def _row_headings(facts: Facts, new: New, several: bool) -> list[str]:
    headings = ["Row", *(["Site"] if several else [])]
    if facts.classes is None:
        headings += ["Prediction", INTERVAL]
    elif facts.is_binary:
        headings += [f"Probability of {facts.event}", INTERVAL]
    else:
        headings += ["Likeliest class", "Its probability"]
    return [*headings, "Outcome"] if new.truth is not None else headings


def _one_row(facts: Facts, new: New, k: int, several: bool) -> list:
    cells: list = [new.ids[k], *([new.domains[new.codes[k]]] if several else [])]
    if facts.classes is None:
        assert new.interval is not None
        low, high = map(float, new.interval[k])
        cells += [number(float(new.mean[k])), f"{number(low)} to {number(high)}"]
    elif facts.is_binary:
        assert new.interval is not None
        low, high = map(float, new.interval[k])
        cells += [_with_bar(float(new.mean[k])), f"{percent(low)} to {percent(high)}"]
    else:
        best = facts.classes[int(new.probability[k].argmax())]  # type: ignore[index]
        cells += [level(best), _with_bar(float(new.mean[k]))]
    if new.truth is not None:
        truth = new.truth[k]
        known = bool(pd.notna(truth))
        said = number(truth) if facts.classes is None else level(truth)
        cells.append(said if known else "–")
    return cells


def _with_bar(share: float) -> Markup:
    return tag("span", percent(share), bar(share), class_="with-bar")
