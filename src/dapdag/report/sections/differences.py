"""Why the predictions for two of the new sites differ."""

from ..._runtime.text import number, percent
from ..facts import Facts, New
from ..markup import Markup, markup, paragraph, table, tag
from ..strips import interval

WORDS = {
    "case mix": "the rows: who is there",
    "E": "the environment E: how the site's columns behave",
    "label": "the label's own mechanism at the site",
    "weights": "which of the model's experts are followed",
}


def difference(facts: Facts, new: New) -> Markup | None:
    """The highest and the lowest mean prediction among the new sites, split into its causes."""
    if new.extremes is None:
        return None
    high, low, found = new.extremes.high, new.extremes.low, new.extremes.difference
    say = number if facts.classes is None else percent
    sized = found.parts.reindex(found.parts["contribution"].abs().sort_values()[::-1].index)
    reach = float((sized["contribution"].abs() + 2 * sized["sd"]).max())
    rows = []
    for name, part in sized.iterrows():
        value, half = float(part["contribution"]), 2 * float(part["sd"])
        strip = interval(value, half, (-reach, reach), (min(value, 0.0), max(value, 0.0)), "new")
        rows.append([WORDS.get(str(name), str(name)), strip, f"{value:+.3g} ± {half:.2g}"])
    return markup(
        [
            tag("h3", "Why the sites differ"),
            paragraph(
                f"The mean prediction is highest at {high} ({say(found.site)}) and lowest at "
                f"{low} ({say(found.reference)}). The difference of {found.difference:+.3g} is "
                "the sum of these parts (Shapley values of what the model predicts; ± twice the "
                "standard deviation by sampling rows):"
            ),
            table(
                ["What differs", "", "Contribution"],
                rows,
                "Parts of the difference between two sites",
                numeric=[2],
                class_="map",
            ),
        ]
    )
