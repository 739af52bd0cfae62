"""Oracles are exact: against closed forms, independent integration and the data themselves."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_limits

from dapdag.datasets import (
    make_classification_domains,
    make_random_sem_domains,
    make_regression_domains,
    oracles,
)
from dapdag.datasets.synthetic import regression_model

VARIANTS = ["paper", "author"]
LINEAR = ["Y", "X3", "X4", "X5", "X6", "X7"]


def boosted(inputs, target) -> np.ndarray:
    """Out-of-fold predictions, on one thread: small tables are slower on many."""
    boosting = HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=15, random_state=0)
    with threadpool_limits(1):
        return cross_val_predict(boosting, inputs, target, cv=3)


def row_env(data) -> np.ndarray:
    return np.array([data.env[k] for k in data.sample_domain])


def values_of(data) -> dict:
    return {c: data.X[c].to_numpy() for c in data.X}


@pytest.mark.parametrize("variant", VARIANTS)
def test_closed_form_of_the_label_by_hand(variant):
    """Y's own equation, X5 = … + 0.6 Y and X6 = -1 + 0.2 X3 Y, all with one noise level."""
    data = make_regression_domains(4, 50, noise=0.7, variant=variant)
    e, v = row_env(data), data.X
    own = 0.3 * v.X1 + 0.7 * v.X2
    if variant == "paper":
        own = np.log(0.3 * v.X1**2 + 0.7 * v.X2**2)
    precision = 1 + 0.6**2 + (0.2 * v.X3) ** 2
    mean = own - 0.5 * e**2 + 0.6 * (v.X5 + 0.25 * e * v.X4) + 0.2 * v.X3 * (v.X6 + 1)
    np.testing.assert_allclose(data.oracle(v, e), mean / precision, rtol=1e-10)
    np.testing.assert_allclose(data.oracle_std(v, e), 0.7 / np.sqrt(precision), rtol=1e-10)


@pytest.mark.parametrize("label", LINEAR)
@pytest.mark.parametrize("variant", VARIANTS)
def test_quadrature_equals_closed_form(variant, label):
    data = make_regression_domains(10, 20, variant=variant, env="author-grid", label=label)
    model, e = regression_model(variant, 1.0), row_env(data)
    mean, std = oracles.quadrature(model, label, values_of(data), e)
    exact_mean, exact_std = oracles.linear_gaussian(model, label, values_of(data), e)
    assert np.max(abs(mean - exact_mean) / exact_std) < 1e-6
    np.testing.assert_allclose(std, exact_std, rtol=1e-6)


def test_quadrature_holds_for_an_environment_that_contradicts_the_rows():
    data = make_regression_domains(1, 50, env=[-3.0])
    e = np.full(50, 3.0)
    mean, std = oracles.quadrature(regression_model("paper", 1.0), "Y", values_of(data), e)
    np.testing.assert_allclose(mean, data.oracle(data.X, e), rtol=1e-6)
    np.testing.assert_allclose(std, data.oracle_std(data.X, e), rtol=1e-6)


def test_bimodal_conditional_against_independent_integration():
    """X1 enters X2 squared and Y through a logarithm: written out, and given to scipy."""
    data = make_regression_domains(4, 5, env=[-1.5, 0.0, 0.3, 1.0], label="X1", random_state=4)
    e = row_env(data)
    mean, std = data.oracle(data.X, e), data.oracle_std(data.X, e)
    for i, row in enumerate(data.X.itertuples()):

        def density(x, row=row, env=e[i]):
            y_mean = -0.5 * env**2 + np.log(0.3 * x**2 + 0.7 * row.X2**2)
            x4_mean = 0.1 * x * np.exp(env / 2)
            squares = (x - 0.8 * env) ** 2 + (row.X2 - 0.4 * x**2) ** 2
            return np.exp(-0.5 * (squares + (row.Y - y_mean) ** 2 + (row.X4 - x4_mean) ** 2))

        def integral(f):
            return quad(f, -10, 10, points=[-1, 0, 1], limit=500, epsabs=0, epsrel=1e-10)[0]

        mass = integral(density)
        expected = integral(lambda x: x * density(x)) / mass
        second = integral(lambda x, c=expected: (x - c) ** 2 * density(x)) / mass
        assert abs(mean[i] - expected) < 1e-6 * std[i]
        assert abs(std[i] - np.sqrt(second)) < 1e-6 * std[i]


def test_very_narrow_conditionals_are_found():
    """X3 = … + 0.1 exp(X2) in the hundreds of thousands pins X2 down to a few millionths."""
    data = make_regression_domains(4, 1000, env=[2.4, 2.8, 3.0, 3.3], label="X2")
    e = row_env(data)
    z = (data.y - data.oracle(data.X, e)) / data.oracle_std(data.X, e)
    assert data.oracle_std(data.X, e).min() < 1e-4
    assert abs(z.mean()) < 4 / np.sqrt(4000)
    assert abs(z.std() - 1) < 0.05


@pytest.mark.parametrize("x1", [0.0, 6.0, 30.0])
@pytest.mark.parametrize("x3", [1e3, 1e6, 1e9])
def test_children_overrule_a_label_far_from_its_own_equation(x1, x3):
    """X2 must be close to log(10 X3), however many standard deviations from 0.4 X1² that is."""
    data = make_regression_domains(1, 1, label="X2")
    row = data.X.assign(X1=x1, X3=x3, Y=0.0)
    expected = np.log(10 * x3)
    pull = (0.4 * x1**2 - expected + 5) / x3**2
    assert abs(data.oracle(row, 0.0)[0] - expected) < 4 * abs(pull) + 1e-3 / x3
    np.testing.assert_allclose(data.oracle_std(row, 0.0), 1 / x3, rtol=5e-3)


@pytest.mark.parametrize("label", ["Y", "X1", "X2", "X6"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_improves_on_the_regression_oracle(variant, label):
    data = make_regression_domains(6, 400, variant=variant, label=label, random_state=1)
    e = row_env(data)
    residual = data.y - data.oracle(data.X, e)
    z = residual / data.oracle_std(data.X, e)
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs(np.mean(z**2) - 1) < 0.2
    inputs = data.X.assign(E=e)
    assert r2_score(z, boosted(inputs, z)) < 0.02
    assert np.mean(residual**2) < np.mean((data.y - boosted(inputs, data.y)) ** 2)


def test_survival_oracle_is_the_probit():
    data = make_classification_domains(4, 100, random_state=2)
    e, v = row_env(data), data.X
    m = 1.5 + 0.4 * e - 0.1 * (v.X1 - 65) - 0.05 * v.X2 - 1.75 * v.X3 - 2.5 * v.X4
    m = m + 0.6 * v.X5 + 0.25 * v.X6 - 0.75 * v.X7 - 2 * v.X8
    np.testing.assert_allclose(data.oracle(v, e), norm.cdf(m - np.log(5)), rtol=1e-10)


@pytest.mark.parametrize("label", ["Y", "X2", "X3", "X4", "X5", "X6", "X7", "X8"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_class_probabilities_are_calibrated(variant, label):
    data = make_classification_domains(8, 1000, variant=variant, env_scale=2, label=label)
    p = data.oracle(data.X, row_env(data))
    assert ((p >= 0) & (p <= 1)).all()
    for low, high in [(0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.01)]:
        chosen = (p >= low) & (p < high)
        excess = np.sum(data.y[chosen] - p[chosen])
        assert abs(excess) <= 4 * np.sqrt(np.sum((p * (1 - p))[chosen])) + 1e-9


def test_nothing_improves_on_the_classification_oracle():
    data = make_classification_domains(8, 500, label="X4", random_state=1)
    e = row_env(data)
    residual = data.y - data.oracle(data.X, e)
    assert r2_score(residual, boosted(data.X.assign(E=e), residual)) < 0.01


def test_an_impossible_row_is_refused():
    data = make_classification_domains(1, 5, label="X7")
    with pytest.raises(ValueError, match="Row 0 of X cannot occur.*'X7'"):
        data.oracle(data.X.assign(X6=1, X8=1), 0.0)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "elu"])
def test_oracle_of_a_random_model_is_calibrated(activation):
    data = make_random_sem_domains(6, 8, 4, 500, activation=activation, random_state=7)
    e = row_env(data)
    z = (data.y - data.oracle(data.X, e)) / data.oracle_std(data.X, e)
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs(np.mean(z**2) - 1) < 0.15
    assert r2_score(z, boosted(data.X.assign(E=e), z)) < 0.02
