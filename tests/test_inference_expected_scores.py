"""Expected scores of a site: what the predictions say, and what left-out sources say about that."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn import metrics
from test_site_model import case, classes, numbers  # noqa: F401

import dapdag
from dapdag.inference.expected_scores import (
    CLASSES,
    NUMBERS,
    Prediction,
    expected_scores,
    learn_score_errors,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("width", [2, 3])
def test_scores_of_classes_are_those_of_scikit_learn(width):
    p = RNG.dirichlet(np.ones(width), 60).round(2) + 1e-3  # with ties
    p /= p.sum(1, keepdims=True)
    labels = Prediction(p).draw(3, RNG)
    for k, y in enumerate(labels.astype(int)):
        one = p[:, 1] if width == 2 else p
        area = metrics.roc_auc_score(y, one, multi_class="ovr")
        square = ((np.eye(width)[y] - p) ** 2).sum(1).mean()
        expected = {
            "auc": area,
            "log_loss": metrics.log_loss(y, p, labels=range(width)),
            "brier": square / 2 if width == 2 else square,
        }
        for name, value in expected.items():
            assert_allclose(CLASSES[name].of(p, labels)[k], value, rtol=1e-9)


def test_scores_of_numbers_are_those_of_scikit_learn():
    mean, y = RNG.normal(size=(50, 1)), RNG.normal(size=(2, 50))
    for k in range(2):
        assert_allclose(NUMBERS["r2"].of(mean, y)[k], metrics.r2_score(y[k], mean[:, 0]))
        expected = metrics.root_mean_squared_error(y[k], mean[:, 0])
        assert_allclose(NUMBERS["rmse"].of(mean, y)[k], expected)


def test_drawn_labels_follow_the_prediction():
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
    drawn = Prediction(p).draw(4000, np.random.default_rng(1))
    found = np.stack([(drawn == k).mean(0) for k in range(3)], axis=1)
    assert_allclose(found, p, atol=0.03)
    number = Prediction(np.array([[2.0]]), np.array([0.25])).draw(4000, np.random.default_rng(1))
    assert_allclose([number.mean(), number.std()], [2.0, 0.5], atol=0.03)


def source(rng, kind, tau, optimism, n=300):
    """A site whose labels follow other predictions than were made, by a shift and a factor."""
    if kind == "continuous":
        mean, variance = rng.normal(size=(n, 1)), np.full(n, 0.25)
        scale = optimism * np.exp(tau * rng.normal())
        y = mean[:, 0] + 0.5 * scale * rng.normal(size=n)
        return Prediction(mean, variance), y
    eta = rng.normal(-1.0, 1.5, n)
    p, true = expit(eta), expit(eta / optimism + tau * rng.normal())
    return Prediction(np.column_stack([1 - p, p])), (rng.random(n) < true).astype(float)


@pytest.mark.parametrize("kind", ["continuous", "binary"])
@pytest.mark.parametrize(("tau", "optimism"), [(0.0, 1.0), (0.4, 1.0), (0.3, 1.3)])
def test_intervals_hold_the_score_of_a_new_site(kind, tau, optimism):
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(20):
        errors = learn_score_errors([source(rng, kind, tau, optimism) for _ in range(10)], kind)
        for _ in range(3):
            prediction, y = source(rng, kind, tau, optimism)
            found = expected_scores(prediction, kind, errors, len(y), 0.9)
            scores = NUMBERS if kind == "continuous" else CLASSES
            for name, (expected, low, high) in found.items():
                assert low < expected < high
                inside.append(low <= scores[name].of(prediction.mean, y[None])[0] <= high)
    assert 0.85 < np.mean(inside) < 0.99


def test_few_sources_make_wide_intervals_and_many_rows_narrow_ones():
    rng = np.random.default_rng(0)
    sources = [source(rng, "binary", 0.2, 1.0) for _ in range(12)]
    width = {}
    for n_sources, n_rows in ((0, 300), (3, 300), (12, 300), (12, 30_000)):
        errors = learn_score_errors(sources[:n_sources], "binary")
        _, low, high = expected_scores(sources[0][0], "binary", errors, n_rows, 0.9)["log_loss"]
        width[n_sources, n_rows] = high - low
    assert width[0, 300] > width[3, 300] > width[12, 300] > width[12, 30_000]


def test_a_score_that_is_not_defined_is_left_out():
    sure = Prediction(np.tile([1.0, 0.0], (5, 1)))
    errors = learn_score_errors([(sure, np.zeros(5))] * 4, "binary")
    assert errors.n_sites.tolist() == [0, 4, 4] and np.isfinite(errors.between).all()
    found = expected_scores(sure, "binary", errors, 5, 0.9)
    assert np.isnan(found["auc"]).all() and np.isfinite(found["log_loss"]).all()


def test_a_site_tells_what_to_expect(case, tmp_path):  # noqa: F811
    est, X, y = case
    site = est.at(X)
    found = site.expected_score()
    names = ["auc", "log_loss", "brier"] if hasattr(est, "classes_") else ["r2", "rmse"]
    assert list(found.index) == [*names, "calibration_in_the_large"]
    assert list(found.columns) == ["expected", "low", "high"]
    assert (found["low"] < found["expected"]).all() and (found["expected"] < found["high"]).all()
    narrow = site.expected_score(coverage=0.5)
    assert ((narrow["high"] - narrow["low"]) < (found["high"] - found["low"])).all()
    if "rmse" in found.index:  # in the label's units
        assert found.loc["rmse", "expected"] < y.std()
    site.save(tmp_path / "site.dapdag")
    again = dapdag.load(tmp_path / "site.dapdag").expected_score()
    assert again.equals(found)


def test_what_is_refused(case):  # noqa: F811
    est, X, _ = case
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, not 90"):
        est.at(X).expected_score(coverage=90)
    with pytest.raises(ValueError, match="takes 2 rows of the site, and 1 is known"):
        est.at(X[:1]).expected_score()
