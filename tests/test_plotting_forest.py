"""Forest plots, decision curves and flexible calibration curves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")

from dapdag.evaluate import STATISTICS, leave_one_domain_out
from dapdag.plotting import (
    plot_calibration_curve,
    plot_decision_curve,
    plot_forest,
    style,
)
from dapdag.plotting.forest import forest_limits, forest_ticks


@pytest.fixture(scope="module")
def validation():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=400)})
    y = (X["x"] + rng.normal(size=400) > 0).astype(int)
    site = np.repeat(["a", "b", "c", "d"], 100)
    found = leave_one_domain_out({"logistic": LogisticRegression()}, X, y, site, distances=False)
    return found.validation()


def test_forest_shows_sites_mean_and_next_site(validation):
    ax = plot_forest(validation)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[:4] == ["a", "b", "c", "d"] and names[4].startswith("mean")
    squares = [c.get_offsets()[0][0] for c in ax.collections]
    estimates = validation.of("logistic", "c_statistic")["estimate"]
    assert squares == pytest.approx(list(estimates))
    pooled = validation.summary().loc[("logistic", "c_statistic")]
    corners = ax.patches[0].get_xy()[:, 0]
    assert corners.min() == pytest.approx(pooled["low"])
    assert corners.max() == pytest.approx(pooled["high"])
    bar = next(line for line in ax.lines if line.get_color() == style.VERMILLION)
    ends = np.clip([pooled["prediction_low"], pooled["prediction_high"]], *ax.get_xlim())
    assert bar.get_xdata() == pytest.approx(ends)
    assert any("events / rows" in text.get_text() for text in ax.texts)


def test_text_of_the_forest_stays_in_the_figure(validation):
    ax = plot_forest(validation, "oe_ratio")
    ax.figure.canvas.draw()
    width = ax.figure.bbox.width
    assert all(text.get_window_extent().x1 <= width for text in ax.texts)


def test_half_and_twice_the_expected_events_are_as_far_from_one(validation):
    ax = plot_forest(validation, "oe_ratio")
    assert ax.get_xscale() == "log"
    ticks = [float(label.get_text()) for label in ax.get_xticklabels()]
    low, high = ax.get_xlim()
    assert len(ticks) > 1 and all(low <= t <= high for t in ticks) and 1.0 in ticks
    assert plot_forest(validation, "calibration_slope").get_xscale() == "linear"


@pytest.mark.parametrize(
    "limits, ticks",
    [((0.4, 2.6), [0.5, 1, 2]), ((0.9, 1.3), [0.9, 1, 1.1, 1.2, 1.3]), ((0.02, 90), [0.1, 1, 10])],
)
def test_ticks_of_a_ratio_are_round_numbers(limits, ticks):
    assert forest_ticks(limits, STATISTICS["oe_ratio"]) == pytest.approx(ticks)


def test_a_site_without_an_event_stays_on_the_axis(validation):
    sites = validation.of("logistic", "oe_ratio").copy()
    sites.loc["a", ["estimate", "low"]] = 0.0
    pooled = validation.summary().loc[("logistic", "oe_ratio")]
    low, high = forest_limits(sites, pooled, STATISTICS["oe_ratio"])
    assert 0 < low < high < np.inf


def test_forest_of_one_site():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=90)})
    y = (X["x"] + rng.normal(size=90) > 0).astype(int)
    found = leave_one_domain_out(
        {"m": LogisticRegression()}, X, y, np.repeat([0, 1, 2], 30), targets=[1]
    )
    ax = plot_forest(found.validation())
    assert not ax.patches


def test_decision_curve(validation):
    ax = plot_decision_curve(validation, "b")
    shown = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert list(shown) == ["logistic", "treat all", "treat none"]
    assert shown["logistic"] == pytest.approx(validation.decision_curve("b")["net_benefit"])


def test_calibration_curve(validation):
    ax = plot_calibration_curve(validation, "c")
    curve = validation.calibration_curve("c")
    assert any(
        len(line.get_ydata()) == len(curve) and np.allclose(line.get_ydata(), curve["observed"])
        for line in ax.lines
    )
    assert ax.get_title("left") == "c: calibration of logistic"
