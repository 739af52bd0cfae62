"""The graph, with a panel that tells about the chosen variable, and what E does."""

from collections.abc import Hashable

import numpy as np

from ..._runtime.text import listing, number, percent, plural, signed
from ..facts import Facts
from ..graph_picture import (
    Drawn,
    drawn_part,
    edge_effect,
    edge_strength,
    environment_strength,
    graph_data,
    graph_svg,
)
from ..markup import Markup, details, markup, paragraph, table, tag
from ..strips import bar, sparkline

MAX_EDGES, PRINTED_EDGES, FIRST_EFFECTS, MAX_EFFECTS = 200, 30, 12, 60
# A wider graph, in pixels, has its panel below it instead of at its side.
WIDEST_BESIDE = 780
# An effect smaller than this many standard deviations is drawn as nearly flat.
SMALLEST_SCALE = 0.5


def graph(facts: Facts) -> Markup:
    drawn = drawn_part(facts.graph, facts.label.name)
    shows = drawn.graph.number_of_edges() > 0
    return markup(
        [
            _lead(facts),
            _share(facts),
            _interactive(facts, drawn) if shows else None,
            _legend(facts, drawn) if shows else None,
            _edges(facts),
            _effects(facts),
        ]
    )


def _share(facts: Facts) -> Markup:
    share = facts.prediction["experts"]["graph"]
    text = (
        f"Inference on this graph has a share of {percent(share)} in the prediction."
        if share
        else "The prediction does not go through this graph: it stands beside it."
    )
    return paragraph(text)


def _lead(facts: Facts) -> Markup:
    label = facts.label.name
    if not facts.graph.number_of_edges():
        return paragraph(
            "Beside predicting, the model reconstructs every column from others that help, and "
            "draws an arrow from each of those. ",
            tag("strong", "Here it found none that helps enough"),
            "; the prediction itself uses all columns.",
        )
    parents = list(facts.graph.predecessors(label))
    children = list(facts.graph.successors(label))
    into = f"from {listing(parents)}" if parents else "from no other column"
    out = f"; {listing(children)} {_have(children)} it as a parent" if children else ""
    return markup(
        [
            paragraph(
                "Beside predicting, the model reconstructs every column from some of the others, "
                "which the graph shows as arrows. It reconstructs ",
                tag("strong", label),
                f" {into}{out}.",
            ),
            paragraph(
                tag("strong", "An arrow is not a proof of cause and effect."),
                " It says that, across these sites, one column helps to reconstruct the other in "
                "this direction. Hidden common causes, the choice of columns and chance can all "
                "produce or turn an arrow.",
                class_="caution",
            ),
        ]
    )


def _have(names: list) -> str:
    return "has" if len(names) == 1 else "have"


def _interactive(facts: Facts, drawn: Drawn) -> Markup:
    svg, width = graph_svg(facts, drawn)
    options = [
        tag("option", "choose …", value=""),
        *(tag("option", node, value=k) for k, node in enumerate(drawn.graph)),
    ]
    hint = (
        "Choose a variable: click it, or move to it with Tab or the arrow keys and press Enter. "
        "Esc lets go of it."
    )
    left_out = []
    if drawn.nodes_left_out:
        left_out.append(f"{plural(drawn.nodes_left_out, 'variable')} farther from the label")
    if drawn.edges_left_out:
        left_out.append(plural(drawn.edges_left_out, "weaker arrow"))
    return tag(
        "div",
        tag("a", "Skip the graph", href="#graph-after", class_="skip-inline"),
        tag(
            "div",
            svg,
            class_="scroll graph-box",
            tabindex="0",
            role="region",
            aria_label="The graph; scroll to see all of it",
        ),
        tag(
            "div",
            tag("p", hint, class_="small needs-script"),
            tag(
                "p",
                tag("label", "Variable ", tag("select", options, id="node-choice")),
                class_="needs-script",
            ),
            tag("div", id="node-panel", role="status", aria_live="polite", class_="panel"),
            paragraph(f"Not drawn: {listing(left_out)}.", class_="small") if left_out else None,
            class_="graph-side",
        ),
        graph_data(facts, drawn),
        class_="graph-layout wide" if width > WIDEST_BESIDE else "graph-layout",
    )


def _legend(facts: Facts, drawn: Drawn) -> Markup:
    items = [tag("li", tag("span", class_="key is-label"), f"the label, {facts.label.name}")]
    if facts.uses_environment and drawn.ringed & set(drawn.graph):
        items.append(
            tag(
                "li",
                tag("span", class_="key ringed"),
                "differs between sites: E acts strongly here",
            )
        )
    if drawn.graph.number_of_edges():
        items.append(tag("li", tag("span", class_="key arrow"), "reconstructs; wider is stronger"))
    return tag("ul", items, class_="legend", id="graph-after")


def _edges(facts: Facts) -> Markup | None:
    if not facts.graph.number_of_edges():
        return None
    strength = edge_strength(facts.graph)
    ranked = sorted(strength, key=lambda edge: -strength[edge])
    shown = ranked[:MAX_EDGES]
    largest = strength[ranked[0]] or 1.0
    rows = [
        [
            f"{u} → {v}",
            tag(
                "span",
                edge_effect(facts.graph, (u, v)),
                bar(strength[u, v] / largest),
                class_="with-bar",
            ),
        ]
        for u, v in shown
    ]
    removed = facts.graph.graph.get("removed", [])
    threshold = facts.graph.graph.get("threshold")
    more = len(ranked) - len(shown)
    return details(
        f"The {plural(len(shown), 'strongest arrow')} as a table"
        if more
        else f"All {plural(len(ranked), 'arrow')} as a table",
        paragraph(
            "Strength: how many standard deviations the child moves, typically, when the parent "
            "moves by one of its own; with − it falls where the parent rises. Categories have no "
            "sign, and are shown with +."
            + (f" Weaker arrows than {number(threshold, 2)} were dropped." if threshold else "")
            + (
                f" To keep the graph free of circles, {plural(len(removed), 'arrow')} that would "
                f"have closed one {'was' if len(removed) == 1 else 'were'} given up: "
                + listing([f"{u} → {v}" for u, v in removed])
                + "."
                if removed
                else ""
            )
        ),
        table(["Arrow", "Strength"], rows, "Arrows of the graph, strongest first"),
        paragraph(f"{more} weaker ones are not listed.") if more else None,
        class_="screen" if len(shown) > PRINTED_EDGES else None,
    )


def _effects(facts: Facts) -> Markup | None:
    """What E does to each variable over the range of the sources."""
    if facts.effects is None:
        return None
    reach = facts.effects.reach.fillna(0.0).sort_values(ascending=False, kind="stable")
    first, rest = list(reach.index[:FIRST_EFFECTS]), list(reach.index[FIRST_EFFECTS:MAX_EFFECTS])
    unit = max(float(reach.iloc[0]), SMALLEST_SCALE)
    left_out = len(reach) - len(first) - len(rest)
    return markup(
        [
            tag("h3", "What the environment does to each variable"),
            paragraph(
                f"{facts.effects.values.index.name} moves from the lowest to the highest site the "
                "model learned from, while the parents of each variable stay at typical values. "
                "Directions have no meaning of their own: the sign of "
                "E is arbitrary."
            ),
            _effect_table(facts, first, unit, "Direct effect of the environment, largest first"),
            details(
                f"{plural(len(rest), 'smaller effect')}",
                _effect_table(facts, rest, unit, "Smaller effects of the environment"),
                paragraph(f"{left_out} still smaller ones are not shown.") if left_out else None,
            )
            if rest
            else None,
        ]
    )


def _effect_table(facts: Facts, columns: list[Hashable], unit: float, caption: str) -> Markup:
    assert facts.effects is not None
    moves = facts.effects.standardised.fillna(0.0)
    acts = environment_strength(facts.graph)
    strongest = max(acts.values(), default=0.0) or 1.0
    rows = []
    for column in columns:
        values = facts.effects.values[column].to_numpy(dtype=float)
        line = moves[column].to_numpy(dtype=float)
        strength = acts[facts.effect_owner[column]]
        rows.append(
            [
                column,
                sparkline(line, unit),
                f"{_level(facts, column, values[0])} → {_level(facts, column, values[-1])}",
                signed(float(np.round(line[-1] - line[0], 2)), 2),
                tag(
                    "span",
                    number(strength, 2),
                    bar(strength / strongest, "environment"),
                    class_="with-bar",
                ),
            ]
        )
    headings = ["Variable", "Over the sources", "From → to", "Change (sd)", "Strength of E"]
    return table(headings, rows, caption, numeric=[2, 3], class_="effects")


def _level(facts: Facts, column: Hashable, value: float) -> str:
    """A number, or the share of a level in per cent."""
    owner = facts.effect_owner[column]
    kinds = {c.name: c.kind for c in (*facts.columns, facts.label)}
    return number(value) if kinds[owner] == "continuous" else percent(value)
