import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_model_layout import random_dag_mask

from dapdag.model.acyclicity import ACYCLICITY

SIZE = 6
NAMES = sorted(ACYCLICITY)


@functools.cache
def h_and_gradient(name):
    return jax.jit(jax.value_and_grad(ACYCLICITY[name]))


def random_weights(seed, scale=0.1):
    weights = scale * np.random.default_rng(seed).random((SIZE, SIZE))
    np.fill_diagonal(weights, 0.0)
    return weights


@pytest.mark.parametrize("name", NAMES)
def test_h_vanishes_on_dags(name):
    h = h_and_gradient(name)
    for seed in range(8):
        dag = np.asarray(random_dag_mask(SIZE, seed)) * random_weights(seed, scale=0.5)
        assert abs(float(h(jnp.asarray(dag, dtype=jnp.float32))[0])) <= 1e-5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", range(2, SIZE + 1))
def test_h_is_positive_on_a_single_cycle_of_any_length(name, length):
    weights = np.zeros((SIZE, SIZE), dtype=np.float32)
    for k in range(length):
        weights[k, (k + 1) % length] = 0.9
    assert float(h_and_gradient(name)(jnp.asarray(weights))[0]) > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_closing_a_cycle_in_a_dag_makes_h_positive(name):
    h = h_and_gradient(name)
    chain = np.diag(np.full(SIZE - 1, 0.8), 1).astype(np.float32)
    closed = chain.copy()
    closed[SIZE - 1, 0] = 0.8
    assert abs(float(h(jnp.asarray(chain))[0])) <= 1e-5
    assert float(h(jnp.asarray(closed))[0]) > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_gradient_agrees_with_finite_differences(name):
    step = 1e-5
    with jax.enable_x64(True):
        h = h_and_gradient(name)
        weights = random_weights(4)
        _, gradient = h(jnp.asarray(weights))
        numeric = np.zeros_like(weights)
        for i, j in np.ndindex(weights.shape):
            nudge = np.zeros_like(weights)
            nudge[i, j] = step
            up, down = (float(h(jnp.asarray(weights + s * nudge))[0]) for s in (1, -1))
            numeric[i, j] = (up - down) / (2 * step)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_h_is_positive_on_edges_of_cycles_alone(name):
    weights = np.zeros((SIZE, SIZE), dtype=np.float32)
    weights[0, 1] = weights[1, 2] = weights[2, 0] = 0.5
    weights[3, 4] = 0.5
    _, gradient = h_and_gradient(name)(jnp.asarray(weights))
    gradient = np.asarray(gradient)
    assert min(gradient[0, 1], gradient[1, 2], gradient[2, 0]) > 1e-3
    assert abs(gradient[3, 4]) < 1e-6


def test_trace_exp_counts_closed_walks():
    """tr(exp W) − d = Σ tr(Wᵏ)/k!, the paper's h, for k from 1."""
    weights = random_weights(2, scale=0.5)
    power, factorial, total = np.eye(SIZE), 1.0, 0.0
    for k in range(1, 30):
        power, factorial = power @ weights, factorial * k
        total += np.trace(power) / factorial
    value, _ = h_and_gradient("trace_exp")(jnp.asarray(weights, dtype=jnp.float32))
    np.testing.assert_allclose(value, total, rtol=1e-4)


@pytest.mark.parametrize("scale", [2.0, 1e3, 1e20])
def test_log_det_is_finite_outside_its_domain(scale):
    value, gradient = h_and_gradient("log_det")(
        jnp.asarray(random_weights(5, scale), dtype=jnp.float32)
    )
    assert np.isfinite(value) and float(value) > 0.1
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("scale", [1.5, 5.0, 50.0])
def test_log_det_has_a_positive_gradient_on_large_cycles_outside_its_domain(scale):
    weights = np.zeros((SIZE, SIZE), dtype=np.float32)
    weights[0, 1] = weights[1, 0] = scale
    _, gradient = h_and_gradient("log_det")(jnp.asarray(weights))
    # To first order, removing the cycle lowers h by more than 1.
    assert float((gradient * weights).sum()) > 1.0
