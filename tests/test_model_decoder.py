import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_model_layout import (
    make_layout,
    random_dag_mask,
    random_values,
    randomised,
    sizes_for,
)

from dapdag.model import Network

VARIABLES = 5
BLOCKS = [slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 6), slice(6, 7)]
LABEL = 6
ALL = jnp.ones((VARIABLES, VARIABLES))
LAYOUT = make_layout()


def make_decoder(has_predictor=True, n_shared=1, scale=0.7, seed=0):
    sizes = sizes_for(LAYOUT, has_predictor=has_predictor, n_shared=n_shared)
    return randomised(Network.init(sizes, jax.random.key(0)), scale, seed).decoder


@pytest.fixture(scope="module")
def decoder():
    return make_decoder()


@eqx.filter_jit
def jacobians(decoder, parents, row, env):
    """∂ outputs / ∂ inputs, ∂ outputs / ∂ E, ∂ label / ∂ inputs, ∂ label / ∂ E."""

    def both(row, env):
        outputs, label = decoder.reconstruct(LAYOUT, parents, row[None], env)
        return outputs[0], label[0]

    (out_row, out_env), (label_row, label_env) = jax.jacrev(both, argnums=(0, 1))(row, env)
    return out_row, out_env, label_row, label_env


def random_point(seed):
    rng = np.random.default_rng(seed)
    return (
        jnp.asarray(rng.normal(size=7), dtype=jnp.float32),
        jnp.asarray(rng.normal(size=2), dtype=jnp.float32),
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_reconstruction_depends_on_its_parents_alone(decoder, seed):
    parents = random_dag_mask(VARIABLES, seed)
    found = np.asarray(jacobians(decoder, parents, *random_point(seed))[0])
    for parent, child in np.ndindex(VARIABLES, VARIABLES):
        block = found[BLOCKS[child], BLOCKS[parent]]
        if parents[parent, child]:
            assert (block != 0).all(), (parent, child)
        else:
            assert (block == 0).all(), (parent, child)


def test_no_variable_sees_its_own_columns_under_any_mask(decoder):
    found = np.asarray(jacobians(decoder, ALL, *random_point(0))[0])
    for block in BLOCKS:
        assert (found[block, block] == 0).all()
    others = [found[a, b] for a in BLOCKS for b in BLOCKS if a != b]
    assert all((block != 0).all() for block in others)


def test_the_environment_reaches_every_variable_and_the_label(decoder):
    _, by_env, _, label_by_env = jacobians(decoder, 0 * ALL, *random_point(1))
    assert (np.asarray(by_env) != 0).all()
    assert (np.asarray(label_by_env) != 0).all()


def test_the_predictor_sees_every_feature_and_never_the_label(decoder):
    for parents in (ALL, 0 * ALL):
        found = np.asarray(jacobians(decoder, parents, *random_point(2))[2])
        assert (found[:, :LABEL] != 0).all()
        assert (found[:, LABEL:] == 0).all()


def test_without_a_predictor_the_label_is_predicted_from_its_parents():
    decoder = make_decoder(has_predictor=False)
    parents = random_dag_mask(VARIABLES, 1)
    row, env = random_point(3)
    outputs, label = decoder.reconstruct(LAYOUT, parents, row[None], env)
    np.testing.assert_array_equal(outputs[:, LABEL:], label)
    found = np.asarray(jacobians(decoder, parents, row, env)[2])[0]
    for parent, block in enumerate(BLOCKS):
        assert (found[block] != 0).all() == bool(parents[parent, VARIABLES - 1])


@pytest.mark.parametrize("has_predictor", [True, False])
def test_predict_is_the_labels_part_of_reconstruct(has_predictor):
    decoder = make_decoder(has_predictor)
    parents = random_dag_mask(VARIABLES, 0)
    inputs = random_values(LAYOUT, 20)
    envs = jnp.asarray(np.random.default_rng(0).normal(size=(3, 2)), dtype=jnp.float32)
    found = decoder.predict(LAYOUT, parents, inputs, envs)
    assert found.shape == (3, 20, 1)
    for env, predicted in zip(envs, found, strict=True):
        _, label = decoder.reconstruct(LAYOUT, parents, inputs, env)
        np.testing.assert_allclose(predicted, label, rtol=1e-4, atol=1e-5)


def test_reconstruct_is_filters_then_shared_layers_then_heads():
    decoder = make_decoder(n_shared=2)
    parents = random_dag_mask(VARIABLES, 4)
    inputs = random_values(LAYOUT, 20)
    env = np.array([0.3, -1.2])
    outputs, label = decoder.reconstruct(LAYOUT, parents, inputs, jnp.asarray(env))
    expected, expected_label = numpy_forward(decoder, parents, inputs, env)
    np.testing.assert_allclose(outputs, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(label, expected_label, rtol=1e-3, atol=1e-4)


def numpy_forward(decoder, parents, inputs, env):
    """One variable after the other, in double precision."""
    d = jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), decoder)
    x = np.asarray(inputs, dtype=np.float64)

    def elu(a):
        return np.where(a > 0, a, np.expm1(np.minimum(a, 0)))

    def hidden(target, visible):
        masked = np.zeros_like(x)
        for v in visible:
            masked[:, BLOCKS[v]] = x[:, BLOCKS[v]]
        h = elu(masked @ d.filters[target] + env @ d.env_filters[target] + d.filter_bias[target])
        for weight, bias in d.shared:
            h = elu(h @ weight + bias)
        return h

    outputs = np.zeros_like(x)
    for j, block in enumerate(BLOCKS):
        seen = [i for i in range(VARIABLES) if i != j and parents[i, j]]
        outputs[:, block] = hidden(j, seen) @ d.heads[block].T + d.head_bias[block]
    label = hidden(VARIABLES, range(VARIABLES - 1)) @ d.label_head.T + d.label_bias
    return outputs, label


def test_adjacency_is_the_norm_of_row_blocks(decoder):
    filters = np.asarray(decoder.filters, dtype=np.float64)
    expected = np.zeros((VARIABLES, VARIABLES))
    for i, j in np.ndindex(expected.shape):
        if i != j:
            expected[i, j] = np.sqrt((filters[j, BLOCKS[i]] ** 2).sum())
    np.testing.assert_allclose(decoder.adjacency(LAYOUT), expected, rtol=1e-5)


def test_adjacency_has_a_finite_gradient_where_a_block_is_zero(decoder):
    emptied = eqx.tree_at(lambda d: d.filters, decoder, jnp.zeros_like(decoder.filters))
    gradient = jax.grad(lambda d: d.adjacency(LAYOUT).sum())(emptied)
    np.testing.assert_array_equal(gradient.filters, 0.0)


@pytest.mark.parametrize("n_shared", [0, 2])
def test_path_strength_bounds_the_jacobian(n_shared):
    decoder = make_decoder(n_shared=n_shared)
    bound = np.asarray(decoder.path_strength(LAYOUT))
    for seed in range(5):
        found = np.abs(np.asarray(jacobians(decoder, ALL, *random_point(seed))[0]))
        for i, j in np.ndindex(VARIABLES, VARIABLES):
            assert found[BLOCKS[j], BLOCKS[i]].sum() <= bound[i, j] * (1 + 1e-4)


def test_path_strength_is_the_jacobian_where_every_unit_is_on():
    positive = jax.tree.map(jnp.abs, make_decoder(n_shared=2))
    strength = np.asarray(positive.path_strength(LAYOUT))
    row, env = jax.tree.map(jnp.abs, random_point(0))
    found = np.asarray(jacobians(positive, ALL, row, env)[0])
    for i, j in np.ndindex(VARIABLES, VARIABLES):
        if i != j:
            np.testing.assert_allclose(found[BLOCKS[j], BLOCKS[i]].sum(), strength[i, j], rtol=1e-4)
