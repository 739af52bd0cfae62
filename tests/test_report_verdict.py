"""The verdict compares a model with its references on sites that were left out."""

import numpy as np
import pandas as pd
import pytest
from report_facts import made_facts

from dapdag.report.page import render
from dapdag.report.verdict import verdict_json, verdict_of


def assessed(gap, metric="log_loss", constant="prevalence", n=8):
    """Ours is lower than the constant by `gap`, give or take a little, and like the regression."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        base = rng.uniform(0.4, 0.6)
        for method, value in (
            ("dapdag", base - gap + 0.01 * rng.normal()),
            (constant, base),
            ("linear", base - gap + 0.01 * rng.normal()),
        ):
            rows.append({"target": f"s{k}", "method": method, "metric": metric, "value": value})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "gap, good, word",
    [(0.1, True, "better than"), (-0.1, False, "worse than"), (0.001, False, "better than the")],
)
def test_the_verdict_has_figures_and_an_interval(gap, good, word):
    verdict = verdict_of(assessed(gap))
    constant, linear = verdict.comparisons
    assert verdict.is_good is good
    assert constant.difference == pytest.approx(-gap, abs=0.02)
    assert constant.low < constant.difference < constant.high
    assert word in verdict.sentences()[0] and "95 % confidence interval" in verdict.sentences()[0]
    assert not linear.better and "regression" in verdict.sentences()[1]
    assert verdict_json(verdict)["comparisons"][0]["reference"] == "prevalence"


def test_the_interval_is_that_of_paired_differences():
    table = assessed(0.05)
    wide = table.pivot_table("value", index="target", columns="method")
    gap = (wide["dapdag"] - wide["prevalence"]).to_numpy()
    half = 2.364624 * gap.std(ddof=1) / np.sqrt(8)  # t with 7 degrees of freedom
    found = verdict_of(table).comparisons[0]
    assert (found.low, found.high) == pytest.approx((gap.mean() - half, gap.mean() + half))


def test_a_single_site_has_no_interval_and_is_no_proof():
    verdict = verdict_of(assessed(0.3, n=1))
    assert not verdict.is_good and "interval" not in verdict.sentences()[0]
    assert verdict_json(verdict)["comparisons"][0]["low"] is None


def test_without_references_there_is_no_verdict():
    table = assessed(0.1)
    assert verdict_of(table[table["method"] == "dapdag"]) is None
    assert verdict_of(None) is None


def shown(assessment):
    facts = made_facts()
    object.__setattr__(facts, "assessment", assessment)
    page = render(facts)
    return page[: page.index("The new site beside")]


def test_the_report_begins_with_the_verdict_in_red_or_green():
    bad, good = shown(assessed(-0.1)), shown(assessed(0.1))
    assert bad.index("worse than the share of events") < bad.index("Predicted on average")
    assert bad.count('<li class="bad">') > good.count('<li class="bad">')
    assert '<li class="fine"><span>Over 8' in good
