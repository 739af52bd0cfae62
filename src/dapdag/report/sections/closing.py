"""Limits in plain words, and how the model and the report were made."""

from datetime import UTC, datetime

from ..._runtime.text import number, plural
from ..charts import losses
from ..facts import Facts
from ..markup import Markup, details, figure, markup, paragraph, table, tag

FEW_SITES = 8


def limits(facts: Facts) -> Markup:
    n = len(facts.sources)
    items = [
        [
            tag("strong", "A prediction is not a decision. "),
            "The model knows the columns it was given and nothing else about a person, a machine "
            "or a place.",
        ],
        [
            tag("strong", "The graph is a description, not a cause. "),
            "Changing a column in reality need not change its children as the arrows suggest.",
        ],
        [
            tag("strong", f"It has seen {plural(n, 'site')}. "),
            "How sites differ can only be learned from sites; "
            + (
                "with so few, the map of environments is coarse, and a new site can differ in a "
                "way that none of them shows."
                if n < FEW_SITES
                else "a new site can still differ in a way that none of them shows."
            ),
        ],
        [
            tag("strong", "E sees the columns, not the outcome. "),
            "If only the outcome changes at a new site (a new treatment, another definition of "
            "the label) and the columns do not show it, no model of this kind can notice.",
        ],
        [
            tag("strong", "“Within the range” is not a guarantee. "),
            "It compares the estimated environment with those of the sources, dimension by "
            "dimension.",
        ],
        [
            tag("strong", "Uncertainty has limits. "),
            "Intervals and probabilities hold for sites like the known ones. They do not cover "
            "errors in the data or a wrong model.",
        ],
        [
            tag("strong", "Before use: "),
            "collect some outcomes at the new site, and compare.",
        ],
    ]
    return tag("ul", [tag("li", item) for item in items], class_="limits")


def making(facts: Facts) -> Markup:
    record = facts.record
    made = datetime.now(UTC).isoformat(timespec="minutes").replace("T", " ").replace("+00:00", "")
    parts = [
        paragraph(
            f"Trained for {plural(len(facts.history), 'epoch')}"
            f" on {record.created.replace('T', ' ').replace('+00:00', '')} UTC"
            + (", and interrupted before the end" if facts.interrupted else "")
            + f". Report written on {made} UTC. It holds no row of the training data, only counts, "
            "shares and means."
        ),
    ]
    picture = losses(facts.history)
    if picture is not None:
        caption = (
            "Loss of the prediction during training, on training rows and on rows held out of it; "
            "lower is better."
        )
        parts.append(details("How training went", figure(picture, caption)))
    settings = [[name, _setting(value)] for name, value in record.settings.items()]
    versions = [[name, value] for name, value in record.versions.items()]
    parts.append(
        details(
            "Settings and versions",
            tag(
                "div",
                table(["Setting", "Value"], settings, "Settings of the training"),
                table(["Software", "Version"], versions, "Versions at training"),
                class_="figures",
            ),
        )
    )
    return markup(parts)


def _setting(value: object) -> str:
    if value is None:
        return "default"
    return number(value) if isinstance(value, float) else str(value)
