"""The variance of a number as a function of its prediction, learned from left-out rows."""

import numpy as np
import pytest
from scipy.stats import norm

from dapdag.inference.row_noise import RowNoise, learn_row_noise, learn_widths
from dapdag.model.constants import NOISE_LEVELS


def left_out(log_variance, n=4000, seed=0):
    """Predictions, errors of the given log variance, and a calibrated variance of 1."""
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=n)
    errors = rng.normal(size=n) * np.exp(0.5 * log_variance(predicted))
    return predicted, errors, np.full(n, np.mean(errors**2))


def test_errors_that_grow_with_the_prediction_are_found():
    predicted, errors, variance = left_out(lambda mean: 1.5 * mean)
    noise = learn_row_noise(predicted, errors, variance)
    asked = np.array([-1.0, 0.0, 1.0])
    assert np.diff(np.log(noise.factor(asked))) == pytest.approx([1.5, 1.5], abs=0.25)
    # the mean variance stays as it is
    assert (noise.factor(predicted) * variance).mean() == pytest.approx(variance.mean())


def test_constant_noise_stays_about_constant():
    for seed in range(5):
        predicted, errors, variance = left_out(lambda mean: 0 * mean, 1500, seed)
        factor = learn_row_noise(predicted, errors, variance).factor(predicted)
        assert np.sqrt(np.mean(np.log(factor) ** 2)) < 0.2


def test_beyond_what_was_seen_the_factor_is_constant():
    noise = learn_row_noise(*left_out(lambda mean: 1.5 * mean))
    ends = noise.factor(np.array([-9.0, noise.at[0], noise.at[-1], 9.0]))
    assert ends[0] == ends[1] < ends[2] == ends[3]


def test_one_large_error_does_not_decide():
    predicted, errors, variance = left_out(lambda mean: 0 * mean)
    before = learn_row_noise(predicted, errors, variance).log_factor
    errors[predicted.argmax()] = 20.0
    after = learn_row_noise(predicted, errors, variance).log_factor
    assert np.abs(after - before).max() < 0.1


def test_few_rows_hardly_move_the_factor():
    predicted, errors, variance = left_out(lambda mean: 3.0 * mean, 24)
    found = learn_row_noise(predicted, errors, variance)
    assert np.ptp(found.log_factor) < 1.0


@pytest.mark.parametrize("predicted", [np.zeros(60), np.repeat([0.0, 1.0], 30), np.arange(3.0)])
def test_predictions_that_repeat_are_no_problem(predicted):
    errors = np.linspace(-1, 1, len(predicted))
    noise = learn_row_noise(predicted, errors, np.ones(len(predicted)))
    assert (np.diff(noise.at) > 0).all()
    assert np.isfinite(noise.factor(np.linspace(-2, 2, 9))).all()


def test_widths_hold_the_share_that_is_asked_for():
    sizes = np.abs(np.random.default_rng(0).normal(size=20_000)) * 0.8
    half = [norm.ppf(0.5 + level / 2) for level in NOISE_LEVELS]
    relative = [sizes / one for one in half]
    many = learn_widths(relative, 10_000)
    np.testing.assert_allclose(np.exp(many), 0.8, atol=0.02)
    # few sources are believed in part
    assert (np.abs(learn_widths(relative, 2)) < 0.6 * np.abs(many)).all()
    assert np.isfinite(learn_widths([np.zeros(9)] * len(NOISE_LEVELS), 5)).all()


def test_an_interval_of_larger_coverage_is_wider():
    # errors of a few sizes: their quantiles are equal at several levels
    sizes = np.repeat([0.1, 1.0], [60, 40])
    found = learn_widths([sizes / norm.ppf(0.5 + c / 2) for c in NOISE_LEVELS], 10**9)
    noise = RowNoise(np.zeros(0), np.zeros(0), found)
    levels = np.linspace(0.01, 0.999, 300)
    half = [noise.width(c) * norm.ppf(0.5 + c / 2) for c in levels]
    assert (np.diff(half) > -1e-6).all()


def test_without_errors_nothing_is_learned():
    noise = learn_row_noise(np.arange(9.0), np.zeros(9), np.ones(9))
    assert (noise.factor(np.arange(3.0)) == 1).all()
    assert (RowNoise.constant().factor(np.zeros((3, 1))) == np.ones((3, 1))).all()
