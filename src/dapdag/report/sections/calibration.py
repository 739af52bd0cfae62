"""Do the predictions mean what they say?"""

from ..._runtime.text import number, percent, plural
from ...inference.reliability import calibration_error
from ..charts import predicted_against_observed, reliability
from ..curves import calibration_picture
from ..facts import COVERAGE, Facts
from ..markup import Markup, figure, markup, paragraph, table, tag

FEW_ROWS = 50


def calibration(facts: Facts) -> Markup:
    return markup(
        [
            _lead(facts),
            tag("div", [_left_out(facts) or _heldout(facts), _new(facts)], class_="figures"),
            _coverage(facts),
        ]
    )


def _lead(facts: Facts) -> Markup:
    if facts.classes is None:
        text = (
            "A model is calibrated when rows for which it predicts 10 have 10 on average, and when "
            "its 90\u202f% intervals hold 90\u202f% of the outcomes."
        )
    else:
        text = (
            "A model is calibrated when, of the rows to which it gives 30\u202f%, 30\u202f% have "
            "the event. Points above the diagonal: it happens more often than predicted; below: "
            "less often."
        )
    return paragraph(text)


def _left_out(facts: Facts) -> Markup | None:
    """The curve of left-out sites, where it was kept, is closer to what a new site will see."""
    found = None if facts.validated is None else facts.validated.calibration
    if found is None:
        return None
    axes = _axes(facts) if facts.is_binary else (f"predicted {facts.label.name}", "observed")
    picture = calibration_picture(found, axes, facts.is_binary)
    return figure(picture, "Sites that were left out, all rows together, with 95\u202f% band.")


def _heldout(facts: Facts) -> Markup | None:
    found = facts.record.heldout
    if found is None:
        return paragraph("There were too few rows to hold some out of training.", class_="note")
    caption = [
        f"Known sites: {plural(found.rows, 'prediction')} of rows that were held out of training. ",
        tag("strong", "A new site can be worse"),
        ": its rows differ more from the training data than these.",
    ]
    bins = list(found.bins)
    if facts.classes is None:
        return figure(predicted_against_observed(bins, str(facts.label.name)), caption)
    caption.append(f" Mean distance from the diagonal: {number(calibration_error(bins), 2)}.")
    return figure(reliability(bins, *_axes(facts)), caption)


def _new(facts: Facts) -> Markup | None:
    if facts.new is None or facts.new.scores is None or not facts.new.scores.bins:
        return None
    scores = facts.new.scores
    caption = [
        f"The new table: {plural(scores.rows, 'row')} whose outcome is known. Mean distance from "
        f"the diagonal: {number(calibration_error(scores.bins), 2)}.",
        " With so few rows, chance moves the points far." if scores.rows < FEW_ROWS else None,
    ]
    return figure(reliability(scores.bins, *_axes(facts)), caption)


def _axes(facts: Facts) -> tuple[str, str]:
    if facts.is_binary:
        return f"predicted probability of {facts.event}", "observed share"
    return "probability of the likeliest class", "share that has it"


def _coverage(facts: Facts) -> Markup | None:
    """At sites that were left out: rows of known sites set the width of the intervals."""
    if facts.classes is not None:
        return None
    scores = facts.assessment
    own = None if scores is None or not len(scores) else scores["method"].iloc[0]
    if scores is None or not ((scores["metric"] == "coverage") & (scores["method"] == own)).any():
        return paragraph(
            "How many outcomes the intervals hold was not assessed: that needs sites that were "
            "left out (",
            tag("code", "dapdag fit DATA --assess …"),
            ").",
            class_="note",
        )
    chosen = scores[(scores["metric"] == "coverage") & (scores["method"] == own)]
    by_site = chosen.groupby("target", sort=False)["value"].mean().dropna()
    rows = [[str(site), percent(float(share))] for site, share in by_site.items()]
    rows.append([tag("strong", "Mean"), tag("strong", percent(float(by_site.mean())))])
    return table(
        ["Site left out", f"Outcomes inside their {percent(COVERAGE)} interval"],
        rows,
        f"Coverage of the {percent(COVERAGE)} intervals at sites that were left out",
        numeric=[1],
        class_="narrow",
    )
