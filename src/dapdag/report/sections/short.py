"""The findings in a few lines, each with the way to more."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._runtime.text import listing, number, percent, plural
from ..._sklearn.shares import DOES_NOT_ADAPT
from ...evaluate.metrics import metric_title
from ...evaluate.references import CONSTANT
from ..facts import Facts
from ..markup import Markup, tag
from ..verdict import verdict_of
from .predictions import expected_counts
from .table_one import largest_differences

# Nine in ten probabilities within less than this are hardly told apart.
NARROW, FEW_ROWS = 0.1, 10


class Line(NamedTuple):
    """What was found, where more of it stands, and whether it is good or bad news."""

    text: str
    anchor: str
    look: str = ""


def in_short(facts: Facts) -> Markup:
    lines = [
        *_verdict(facts),
        _predictions(facts),
        _how_alike(facts),
        _adaptation(facts),
        _sites(facts),
        _differences(facts),
        _cells(facts),
    ]
    items = [
        tag(
            "li",
            tag("span", line.text),
            " ",
            tag("a", "more", href=f"#{line.anchor}", aria_label=f"more on {line.anchor}"),
            class_=line.look or None,
        )
        for line in lines
        if line is not None
    ]
    return tag(
        "section",
        tag("h2", "In short", id="short"),
        tag("ul", items, class_="short"),
        class_="box",
        aria_labelledby="short",
    )


def _verdict(facts: Facts) -> list[Line]:
    """First of all: is it better than what anyone could do without the model?"""
    if facts.assessment is None or not len(facts.assessment):
        return [Line("How well new sites are predicted was not assessed.", "left-out", "bad")]
    verdict = verdict_of(facts.assessment)
    if verdict is None:
        return [_scores(facts.assessment)]
    lines = []
    for comparison, sentence in zip(verdict.comparisons, verdict.sentences(), strict=True):
        constant = comparison.reference in CONSTANT.values()
        bad = comparison.worse or (constant and not comparison.better)
        look = "fine" if comparison.better else "bad" if bad else ""
        lines.append(Line(sentence, "left-out", look))
    return lines


def _scores(assessment: pd.DataFrame) -> Line:
    own = assessment[assessment["method"] == assessment["method"].iloc[0]]
    shown = [m for m in ("auc", "log_loss", "r2", "coverage") if (own["metric"] == m).any()][:2]
    said = [
        f"{metric_title(m)} {number(float(own.loc[own['metric'] == m, 'value'].mean()), 2)}"
        for m in shown
    ]
    text = (
        f"Known sites when left out: {', '.join(said)} on average; no reference was assessed with "
        "them."
    )
    return Line(text, "left-out")


def _adaptation(facts: Facts) -> Line | None:
    if facts.prediction["adapts"] or not facts.uses_environment:
        return None
    return Line(f"{DOES_NOT_ADAPT[:1].upper()}{DOES_NOT_ADAPT[1:]}.", "sites")


def _how_alike(facts: Facts) -> Line | None:
    """Everyone gets the same: a model that does not tell rows apart."""
    new = facts.new
    if new is None or not facts.is_binary or new.rows < FEW_ROWS:
        return None
    low, high = np.quantile(new.mean, [0.05, 0.95])
    if high - low >= NARROW:
        return None
    return Line(
        f"Nearly everyone gets {percent(float(low))} to {percent(float(high))}: the model hardly "
        "tells these rows apart.",
        "predictions",
        "bad",
    )


def _differences(facts: Facts) -> Line | None:
    if facts.new is None:
        return None
    found = largest_differences(facts)
    if not found:
        return None
    text = f"Largest differences from the known sites, in standard deviations: {listing(found)}."
    return Line(text, "characteristics")


def _sites(facts: Facts) -> Line | None:
    if not facts.uses_environment:
        return Line("It learned from one site and cannot tell how sites differ.", "sites", "bad")
    if facts.new is None:
        return None
    outside = facts.new.environments["outside"].astype(bool)
    named = outside.index[outside] if outside.any() else outside.index
    who = f"{listing(named)} {'lies' if len(named) == 1 else 'lie'}"
    if outside.any():
        novel = any(name in facts.new.novel for name in named)
        if not facts.prediction["adapts"] and not novel:
            text = f"{who} outside the known sites by E, which the predictions do not use."
            return Line(text, "sites")
        text = f"{who} outside the sites the model knows: treat its predictions with care."
        return Line(text, "sites", "bad")
    return Line(f"{who} within the range of the known sites.", "sites", "fine")


def _predictions(facts: Facts) -> Line | None:
    new = facts.new
    if new is None:
        return None
    if facts.classes is None:
        text = f"Predicted {facts.label.name}: median {number(float(np.median(new.mean)))}"
    elif facts.is_binary:
        text = (
            f"Predicted on average: {percent(float(new.mean.mean()))} for {facts.event}, that is "
            f"about {round(float(new.mean.sum())):,} of {plural(new.rows, 'row')}"
        )
    else:
        text = f"Expected among {plural(new.rows, 'row')}: {expected_counts(facts, new)}"
    if new.scores is not None:
        scores = new.scores.overall
        shown = [m for m in ("auc", "log_loss", "r2", "coverage") if m in scores][:2]
        text += "; " + ", ".join(f"{metric_title(m)} {number(scores[m], 2)}" for m in shown)
    return Line(f"{text}.", "predictions")


def _cells(facts: Facts) -> Line | None:
    if facts.new is None:
        return None
    absent = facts.new.missing.index[(facts.new.missing == 1).all(axis=1)]
    if len(absent):
        verb = "is" if len(absent) == 1 else "are"
        text = f"{listing(absent)} {verb} missing throughout the new table."
        return Line(text, "cells", "bad")
    share = float(np.average(facts.new.missing.mean(), weights=facts.new.sizes()))
    return Line(f"{percent(share)} of the new table's cells are missing.", "cells")
