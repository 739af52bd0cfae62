"""Some labels of a new site: they move its predictions as far as sites differ, and no further."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.metrics import log_loss, r2_score
from test_site_model import answers, case, classes, mixed_rows, numbers  # noqa: F401

import dapdag
from dapdag.inference.label_learning import learn_correction, learn_weights
from dapdag.inference.labels import SiteVariation, level_scale, link, unlink

USUAL = SiteVariation(0.25, 0.04, 8)


def simulated_site(rng, intercept, slope=1.0, n=400):
    """Predicted probabilities of a site, and labels that follow others."""
    eta = rng.normal(-1.0, 1.2, n)
    y = (rng.random(n) < expit(intercept + slope * eta)).astype(float)
    return expit(eta)[:, None], y[:, None]


def test_few_sources_do_not_claim_that_sites_are_alike():
    for kind in ("binary", "continuous"):
        none, few, many = (SiteVariation.of(0.0, n, kind).intercept for n in (0, 3, 60))
        assert none > few > many > 0
    assert SiteVariation.of(0.6, 60, "binary").intercept == pytest.approx(0.6, rel=0.06)


def test_the_level_of_a_site_moves_less_than_its_rows():
    rng = np.random.default_rng(0)
    eta = rng.normal(-2, 3, 100_000)
    mean, moved = (expit(eta + a)[:, None] for a in (0.0, 0.01))
    change = (logit(moved.mean()) - logit(mean.mean())) / 0.01
    assert level_scale(mean, "binary") == pytest.approx(1 / change**2, rel=0.02)
    assert level_scale(rng.normal(size=(5, 1)), "continuous") == 1.0


@pytest.mark.parametrize("kind", ["continuous", "binary", "categorical"])
def test_the_link_has_an_inverse(kind):
    rng = np.random.default_rng(0)
    mean = {
        "continuous": rng.normal(size=(5, 1)),
        "binary": rng.random((5, 1)),
        "categorical": rng.dirichlet(np.ones(4), 5),
    }[kind]
    assert_allclose(unlink(link(mean, kind), kind), mean, atol=1e-9)


def test_few_labels_move_little_and_many_move_all_the_way():
    rng = np.random.default_rng(1)
    mean, y = simulated_site(rng, 1.0, n=2000)
    inputs = np.zeros((2000, 0))
    moved = []
    for n in (5, 2000):
        about = mean[:n], y[:n], inputs[:n]
        moved.append(learn_correction(*about, "binary", 1.0, USUAL))
    assert abs(moved[0].intercept[0]) < 0.5 < 0.85 < moved[1].intercept[0] < 1.15
    assert moved[0].intercept_variance > 10 * moved[1].intercept_variance
    assert moved[1].basis is None


def test_one_intercept_of_a_number_is_the_shrunken_mean():
    rng = np.random.default_rng(2)
    mean = np.zeros((30, 1))
    y = rng.normal(0.6, 1.0, (30, 1))
    found = learn_correction(mean, y, np.zeros((30, 0)), "continuous", 1.0, USUAL)
    assert_allclose(found.intercept, y.mean() * 30 / (30 + 1 / 0.25), rtol=1e-6)


def test_a_fit_of_its_own_needs_labels_that_ask_for_it():
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(600, 3))
    mean = np.zeros((600, 1))
    own = 2 * np.sin(1.5 * inputs[:, :1]) + inputs[:, 1:2]
    y = own + rng.normal(0, 0.3, (600, 1))
    plain = rng.normal(0, 1.0, (600, 1))
    found = learn_correction(mean, y, inputs, "continuous", 1.0, USUAL)
    assert found.basis is not None and found.noise < 0.5
    better = found.applied(mean, inputs, "continuous")
    assert r2_score(own, better) > 0.85
    assert learn_correction(mean, plain, inputs, "continuous", 1.0, USUAL).basis is None


def test_weights_follow_the_labels_when_there_are_enough():
    rng = np.random.default_rng(4)
    y = (rng.random((400, 1)) < 0.5).astype(float)
    good = np.where(y > 0, 0.8, 0.2)
    experts = np.stack([np.full_like(y, 0.5), np.full_like(y, 0.5), good])
    start = np.array([0.5, 0.5, 0.0])
    few, many = (learn_weights(experts[:, :n], y[:n], start, "binary", 1.0) for n in (3, 400))
    assert few[2] < 0.3 and many[2] == 1.0
    experts[2] = np.nan  # no graph was asked
    assert learn_weights(experts, y, start, "binary", 1.0)[2] == 0.0


def test_labels_of_a_shifted_site_improve_its_predictions(classes):  # noqa: F811
    est, X, y = classes
    rng = np.random.default_rng(5)
    truth = pd.Series(np.where(rng.random(len(y)) < 0.6, 1, y))
    known = truth.astype(float).where(np.arange(len(y)) < 80)
    without, with_labels = est.at(X), est.at(X, known)
    assert with_labels.n_labels_ == 80 and with_labels.n_rows_ == len(X)
    rest = slice(80, None)
    before, after = (
        log_loss(truth[rest], s.predict_proba(X[rest])) for s in (without, with_labels)
    )
    assert after < before


@pytest.mark.filterwarnings("ignore::dapdag.warnings.ContradictionWarning")
def test_labels_may_come_later(case):  # noqa: F811
    est, X, y = case
    label = pd.Series(y).astype(float).reset_index(drop=True)
    whole = est.at(X, label)
    parts = est.at(X[:50], label[:50]).update(X[50:], label[50:])
    assert parts.n_labels_ == len(X)
    assert_allclose(answers(parts, X), answers(whole, X), rtol=1e-3, atol=1e-3)
    one = np.concatenate([answers(whole, X.iloc[[i]]) for i in range(5)])
    assert_allclose(one, answers(whole, X)[:5], rtol=1e-4, atol=1e-4)


def test_a_site_with_labels_is_saved_as_it_is(case, tmp_path):  # noqa: F811
    est, X, y = case
    site = est.at(X, y)
    site.save(tmp_path / "site.dapdag")
    again = dapdag.load(tmp_path / "site.dapdag")
    assert again.n_labels_ == len(X)
    assert_array_equal(answers(again, X), answers(site, X))


def test_strange_labels_are_refused(classes, numbers):  # noqa: F811
    est, X, y = classes
    with pytest.raises(ValueError, match="y has 3 values, X has 120 rows"):
        est.at(X, y[:3])
    with pytest.raises(ValueError, match="y holds the class 7, which no source has"):
        est.at(X, y.replace({0: 7}))
    with pytest.raises(ValueError, match="must be numbers"):
        numbers[0].at(numbers[1], ["a"] * len(numbers[1]))
    with pytest.raises(ValueError, match="infinity .* at position 2"):
        numbers[0].at(numbers[1], np.where(np.arange(len(numbers[1])) == 2, np.inf, 1.0))
    with pytest.warns(UserWarning, match="all labels of the site are missing"):
        none = est.at(X, np.full(len(X), np.nan))
    assert none.n_labels_ == 0
    assert_array_equal(none.predict_proba(X), est.predict_proba(X))
    with pytest.warns(UserWarning, match="all 20 labels of the site are 0"):
        est.at(X, np.where(np.arange(len(X)) < 20, 0, np.nan))


def test_a_probability_has_an_interval_that_labels_narrow(classes):  # noqa: F811
    est, X, y = classes
    without, with_labels = est.at(X), est.at(X, y)
    wide, narrow = (s.predict_interval(X, coverage=0.8) for s in (without, with_labels))
    assert wide.shape == (len(X), 2, 2)
    p = without.predict_proba(X)
    assert (wide[..., 0] < p).all() and (p < wide[..., 1]).all()
    assert (wide >= 0).all() and (wide <= 1).all()
    width = [logit(a[..., 1]) - logit(a[..., 0]) for a in (wide, narrow)]
    assert width[1].min() < 0.9 * width[0].min()
    assert (without.predict_interval(X, coverage=0.95)[..., 1] > wide[..., 1]).all()
    # what is uncertain about the site does not depend on which of its rows are asked about
    assert_allclose(without.predict_interval(X[3:5], coverage=0.8), wide[3:5], rtol=1e-5)


def test_the_mean_of_a_site_has_an_interval(case):  # noqa: F811
    est, X, y = case
    site = est.at(X)
    found = site.mean_interval(X, coverage=0.9)
    if hasattr(site, "classes_"):
        assert found.shape == (2, 2)
        mean = site.predict_proba(X).mean(0)
        assert (found[:, 0] < mean).all() and (mean < found[:, 1]).all()
    else:
        assert found.shape == (2,)
        assert found[0] < site.predict(X).mean() < found[1]
    narrow = est.at(X, y).mean_interval(X, coverage=0.9)
    assert np.ptp(narrow, axis=-1).max() < np.ptp(found, axis=-1).max()
    with pytest.raises(ValueError, match="coverage"):
        site.mean_interval(X, coverage=0)


def test_more_labels_are_expected_to_gain_more(case):  # noqa: F811
    est, X, _ = case
    site = est.at(X)
    gains = [site.expected_gain(n) for n in (0, 10, 100, 10_000)]
    assert gains[0] == 0 and gains == sorted(gains)
    assert gains[3] - gains[2] < gains[2] - gains[0]
    with pytest.raises(ValueError, match="n_labels must be 0 or more, not -1"):
        site.expected_gain(-1)


def test_labels_enter_on_the_command_line(tmp_path):
    import json

    from cli_helpers import dapdag as run

    parts = [mixed_rows(seed) for seed in range(4)]
    for k, (X, y) in enumerate(parts):
        X.assign(died=y.map({0: "no", 1: "yes"})).to_csv(tmp_path / f"s{k}.csv", index=False)
    new = pd.read_csv(tmp_path / "s3.csv")
    new.loc[new.index >= 30, "died"] = None
    new.to_csv(tmp_path / "new.csv", index=False)
    tiny = ["--set", "n_members=1", "--set", "hidden=4", "--set", "max_epochs=6", "-q"]
    sources = [tmp_path / f"s{k}.csv" for k in range(3)]
    done = run("fit", *sources, "--label", "died", "-o", tmp_path / "m.dapdag", *tiny)
    assert done.code == 0, done.err
    found = []
    for more in ([], ["--ignore-labels"]):
        about = ["adapt", tmp_path / "m.dapdag", tmp_path / "new.csv", "-o", tmp_path / "s.dapdag"]
        done = run(*about, "--json", *more)
        assert done.code == 0, done.err
        found.append(json.loads(done.out)["labels"])
    assert found == [30, 0]
