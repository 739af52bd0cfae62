import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm
from test_model_layout import make_layout, random_values

from dapdag.model import Bernoulli, Categorical, Gaussian, likelihoods
from dapdag.model.likelihoods import MIN_LOG_SCALE

log_density = jax.jit(likelihoods.log_density)
mean = jax.jit(likelihoods.mean)
squared_or_cross_entropy = jax.jit(likelihoods.squared_or_cross_entropy)

ROWS = 20
BLOCK = slice(1, 4)  # the categorical variable's columns
# Column of the continuous variables 0, 3 and 4 (the label), and of the binary variable 2.
CONTINUOUS = {0: 0, 3: 5, 4: 6}
BINARY = {2: 4}


@pytest.fixture(scope="module")
def layout():
    return make_layout()


@pytest.fixture(scope="module")
def cells(layout):
    rng = np.random.default_rng(1)
    outputs = rng.normal(0, 3, size=(ROWS, 7)).astype(np.float32)
    log_scale = rng.normal(0, 0.5, size=5).astype(np.float32)
    return outputs, np.asarray(random_values(layout, ROWS)), log_scale


def noise_scale(log_scale):
    """The scale with its soft floor."""
    return np.exp(MIN_LOG_SCALE + np.log1p(np.exp(log_scale - MIN_LOG_SCALE)))


def test_continuous_cells_are_normal(layout, cells):
    outputs, values, log_scale = cells
    found = np.asarray(log_density(layout, outputs, values, log_scale))
    for v, c in CONTINUOUS.items():
        expected = norm.logpdf(values[:, c], outputs[:, c], noise_scale(log_scale[v]))
        np.testing.assert_allclose(found[:, v], expected, rtol=1e-4, atol=1e-5)


def test_binary_cells_are_bernoulli_with_the_output_as_logit(layout, cells):
    outputs, values, log_scale = cells
    found = np.asarray(log_density(layout, outputs, values, log_scale))
    for v, c in BINARY.items():
        p = 1 / (1 + np.exp(-outputs[:, c].astype(float)))
        expected = np.where(values[:, c] == 1, np.log(p), np.log1p(-p))
        np.testing.assert_allclose(found[:, v], expected, rtol=1e-4, atol=1e-5)


def test_categorical_cells_are_softmax_of_their_block(layout, cells):
    outputs, values, log_scale = cells
    found = np.asarray(log_density(layout, outputs, values, log_scale))[:, 1]
    log_p = log_softmax(outputs[:, BLOCK].astype(float), axis=1)
    expected = log_p[np.arange(ROWS), values[:, BLOCK].argmax(1)]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_each_variable_has_the_density_of_its_own_type_only(layout, cells):
    outputs, values, log_scale = cells
    combined = np.asarray(log_density(layout, outputs, values, log_scale))
    for kind, likelihood in (
        ("continuous", Gaussian),
        ("binary", Bernoulli),
        ("categorical", Categorical),
    ):
        density = jax.jit(likelihood.log_density)
        own = np.asarray(density(layout, outputs, values, log_scale))
        at = np.asarray(getattr(layout, kind)) == 1
        np.testing.assert_allclose(combined[:, at], own[:, at], rtol=1e-5, atol=1e-6)


def test_mean_is_identity_sigmoid_softmax(layout, cells):
    outputs, _, _ = cells
    found = np.asarray(mean(layout, outputs))
    for c in CONTINUOUS.values():
        np.testing.assert_array_equal(found[:, c], outputs[:, c])
    for c in BINARY.values():
        np.testing.assert_allclose(found[:, c], 1 / (1 + np.exp(-outputs[:, c])), rtol=1e-5)
    np.testing.assert_allclose(
        found[:, BLOCK], np.exp(log_softmax(outputs[:, BLOCK], axis=1)), rtol=1e-4
    )
    np.testing.assert_allclose(found[:, BLOCK].sum(1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("height", [1e2, 1e4])
def test_extreme_logits_stay_finite_and_sum_to_one(layout, cells, height):
    _, values, log_scale = cells
    signs = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], size=(ROWS, 7))
    outputs = jnp.asarray(height * signs, dtype=jnp.float32)
    p = np.asarray(mean(layout, outputs))
    np.testing.assert_allclose(p[:, BLOCK].sum(1), 1.0, rtol=1e-3)
    assert ((p[:, 4] >= 0) & (p[:, 4] <= 1)).all()

    def loss(outputs, log_scale):
        return -log_density(layout, outputs, values, log_scale).sum()

    value, gradients = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(outputs, log_scale)
    assert np.isfinite(value)
    assert all(np.isfinite(g).all() for g in gradients)


def test_a_confident_error_has_a_large_gradient(layout):
    outputs, values = np.zeros((2, 1, 7), dtype=np.float32)
    outputs[0, BLOCK] = [1e3, 0.0, 0.0]
    values[0, 2] = 1.0

    def loss(outputs):
        return -log_density(layout, outputs, values, jnp.zeros(5))[0, 1]

    assert float(loss(outputs)) > 50
    assert float(jax.jit(jax.grad(loss))(outputs)[0, 1]) > 0.5


def test_a_block_does_not_depend_on_outputs_of_other_variables(layout):
    logits = np.array([2.0, 0.0, -2.0])
    outputs = np.zeros((1, 7), dtype=np.float32)
    outputs[0, BLOCK] = logits
    outputs[0, 4] = 100.0  # an extreme logit of the binary variable
    found = np.asarray(mean(layout, jnp.asarray(outputs)))[0, BLOCK]
    np.testing.assert_allclose(found, np.exp(log_softmax(logits)), rtol=1e-4)


def test_the_noise_scale_has_a_floor(layout, cells):
    _, values, _ = cells
    lowest = log_density(layout, values, values, jnp.full(5, -1e3))
    expected = norm.logpdf(0.0, 0.0, np.exp(MIN_LOG_SCALE))
    np.testing.assert_allclose(lowest[:, 0], expected, rtol=1e-4)


def test_a_noise_scale_below_the_floor_can_grow_again(layout):
    def loss(log_scale):
        return -log_density(layout, jnp.zeros((1, 7)), jnp.ones((1, 7)), log_scale)[0, 0]

    gradient = jax.grad(loss)(jnp.full(5, MIN_LOG_SCALE - 0.1))
    assert float(gradient[0]) < 0


def test_point_loss_is_the_papers(layout, cells):
    """Squared error for numbers; cross-entropy, with its minus sign, for classes."""
    outputs, values, log_scale = cells
    found = np.asarray(squared_or_cross_entropy(layout, outputs, values))
    for v, c in CONTINUOUS.items():
        np.testing.assert_allclose(found[:, v], (values[:, c] - outputs[:, c]) ** 2, rtol=1e-4)
    discrete = [1, 2]
    density = np.asarray(log_density(layout, outputs, values, log_scale))
    np.testing.assert_allclose(found[:, discrete], -density[:, discrete], rtol=1e-5)
    assert (found >= 0).all()
