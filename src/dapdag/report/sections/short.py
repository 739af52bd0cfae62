"""The findings in a few lines, each with the way to more."""

from typing import NamedTuple

import numpy as np

from ..._runtime.text import listing, number, percent
from ...evaluate.metrics import metric_title
from ..facts import Facts
from ..markup import Markup, tag


class Line(NamedTuple):
    """What was found, where more of it stands, and whether it is good or bad news."""

    text: str
    anchor: str
    look: str = ""


def in_short(facts: Facts) -> Markup:
    lines = [_sites(facts), _predictions(facts), _assessment(facts), _cells(facts)]
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


def _sites(facts: Facts) -> Line | None:
    if not facts.uses_environment:
        return Line("It learned from one site and cannot tell how sites differ.", "sites", "bad")
    if facts.new is None:
        return None
    outside = facts.new.environments["outside"].astype(bool)
    named = outside.index[outside] if outside.any() else outside.index
    who = f"{listing(named)} {'lies' if len(named) == 1 else 'lie'}"
    if outside.any():
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
        text = f"Predicted on average: {percent(float(new.mean.mean()))} for {facts.event}"
    else:
        text = f"Mean probability of the likeliest class: {percent(float(new.mean.mean()))}"
    if new.scores is not None:
        scores = new.scores.overall
        shown = [m for m in ("auc", "log_loss", "r2", "coverage") if m in scores][:2]
        text += "; " + ", ".join(f"{metric_title(m)} {number(scores[m], 2)}" for m in shown)
    return Line(f"{text}.", "predictions")


def _assessment(facts: Facts) -> Line:
    scores = facts.assessment
    if scores is None or not len(scores):
        return Line("How well new sites are predicted was not assessed.", "left-out", "bad")
    own = scores[scores["method"] == scores["method"].iloc[0]]
    shown = [m for m in ("auc", "log_loss", "r2", "coverage") if (own["metric"] == m).any()][:2]
    said = [
        f"{metric_title(m)} {number(float(own.loc[own['metric'] == m, 'value'].mean()), 2)}"
        for m in shown
    ]
    return Line(f"Known sites when left out: {', '.join(said)} on average.", "left-out")


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
