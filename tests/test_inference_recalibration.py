"""Recalibration of the class prevalence at a new site by its slope over left-out sources."""

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGClassifier
from dapdag.inference.recalibration import (
    Prevalence,
    all_classes,
    calibration_slope,
    centred_log,
    site_proportions,
)


def two(logits):
    """Proportions of two classes."""
    return all_classes(1 / (1 + np.exp(-np.asarray(logits, dtype=float)))[..., None])


def log_prevalence(logits):
    return centred_log(two(logits))


def site(n=2000, seed=0, mean=1.0):
    return two(np.random.default_rng(seed).normal(mean, 1.5, n))


def test_the_slope_of_accurate_predictions_is_one():
    was = log_prevalence([-1, -0.5, 0.3, 0.8, 0.1])
    assert calibration_slope(was, was) == 1.0
    assert calibration_slope(0.5 * was, was) == 1.0  # and not more than that


def test_the_slope_of_useless_predictions_falls_with_the_number_of_sites():
    rng = np.random.default_rng(0)
    seemed = rng.normal(0, 0.5, 12)
    was = 0.02 * rng.normal(size=12)
    found = [
        calibration_slope(log_prevalence(seemed[:n]), log_prevalence(was[:n])) for n in (3, 6, 12)
    ]
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.1
    assert calibration_slope(log_prevalence(seemed), log_prevalence(-seemed)) < 0.2


def test_predictions_twice_too_far_have_slope_one_half():
    seemed = np.random.default_rng(0).normal(0, 0.5, 40)
    assert calibration_slope(log_prevalence(seemed), log_prevalence(seemed / 2)) == pytest.approx(
        0.5, abs=0.05
    )


@pytest.mark.parametrize("n", [0, 1])
def test_without_evidence_the_slope_is_one(n):
    assert calibration_slope(log_prevalence(np.ones(n)), log_prevalence(np.zeros(n))) == 1.0


def test_sites_without_any_deviation_leave_the_slope_at_one():
    same = log_prevalence(np.zeros(4))
    assert calibration_slope(same, same) == 1.0


@pytest.mark.parametrize("classes", [2, 3])
def test_the_deviation_of_a_site_is_multiplied_by_the_slope(classes):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (20000, classes)) + np.linspace(0, 1.5, classes)
    found = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    shares = np.full(classes, 1 / classes)
    usual = centred_log(shares)
    for slope in (0.0, 0.5):
        moved = Prevalence(shares, usual, slope).applied(found)
        np.testing.assert_allclose(moved.sum(1), 1.0)
        expected = slope * centred_log(found.mean(0))
        np.testing.assert_allclose(centred_log(moved.mean(0)), expected, atol=0.03)
        for k in range(classes):  # the order of the rows within the site is unchanged
            order = np.argsort(found[:, k] / found[:, 0]) if k else []
            assert (np.diff((moved[:, k] / moved[:, 0])[order]) >= 0).all()


def test_slope_one_changes_nothing():
    found = site()
    assert Prevalence(two(0.0), log_prevalence(0.0), 1.0).applied(found) is found


def test_a_site_like_the_sources_stays_as_it_is():
    found = site()
    usual = centred_log(found.mean(0))
    np.testing.assert_allclose(
        Prevalence(found.mean(0), usual, 0.0).applied(found), found, atol=1e-9
    )


def test_a_single_row_hardly_counts_as_a_deviation():
    prevalence = Prevalence(two(0.0), log_prevalence(0.0), 0.0)
    sure = two([3.0])
    assert abs(prevalence.applied(sure) - sure).max() < 0.01
    many = np.repeat(sure, 2000, axis=0)
    assert abs(prevalence.applied(many) - sure).max() > 0.35


def test_rows_that_are_certain_stay_finite():
    found = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] * 100)
    moved = Prevalence(two(0.0), log_prevalence(0.0), 0.0).applied(found)
    np.testing.assert_allclose(moved, found)


def test_no_rows_give_no_rows():
    assert Prevalence(two(0.0), log_prevalence(0.0), 0.0).applied(np.zeros((0, 2))).shape == (0, 2)


def test_proportions_of_few_rows_are_smoothed_towards_the_sources():
    usual = two(0.0)
    assert abs(site_proportions(two([9.0]), usual) - usual).max() < 0.02
    assert abs(site_proportions(two(np.full(5000, 2.0)), usual) - two(2.0)).max() < 0.01


SMALL = {"n_members": 1, "hidden": 8, "max_epochs": 60, "random_state": 0}


def shifted_sites(label_follows, n=150):
    """Sites whose feature has another mean each; the label follows it, or only the rest of it."""
    rng = np.random.default_rng(0)
    parts = []
    for code, mean in enumerate([0.0, -1.5, 1.5, -0.8, 0.8, -1.2, 1.2, 0.4, -0.4, 1.6]):
        x = rng.normal(mean, 1, n)
        z = rng.normal(size=n)
        logit = 2 * (x if label_follows else x - mean) + z
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "ill", "well")
        parts.append(pd.DataFrame({"x": x, "z": z, "y": y, "site": code}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module", params=[True, False], ids=["follows", "does not"])
def label_follows(request):
    return request.param


def test_the_slope_says_whether_prevalence_follows_the_features(label_follows):
    table = shifted_sites(label_follows)
    known, new = table[table["site"] < 9], table[table["site"] == 9]
    est = DAPDAGClassifier(**SMALL)
    est.fit(known[["x", "z"]], known["y"], sample_domain=known["site"])
    found = est.fitted_.model.prevalence
    assert found.slope > 0.9 if label_follows else found.slope < 0.9
    ill = est.predict_proba(new[["x", "z"]])[:, list(est.classes_).index("ill")].mean()
    assert ill == pytest.approx((new["y"] == "ill").mean(), abs=0.12)
