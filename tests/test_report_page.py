"""The page that tells made-up facts: complete, well-formed, escaped and accessible."""

import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from report_facts import HOSTILE, made_facts

from dapdag._runtime.text import number, percent
from dapdag.data.schema import Column
from dapdag.report.graph_picture import MAX_NODES, drawn_part
from dapdag.report.markup import Markup, table, tag
from dapdag.report.names import write_names
from dapdag.report.page import render

CASES = {
    "two classes": {},
    "three classes": {"classes": ("a", "<b>", "c")},
    "numbers": {"classes": None},
    "one site": {"n_sites": 1},
    "no new table": {"new_sites": ()},
    "outcomes unknown": {"with_truth": False},
    "not assessed": {"with_assessment": False},
    "two dimensions": {"env_dim": 2},
    "five dimensions": {"env_dim": 5, "classes": None},
    "forty sites": {"n_sites": 40, "env_dim": 2},
    "many sites": {"n_sites": 300},
    "no arrows": {"density": 0.0},
    "long names": {"names": [f"a_very_long_column_name_{k}_" * 4 for k in range(20)]},
    "many columns": {"names": [f"c{k}" for k in range(150)], "density": 0.05},
    "names are numbers": {"names": [1, 2.5, 3]},
}


class Reader(HTMLParser):
    """Checks nesting and keeps elements, ids, links and text."""

    VOID = ("meta", "br", "hr", "wbr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.page = page
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in self.VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open
        assert self.open.pop() == name

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(data)
        else:
            self.text.append(data)

    def named(self, name):
        return [attributes for element, attributes in self.elements if element == name]


@pytest.fixture(scope="module", params=CASES, ids=str)
def reader(request):
    return Reader(render(made_facts(**CASES[request.param])))


def test_elements_are_nested_and_ids_are_unique(reader):
    ids = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in reader.named("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_nothing_comes_from_elsewhere(reader):
    assert not {"img", "link", "iframe", "object", "embed"} & {name for name, _ in reader.elements}
    assert not any("src" in attributes for _, attributes in reader.elements)
    assert not re.search(r"https?:|url\(|@import", reader.page)
    policy = reader.named("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none'")


def test_names_of_the_data_are_text_and_nothing_else(reader):
    assert len(reader.named("script")) in (1, 2)  # one of them is data of the graph
    assert not reader.named("i")
    assert not reader.named("b")
    assert not any(key.startswith("on") for _, attributes in reader.elements for key in attributes)


def test_the_page_has_what_screen_readers_need(reader):
    assert reader.named("html")[0]["lang"] == "en"
    assert len(reader.named("h1")) == len(reader.named("main")) == 1
    assert re.search("<title>[^<]+</title><style>", reader.page)
    assert reader.named("a")[0]["class"] == "skip"
    n_tables = len(reader.named("table"))
    assert n_tables == len(reader.named("caption")) > 0
    assert all(a.get("scope") in ("row", "col") for a in reader.named("th"))
    pictures = reader.named("svg")
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in pictures)
    levels = [int(name[1]) for name, _ in reader.elements if re.fullmatch("h[1-6]", name)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_no_number_leaks_as_nan_or_inf(reader):
    words = " ".join(reader.text).split()
    assert not {"nan", "inf", "NaN", "None", "nan%"} & set(words)
    assert not re.search(r'="[^"]*\bnan\b', reader.page)


def test_hostile_names_are_shown_as_they_are():
    reader = Reader(render(made_facts()))
    shown = " ".join(reader.text)
    for name in HOSTILE:
        assert name in shown
    assert "site <0>" in shown
    data = next(json.loads(s) for s in reader.scripts if s.lstrip().startswith("[{"))
    assert [d["name"] for d in data] == [*HOSTILE, "<out>&come"]


def test_the_script_is_the_one_that_the_policy_allows():
    reader = Reader(render(made_facts()))
    digest = base64.b64encode(hashlib.sha256(reader.scripts[-1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in reader.named("meta")[1]["content"]


def text_of(**case):
    return " ".join(" ".join(Reader(render(made_facts(**case))).text).split())


def test_new_sites_outside_the_sources_are_called_so():
    said = text_of(new_sites=("far", "near"))
    assert "far lies outside the sites" in said
    assert "far is unlike all of them in" in said
    assert "near lies within the range" in said


def test_a_single_source_is_called_a_limit():
    said = text_of(n_sites=1)
    assert "learned from a single site" in said
    assert "lies within the range" not in said


def test_without_assessment_the_reader_is_told_how_to_get_one():
    assert "dapdag fit DATA --assess" in text_of(with_assessment=False)
    said = text_of(n_sites=3)
    assert "site <0> *" in said
    assert "Compared with 1 other method" in said


def test_assessments_are_means_over_replicates():
    facts = made_facts(n_sites=2)
    scores = facts.assessment
    own = scores[(scores["method"] == "dapdag") & (scores["metric"] == "auc")]
    expected = own.groupby("target")["value"].mean()
    said = " ".join(Reader(render(facts)).text)
    assert all(f"{value:.3f}" in said for value in expected)


def test_errors_in_both_directions_do_not_cancel():
    facts = made_facts(n_sites=2)
    scores = facts.assessment.query("method == 'dapdag' and metric == 'auc'").copy()
    scores["metric"] = "calibration"
    scores["value"] = np.where(scores["target"] == "site <0>", 0.4, -0.5)
    page = render(replace(facts, assessment=scores))
    assert "<strong>±0.450</strong>" in page


def test_an_assessment_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="lacks the column.*metric"):
        replace(made_facts(), assessment=pd.DataFrame({"target": ["a"]}))


def test_warnings_while_predicting_are_told():
    assert "column '<x>': 2 cell(s) hold a value that no source has" in text_of()


def test_predictions_are_summed_up_as_they_are():
    facts = made_facts()
    said = " ".join(Reader(render(facts)).text)
    assert f"On average {percent(float(facts.new.mean.mean()))}" in said
    numbers = made_facts(classes=None)
    said = " ".join(Reader(render(numbers)).text)
    assert f"The median prediction is {number(float(np.median(numbers.new.mean)))}" in said


def test_large_graphs_are_drawn_around_the_label():
    facts = made_facts(names=[f"c{k}" for k in range(200)], density=0.03)
    drawn = drawn_part(facts.graph, facts.label.name)
    assert len(drawn.graph) <= MAX_NODES + 1
    assert facts.label.name in drawn.graph
    assert nx.is_weakly_connected(facts.graph.subgraph(drawn.graph))
    assert drawn.nodes_left_out == len(facts.graph) - len(drawn.graph)
    assert f"{drawn.nodes_left_out} variables farther from the label" in render(facts)


def luminance(color):
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def test_colours_have_the_contrast_of_wcag_aa_in_both_schemes():
    style = files("dapdag.report").joinpath("style.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\n\s*\}", style, re.S)
    schemes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks[:2]]
    texts = ("ink", "muted", "accent", "green", "red")
    grounds = ("bg", "soft", "good-bg", "bad-bg", "note-bg", "band")
    pairs = [(t, g) for t in ("ink",) for g in grounds] + [
        (t, g) for t in texts for g in ("bg", "soft")
    ]
    for colors in schemes:
        for text, ground in [*pairs, ("on-green", "green")]:
            high, low = sorted((luminance(colors[text]), luminance(colors[ground])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)
        for graphic in ("fill", "purple", "accent"):
            pair = sorted((luminance(colors[graphic]), luminance(colors["bg"])), reverse=True)
            assert (pair[0] + 0.05) / (pair[1] + 0.05) >= 3.0, graphic


def test_markup_escapes_everything_but_markup():
    assert tag("p", "<b>", Markup("<br>"), title='"') == '<p title="&quot;">&lt;b&gt;<br></p>'
    assert tag("p", None, ["a", 1], hidden=True, id=None) == "<p hidden>a1</p>"
    assert "&lt;x&gt;" in table(["<x>"], [["<x>"]], "<x>")


def test_every_new_site_is_named_on_a_crowded_map():
    points = [(100.0, 100.0)] * 6
    names = [(f"site {k}", "new" if k > 3 else "source") for k in range(6)]
    written = "".join(write_names(points, names, 300.0))
    assert "site 4" in written
    assert "site 5" in written


def test_the_first_pages_come_before_the_appendix():
    page = render(made_facts())
    order = ["In short", "The new site beside", "Predictions and how", "cannot tell", "Appendix"]
    places = [page.index(f"{title}") for title in order]
    assert places == sorted(places)
    assert page.index('id="sites"') > page.index('id="appendix"')


def test_the_new_site_stands_first_in_the_table_of_characteristics():
    facts = made_facts(n_sites=12)
    page = render(facts)
    head = page[page.index("Characteristics by site") :]
    head = head[: head.index("</thead>")]
    names = ["north", "All known sites", "Difference (sd)", "site &lt;0&gt;", "site &lt;3&gt;"]
    places = [head.index(name) for name in names]
    assert places == sorted(places) and "site &lt;4&gt;" not in head
    assert "8 more known sites are in “all”" in page
    # (0.5 − 0.2) / sqrt((1² + 1.1²) / 2), all sources being alike
    assert "+0.29" in page


def test_of_two_levels_the_one_is_named_whose_share_is_shown():
    facts = made_facts(names=["smoker", "b", "c", "d", "e", "f"])
    two = Column("smoker", "binary", ("no", "yes"), None)
    cells = tuple((0.6, 0.4) if k == 0 else (0.0, 1.0) for k in range(6))
    sources = tuple(replace(s, cells=cells) for s in facts.record.sources)
    new = replace(facts.new, cells=tuple(cells for _ in facts.new.cells))
    page = render(
        replace(
            facts,
            columns=(two, *facts.columns[1:]),
            record=replace(facts.record, sources=sources),
            new=new,
        )
    )
    row = page[page.index("smoker = yes") :]
    assert "40\u202f%" in row[: row.index("</tr>")]


def test_extreme_rows_are_called_by_their_names():
    facts = made_facts()
    page = render(facts)
    for k in (int(facts.new.mean.argmax()), int(facts.new.mean.argmin())):
        assert f"patient &lt;{k}&gt;" in page


def test_a_model_that_tells_nobody_apart_is_called_so():
    facts = made_facts()
    assert "hardly tells these rows apart" not in render(facts)
    facts.new.mean[:] = np.linspace(0.15, 0.19, facts.new.rows)
    assert "Nearly everyone gets 15\u202f% to 19\u202f%" in render(facts)


def test_expected_numbers_of_all_classes_are_given():
    facts = made_facts(classes=("neg", "pos", "void"))
    facts.new.probability[:] = [0.94, 0.05, 0.01]
    page = render(facts)
    assert "56 neg, 3.0 pos and 0.6 void" in page


def test_a_model_without_a_share_of_e_is_called_so():
    facts = made_facts()
    assert "does not adapt to sites" not in render(facts)
    facts.prediction["adapts"] = False
    page = render(facts)
    assert "This model does not adapt to sites; E is descriptive." in page
    assert "E has no share in this model" in page


def test_a_graph_without_arrows_is_not_drawn():
    page = render(made_facts(density=0.0))
    assert 'id="graph"' not in page and "none that helps enough" in page


def test_long_names_are_shortened_in_tables():
    page = render(made_facts(names=["x" * 3000, "b"]))
    assert "x" * 79 + "…" in page


def test_coverage_is_that_of_sites_that_were_left_out():
    facts = made_facts(classes=None)
    scores = facts.assessment
    own = scores[(scores["metric"] == "coverage") & (scores["method"] == "dapdag")]
    page = render(facts)
    part = page[page.index("intervals at sites that were left out") :]
    assert percent(own.groupby("target")["value"].mean().mean()) in part[: part.index("</table>")]
    without = render(made_facts(classes=None, with_assessment=False))
    assert "How many outcomes the intervals hold was not assessed" in without


def test_expected_scores_and_why_sites_differ_stand_beside_the_predictions():
    text = text_of(with_truth=False)
    assert "AUC 0.600 0.500 to 0.700" in text or "AUC 0.6 0.5 to 0.7" in text
    assert "highest at <i>north</i> (25" in text and "mechanism of <x> -0.05 ± 0.02" in text
    assert "calibration in the large" in text_of(classes=None)
    alone = text_of(new_sites=("here",))
    assert "Expected performance" in alone and "Why the sites differ" not in alone
    assert "Expected performance" not in text_of(new_sites=())
