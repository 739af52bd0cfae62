"""Shares of the classes at a new site: how much of what is foretold to believe."""

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGClassifier
from dapdag.inference.recalibration import Levels, all_classes, belief_in, level, site_shares


def two(logits):
    """Shares of two classes."""
    return all_classes(1 / (1 + np.exp(-np.asarray(logits, dtype=float)))[..., None])


def levels(shares):
    return level(two(shares))


def site(n=2000, seed=0, mean=1.0):
    return two(np.random.default_rng(seed).normal(mean, 1.5, n))


def test_what_always_came_true_is_believed():
    was = levels([-1, -0.5, 0.3, 0.8, 0.1])
    assert belief_in(was, was) == 1.0
    assert belief_in(0.5 * was, was) == 1.0  # and not more than that


def test_what_never_came_true_is_hardly_believed_and_the_less_the_more_sites_say_so():
    rng = np.random.default_rng(0)
    seemed = rng.normal(0, 0.5, 12)
    was = 0.02 * rng.normal(size=12)
    found = [belief_in(levels(seemed[:n]), levels(was[:n])) for n in (3, 6, 12)]
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.1
    assert belief_in(levels(seemed), levels(-seemed)) < 0.2


def test_half_of_what_seemed_is_half_believed():
    seemed = np.random.default_rng(0).normal(0, 0.5, 40)
    assert belief_in(levels(seemed), levels(seemed / 2)) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("n", [0, 1])
def test_without_evidence_all_is_believed(n):
    assert belief_in(levels(np.ones(n)), levels(np.zeros(n))) == 1.0


def test_sites_that_all_seem_usual_say_nothing():
    same = levels(np.zeros(4))
    assert belief_in(same, same) == 1.0


@pytest.mark.parametrize("classes", [2, 3])
def test_an_unusual_site_is_moved_as_far_as_is_not_believed(classes):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (20000, classes)) + np.linspace(0, 1.5, classes)
    found = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    shares = np.full(classes, 1 / classes)
    usual = level(shares)
    for belief in (0.0, 0.5):
        moved = Levels(shares, usual, belief).applied(found)
        np.testing.assert_allclose(moved.sum(1), 1.0)
        expected = belief * level(found.mean(0))
        np.testing.assert_allclose(level(moved.mean(0)), expected, atol=0.03)
        for k in range(classes):  # nobody changes places within the site
            order = np.argsort(found[:, k] / found[:, 0]) if k else []
            assert (np.diff((moved[:, k] / moved[:, 0])[order]) >= 0).all()


def test_full_belief_changes_nothing():
    found = site()
    assert Levels(two(0.0), levels(0.0), 1.0).applied(found) is found


def test_a_usual_site_stays_as_it_is():
    found = site()
    usual = level(found.mean(0))
    np.testing.assert_allclose(Levels(found.mean(0), usual, 0.0).applied(found), found, atol=1e-9)


def test_a_row_alone_is_not_taken_for_an_unusual_site():
    levels_ = Levels(two(0.0), levels(0.0), 0.0)
    sure = two([3.0])
    assert abs(levels_.applied(sure) - sure).max() < 0.01
    many = np.repeat(sure, 2000, axis=0)
    assert abs(levels_.applied(many) - sure).max() > 0.35


def test_rows_that_are_certain_stay_finite():
    found = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] * 100)
    moved = Levels(two(0.0), levels(0.0), 0.0).applied(found)
    np.testing.assert_allclose(moved, found)


def test_no_rows_have_no_level():
    assert Levels(two(0.0), levels(0.0), 0.0).applied(np.zeros((0, 2))).shape == (0, 2)


def test_shares_of_few_rows_are_nearly_the_usual_ones():
    usual = two(0.0)
    assert abs(site_shares(two([9.0]), usual) - usual).max() < 0.02
    assert abs(site_shares(two(np.full(5000, 2.0)), usual) - two(2.0)).max() < 0.01


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


def test_sources_tell_whether_shares_follow_the_features(label_follows):
    table = shifted_sites(label_follows)
    known, new = table[table["site"] < 9], table[table["site"] == 9]
    est = DAPDAGClassifier(**SMALL)
    est.fit(known[["x", "z"]], known["y"], sample_domain=known["site"])
    found = est._fit_.model.levels
    assert found.belief > 0.9 if label_follows else found.belief < 0.9
    ill = est.predict_proba(new[["x", "z"]])[:, list(est.classes_).index("ill")].mean()
    assert ill == pytest.approx((new["y"] == "ill").mean(), abs=0.12)
