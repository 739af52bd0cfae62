import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_model_layout import make_layout, random_network, random_values, randomised

from dapdag.model import Posterior
from dapdag.model.encoder import posterior

INPUTS, ROWS, NU0 = 7, 30, 1.7


@pytest.fixture(scope="module", params=[1, 3], ids=["dim1", "dim3"])
def encoder(request):
    return random_network(make_layout(), 0.4, env_dim=request.param).encoder


@pytest.fixture(scope="module")
def rows():
    return jnp.asarray(np.random.default_rng(0).normal(size=(ROWS, INPUTS)), dtype=jnp.float32)


def infer(encoder, rows, present=None, nu0=NU0):
    present = jnp.ones(len(rows)) if present is None else jnp.asarray(present)
    return posterior(encoder.summarise(rows, present, nu0), nu0)


def assert_same_posterior(a, b, rtol=2e-5):
    np.testing.assert_allclose(a.mean, b.mean, rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(a.variance, b.variance, rtol=rtol)


def test_posterior_is_the_papers_formula(encoder, rows):
    excess, location = (np.asarray(a, dtype=np.float64) for a in encoder.row_evidence(rows))
    nu = NU0 + excess
    V = 1 / (nu.sum(0) - (ROWS - 1) * NU0)
    q = infer(encoder, rows)
    np.testing.assert_allclose(q.variance, V, rtol=1e-5)
    np.testing.assert_allclose(q.mean, V * (nu * location).sum(0), rtol=1e-4, atol=1e-6)
    assert q.mean.shape == (encoder.dim,)


def test_row_evidence_depends_on_the_row_alone(encoder, rows):
    excess, location = encoder.row_evidence(rows)
    for i in (0, 7):
        one_excess, one_location = encoder.row_evidence(rows[i : i + 1])
        np.testing.assert_allclose(one_excess[0], excess[i], rtol=1e-5)
        np.testing.assert_allclose(one_location[0], location[i], rtol=1e-5, atol=1e-6)


def test_order_of_rows_does_not_matter(encoder, rows):
    shuffled = rows[np.random.default_rng(1).permutation(ROWS)]
    assert_same_posterior(infer(encoder, shuffled), infer(encoder, rows))


def test_summaries_of_parts_add_up_to_the_whole(encoder, rows):
    def summary(part):
        return encoder.summarise(part, jnp.ones(len(part)), NU0)

    merged = summary(rows[:10]) + summary(rows[10:])
    whole = summary(rows)
    np.testing.assert_allclose(merged.excess, whole.excess, rtol=1e-5)
    np.testing.assert_allclose(merged.weighted, whole.weighted, rtol=1e-5, atol=1e-5)
    assert_same_posterior(posterior(merged, NU0), posterior(whole, NU0))


def test_rows_that_are_not_present_do_not_matter(encoder, rows):
    present = np.ones(ROWS, dtype=np.float32)
    present[20:] = 0.0
    garbage = rows.at[20:].set(1e6)
    assert_same_posterior(infer(encoder, garbage, present), infer(encoder, rows, present))
    assert_same_posterior(infer(encoder, garbage, present), infer(encoder, rows[:20]))


def test_without_rows_the_posterior_is_the_prior(encoder, rows):
    q = infer(encoder, rows, np.zeros(ROWS, dtype=np.float32))
    np.testing.assert_array_equal(q.mean, 0.0)
    np.testing.assert_allclose(q.variance, 1 / NU0, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_precision_never_falls_below_the_priors(encoder, rows, scale, sign):
    wild = randomised(encoder, scale, seed=3)
    wild = eqx.tree_at(
        lambda e: (e.weights, e.biases),
        wild,
        (
            tuple(sign * w for w in wild.weights),
            tuple(sign * b for b in wild.biases),
        ),
    )
    q = infer(wild, rows)
    assert np.isfinite(q.mean).all()
    assert (np.asarray(q.variance) > 0).all()
    assert (1 / np.asarray(q.variance) >= NU0 * (1 - 1e-6)).all()


def test_another_row_never_lowers_the_precision(encoder, rows):
    variances = np.stack([infer(encoder, rows[:n]).variance for n in (1, 10, 20, 30)])
    assert (np.diff(variances, axis=0) < 0).all()


def test_draws_are_affine_in_the_normal_numbers():
    q = Posterior(jnp.array([1.0, -2.0, 0.5]), jnp.array([4.0, 0.25, 1.0]))
    normal = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    expected = np.array([1.0, -2.0, 0.5]) + np.array([2.0, 0.5, 1.0]) * normal
    np.testing.assert_allclose(q.draw(jnp.asarray(normal)), expected, rtol=1e-5, atol=1e-6)


def test_draws_have_the_posteriors_moments():
    q = Posterior(jnp.array([1.0, -2.0]), jnp.array([4.0, 0.25]))
    draws = np.asarray(q.draw(jax.random.normal(jax.random.key(0), (20_000, 2))))
    np.testing.assert_allclose(draws.mean(0), q.mean, atol=0.06)
    np.testing.assert_allclose(draws.var(0), q.variance, rtol=0.05)


def test_the_encoder_does_not_depend_on_the_labels_columns():
    layout = make_layout()
    network = random_network(layout, 0.4)
    inputs = random_values(layout, ROWS)
    present = jnp.ones(ROWS)
    q = network.infer(layout, inputs, present, NU0)
    relabelled = network.infer(layout, inputs.at[:, -1].set(1e3), present, NU0)
    np.testing.assert_array_equal(q.mean, relabelled.mean)
    np.testing.assert_array_equal(q.variance, relabelled.variance)
    other = network.infer(layout, inputs.at[:, 0].add(1.0), present, NU0)
    assert (np.asarray(other.mean) != np.asarray(q.mean)).all()
