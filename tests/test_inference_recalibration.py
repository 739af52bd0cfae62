"""Recalibration at a new site: slope and variance of levels over left-out sources."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGClassifier
from dapdag.inference.recalibration import (
    Calibration,
    LeftOutLevel,
    all_classes,
    calibration_slope,
    centred_log,
    learn_calibration,
    shifted,
    site_proportions,
)
from dapdag.inference.row_noise import RowNoise


def two(logits):
    """Proportions of two classes."""
    return all_classes(1 / (1 + np.exp(-np.asarray(logits, dtype=float)))[..., None])


def log_prevalence(logits):
    return centred_log(two(logits))


def applied(overall, level, slope, found):
    calibration = Calibration(level, slope, overall=overall)
    return shifted(found, calibration.offset(found))


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
        moved = applied(shares, usual, slope, found)
        np.testing.assert_allclose(moved.sum(1), 1.0)
        expected = slope * centred_log(found.mean(0))
        np.testing.assert_allclose(centred_log(moved.mean(0)), expected, atol=0.03)
        for k in range(classes):  # the order of the rows within the site is unchanged
            order = np.argsort(found[:, k] / found[:, 0]) if k else []
            assert (np.diff((moved[:, k] / moved[:, 0])[order]) >= 0).all()


def test_slope_one_changes_nothing():
    found = site()
    assert applied(two(0.0), log_prevalence(0.0), 1.0, found) is found


def test_a_site_like_the_sources_stays_as_it_is():
    found = site()
    usual = centred_log(found.mean(0))
    np.testing.assert_allclose(applied(found.mean(0), usual, 0.0, found), found, atol=1e-9)


def test_a_single_row_hardly_counts_as_a_deviation():
    usual = two(0.0), log_prevalence(0.0), 0.0
    sure = two([3.0])
    assert abs(applied(*usual, sure) - sure).max() < 0.01
    many = np.repeat(sure, 2000, axis=0)
    assert abs(applied(*usual, many) - sure).max() > 0.35


def test_rows_that_are_certain_stay_finite():
    found = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] * 100)
    moved = applied(two(0.0), log_prevalence(0.0), 0.0, found)
    np.testing.assert_allclose(moved, found)


def test_no_rows_give_no_rows():
    assert applied(two(0.0), log_prevalence(0.0), 0.0, np.zeros((0, 2))).shape == (0, 2)


def test_proportions_of_few_rows_are_smoothed_towards_the_sources():
    usual = two(0.0)
    assert abs(site_proportions(two([9.0]), usual) - usual).max() < 0.02
    assert abs(site_proportions(two(np.full(5000, 2.0)), usual) - two(2.0)).max() < 0.01


def numbers(tau, ratio=1.0, n_sites=12, n=400, seed=0):
    """Left-out sources whose level is off by N(0, tau²); errors have `ratio` times the variance
    that is stated."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n_sites):
        predicted = rng.normal(size=(n, 1)) + rng.normal()
        error = np.sqrt(ratio) * 0.5 * rng.normal(size=(n, 1)) + tau * rng.normal()
        out.append(LeftOutLevel(predicted + error, predicted, np.full(n, 0.25)))
    return out


def test_the_variance_between_sites_is_what_chance_does_not_explain():
    found = np.mean(
        [learn_calibration(numbers(0.4, seed=s), np.zeros(1), None).tau2 for s in range(20)]
    )
    assert found == pytest.approx(0.16, rel=0.25)
    none = [learn_calibration(numbers(0.0, seed=s), np.zeros(1), None).tau2 for s in range(20)]
    assert np.mean(none) < 0.002


def test_the_slope_is_not_judged_on_the_site_that_it_was_learned_from():
    """What a slope of few sites misses at the next one is variance between sites."""
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sites = []
        for _ in range(9):
            seen, off = rng.normal(), 0.5 * rng.normal()
            p = two(seen + rng.normal(size=200))
            level = 0.5 * seen + off
            y = (rng.random(200) < two(level + rng.normal(size=200))[:, 1]).astype(float)
            sites.append(LeftOutLevel(all_classes(y[:, None]), p))
        usual = np.mean([s.observed.mean(0) for s in sites[:8]], axis=0)
        found = learn_calibration(sites[:8], centred_log(usual), usual)
        new = sites[8]
        moved = shifted(new.predicted, found.offset(new.predicted)).mean(0)[1]
        shown = new.observed.mean(0)[1]
        gap = np.log(shown / (1 - shown)) - np.log(moved / (1 - moved))
        within = np.sqrt(found.between + 1 / (200 * moved * (1 - moved)))
        covered.append(abs(gap) < 1.895 * within)  # Student's t, 7 degrees of freedom
    assert np.mean(covered) > 0.85


def test_the_ratio_compares_errors_within_sites_with_what_is_stated():
    for ratio, expected in ((3.0, 3.0), (1.0, 1.0), (0.3, 1.0)):
        found = learn_calibration(numbers(0.4, ratio), np.zeros(1), None).ratio
        assert found == pytest.approx(expected, rel=0.1)


def test_the_variance_of_log_odds_is_the_same_for_two_classes_and_for_logits():
    rng = np.random.default_rng(0)
    sites = []
    for _ in range(40):
        p = 1 / (1 + np.exp(-rng.normal(0, 1, 3000)))
        shift = 0.7 * rng.normal()
        q = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + shift)))
        y = (rng.random(3000) < q).astype(float)
        sites.append(LeftOutLevel(all_classes(y[:, None]), all_classes(p[:, None])))
    found = learn_calibration(sites, np.zeros(2), np.full(2, 0.5))
    # the log-odds of the prevalence move less than those of the rows
    assert 0.2 < found.tau2 < 0.49 * 1.2


def test_intervals_of_few_sites_are_those_of_students_t():
    known = Calibration(np.zeros(1), tau2=1.0, n_sites=4)
    variance = np.array([known.between, 1e6])
    half = known.half_width(0.9, np.zeros(2), variance)
    found = half / np.sqrt(variance)
    assert found[0] == pytest.approx(2.3534, abs=1e-3)  # three degrees of freedom
    assert found[1] == pytest.approx(1.6449, abs=1e-3)
    # a factor on the variance of a row leaves the degrees of freedom as they are
    noisy = replace(known, row_noise=RowNoise(np.zeros(1), np.log([4.0])))
    np.testing.assert_allclose(noisy.half_width(0.9, np.zeros(2), 4 * variance), 2 * half)


@pytest.mark.parametrize("n", [0, 1])
def test_without_left_out_sources_nothing_is_added(n):
    found = learn_calibration(numbers(1.0)[:n], np.ones(1), None)
    assert (found.slope, found.between, found.ratio) == (1.0, 0.0, 1.0)
    half = found.half_width(0.9, np.zeros(3), np.ones(3))
    np.testing.assert_allclose(half, 1.6449, atol=1e-3)


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


def test_predicted_prevalence_follows_the_features_only_if_it_does_at_the_sources(label_follows):
    table = shifted_sites(label_follows)
    known, new = table[table["site"] < 9], table[table["site"] == 9]
    est = DAPDAGClassifier(**SMALL)
    est.fit(known[["x", "z"]], known["y"], sample_domain=known["site"])
    assert est.between_sites_["slope"] > 0.9 or not label_follows
    ill = est.predict_proba(new[["x", "z"]])[:, list(est.classes_).index("ill")].mean()
    assert ill == pytest.approx((new["y"] == "ill").mean(), abs=0.12)


def drawn_classes(rng, classes, tau, n=150):
    """A left-out source whose rows have log-odds that are off, and by how much its level is."""
    logits = rng.normal(0, 1.5, (n, classes)) + rng.normal(0, 0.7, classes)
    predicted, true = (
        np.exp(own) / np.exp(own).sum(1, keepdims=True)
        for own in (logits, logits + tau * rng.normal(size=classes))
    )
    drawn = (true.cumsum(1) < rng.random((n, 1))).sum(1).clip(0, classes - 1)
    off = centred_log(true.mean(0)) - centred_log(predicted.mean(0))
    # mean square of the log-odds of two of the classes
    square = np.mean((off[:, None] - off)[np.triu_indices(classes, 1)] ** 2)
    return LeftOutLevel(np.eye(classes)[drawn], predicted), square


@pytest.mark.parametrize("tau", [0.0, 0.4])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_variance_between_sites_of_classes_is_what_sampling_does_not_explain(classes, tau):
    rng = np.random.default_rng(0)
    overall, found, true = np.full(classes, 1 / classes), [], []
    for _ in range(20):
        sites, squares = zip(*[drawn_classes(rng, classes, tau) for _ in range(30)], strict=True)
        found.append(learn_calibration(sites, np.zeros(classes), overall).tau2)
        true.append(np.mean(squares))
    # sampling alone has a variance of about 0.03; cut off at 0, the estimate is a little too high
    assert np.mean(found) == pytest.approx(np.mean(true), rel=0.1, abs=0.004)
