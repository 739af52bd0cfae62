"""Densities of residuals."""

import numpy as np

from dapdag.structure.residuals import density_gain, marginal_gain, stratified_gain


def _gain(values):
    return float(density_gain(values[None], len(values))[0])


def test_normal_noise_costs_and_gains_nothing():
    rng = np.random.default_rng(0)
    assert max(_gain(rng.normal(size=2000)) for _ in range(5)) < 3


def test_exponential_noise_gains_nearly_its_negentropy():
    noise = np.random.default_rng(1).exponential(size=4000)
    true = 4000 * (0.5 * np.log(2 * np.pi * np.e) - 1.0)
    assert 0.7 * true < _gain(noise) < 1.05 * true


def test_gain_does_not_depend_on_location_and_scale():
    noise = np.random.default_rng(2).laplace(size=1500)
    assert abs(_gain(noise) - _gain(7 * noise + 3)) < 1e-6


def test_long_tails_of_a_column_are_worth_more_on_the_normal_scale():
    z = np.exp(2 * np.random.default_rng(3).normal(size=3000))
    z = (z - z.mean()) / z.std()
    assert marginal_gain(z, 3000) > 3000


def test_few_values_have_no_density():
    values = np.random.default_rng(4).integers(5, size=500).astype(float)
    assert density_gain(values[None], 5)[0] == 0
    assert marginal_gain(values, 5) == -np.inf


def test_strata_with_another_spread_gain_their_likelihood_ratio():
    rng = np.random.default_rng(5)
    strata = np.repeat([0, 1], 1500)
    residuals = rng.normal(size=3000) * np.where(strata == 0, 0.5, 2.0)
    pooled = np.log(np.sqrt((0.5**2 + 2.0**2) / 2))
    expected = 1500 * (pooled - np.log(0.5)) + 1500 * (pooled - np.log(2.0))
    assert abs(stratified_gain(residuals, strata, 3000) - expected) < 0.1 * expected


def test_strata_that_are_alike_gain_nothing():
    rng = np.random.default_rng(6)
    strata = rng.integers(3, size=3000)
    assert max(stratified_gain(rng.normal(size=3000), strata, 3000) for _ in range(5)) < 3
