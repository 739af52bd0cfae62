"""Validation in the report: left-out sites, the new site, and the checklist for the article."""

import numpy as np
import pandas as pd
import pytest
from chromium import Page, find_chromium, running
from report_facts import made_facts
from sklearn.linear_model import LogisticRegression, Ridge

pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")

from dataclasses import replace

from dapdag.evaluate import leave_one_domain_out
from dapdag.evaluate.assessment import assessment_of
from dapdag.evaluate.clinical.by_site import validation_of
from dapdag.evaluate.clinical.stored import from_assessment, score_rows
from dapdag.report import tripod_table
from dapdag.report.page import render
from dapdag.report.sections.tripod import items
from dapdag.report.sections.validation import expected_rows, validation
from dapdag.storage.scalars import decode_frame, encode_frame


def assessed(classes=True, sites=6, rows=50):
    rng = np.random.default_rng(0)
    site = np.repeat([f"s{k}" for k in range(sites)], rows)
    X = pd.DataFrame(rng.normal(size=(len(site), 2)), columns=["a", "b"])
    z = X["a"] - X["b"] + np.repeat(rng.normal(0, 0.5, sites), rows)
    y = (z + rng.logistic(size=len(z)) > 0).astype(int) if classes else z + rng.normal(size=len(z))
    methods = {"dapdag": LogisticRegression() if classes else Ridge()}
    return leave_one_domain_out(methods, X, y, site, distances=False)


@pytest.fixture(scope="module")
def found():
    return assessed()


def with_validation(found, **options):
    facts = made_facts(**options)
    return replace(facts, validated=from_assessment(assessment_of(found, "dapdag")))


def test_an_assessment_comes_back_from_a_file(found):
    table = assessment_of(found, "dapdag")
    again = decode_frame(encode_frame(table, "assessment_"))
    stored, there = from_assessment(again), found.validation()
    assert stored.event == there.event and stored.threshold == there.threshold
    pd.testing.assert_frame_equal(
        stored.summary, there.summary(), check_dtype=False, check_index_type=False
    )
    known = found.scores.dropna(axis=1, how="all")
    pd.testing.assert_frame_equal(score_rows(again), known, check_dtype=False)
    assert stored.calibration["observed"].between(0, 1).all()
    assert stored.decision["treat_all"].max() == pytest.approx(there.outcomes["y"].mean(), abs=0.02)


def test_no_table_of_statistics_is_cut_on_paper(found, tmp_path):
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium found; install it, or name one in DAPDAG_CHROMIUM")
    path = tmp_path / "report.html"
    path.write_text(render(with_validation(found, classes=["alive", "died"])), "utf-8")
    with running(program) as browser:
        page = Page(browser, path)
        page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        page.call("Emulation.setEmulatedMedia", media="print")
        page.resize(680)  # A4 between its margins
        widths = "[...document.querySelectorAll('table')].map(t => t.offsetWidth)"
        assert max(page.run(widths)) <= 680
        page.close()


def test_no_label_of_a_row_is_kept(found):
    table = assessment_of(found, "dapdag")
    n_rows = len(found.predictions)
    assert len(table) < n_rows and "label" not in table


def test_left_out_sites_are_shown(found):
    page = validation(with_validation(found, classes=["alive", "died"]))
    stored = from_assessment(assessment_of(found, "dapdag"))
    for site, row in stored.of("dapdag", "c_statistic").iterrows():
        assert site in page
        assert f"{row['estimate']:.2f} ({row['low']:.2f}, {row['high']:.2f})" in page
    pooled = stored.summary.loc[("dapdag", "oe_ratio")]
    assert f"{pooled['prediction_low']:.2f} to {pooled['prediction_high']:.2f}" in page
    assert page.count("<svg") == 4  # two forests, calibration, decision
    assert "Decision curve" in page and "says little" not in page


def test_calibration_is_shown_on_left_out_sites_where_it_was_kept(found):
    from dapdag.report.sections.calibration import calibration

    facts = with_validation(found)
    page = calibration(facts)
    assert "Sites that were left out" in page and "held out of training" not in page
    assert "held out of training" in calibration(replace(facts, validated=None))


def test_few_sites_are_said_to_be_few():
    page = validation(with_validation(assessed(sites=3), classes=["alive", "died"]))
    assert "With 3 sites the prediction interval says little" in page


def test_expected_share_moves_with_calibration_in_the_large(found):
    facts = with_validation(found, classes=["alive", "died"])
    (row, *_) = expected_rows(facts)
    low, high = (float(v.split()[0].strip("<>\u202f%")) for v in row[3].split(" to "))
    middle = float(row[2].strip("\u202f%"))
    assert low < middle < high


def test_numbers():
    facts = with_validation(assessed(classes=False), classes=None)
    page = validation(facts)
    assert "R²" in page and "Decision curve" not in page
    assert expected_rows(facts)


def test_new_site_with_outcomes():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 300)
    y = (rng.random(300) < p).astype(float)
    own = pd.DataFrame({"target": "york", "method": "model", "y": y, "p": p})
    both = pd.concat([own.assign(method="prevalence", p=0.5), own], ignore_index=True)
    facts = made_facts(classes=["alive", "died"])
    new = replace(facts.new, validation=validation_of(both, "classification", "m", "died", 0.3))
    page = validation(replace(facts, new=new))
    assert (
        "The model is better than giving everyone the sources\u2019 share".replace(
            "\u2019", "&#x27;"
        )
        in page
    )
    assert page.count("<svg") == 2 and "calibration slope" in page


def test_without_anything_the_reader_is_told_what_to_do():
    page = validation(made_facts(with_assessment=False))
    assert "dapdag fit --assess" in page and "--label COLUMN" in page


class TestChecklist:
    def test_what_is_known_is_filled_in(self, found):
        facts = with_validation(found, classes=["alive", "died"])
        known = {item.topic: item.known for item in items(facts)}
        assert known["Sources of data"].startswith(f"{len(facts.record.sources)}")
        assert str(facts.columns[0].name) in known["Predictors"]
        assert "next site" in known["Performance and heterogeneity"]
        assert known["External validation"].startswith("Not done")
        assert known["Interpretation and limits"] is None
        counted = {i.topic: i.known for i in items(replace(facts, classes=[0.0, 1.0]))}
        assert counted["Outcome"].endswith(": 0 and 1")

    def test_it_can_be_had_as_a_table(self, monkeypatch):
        facts = made_facts(with_assessment=False)
        asked = []
        monkeypatch.setattr(
            "dapdag.report.checklist.gather", lambda *given: asked.append(given) or facts
        )
        table = tripod_table("model", "X", "site", "y")
        assert asked == [("model", "X", "site", "y")]
        assert table.loc["Sources of data", "software"] == items(facts)[2].known
        assert table.loc["Interpretation and limits", "software"] == ""
        assert (table["software"].ne("") | table["authors"].ne("")).all()

    def test_what_is_left_is_marked(self):
        facts = made_facts(with_assessment=False)
        assert all(item.known or item.authors for item in items(facts))
        assert {i.topic: i for i in items(facts)}["Internal–external validation"].known == (
            "Not done: dapdag fit --assess"
        )
        assert "For the article: TRIPOD checklist" in render(facts)
