import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_model_layout import make_layout, random_dag_mask, random_network, random_values

VARIABLES = 5
BLOCKS = [slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 6), slice(6, 7)]
LABEL = 6
ALL = jnp.ones((VARIABLES, VARIABLES))
LAYOUT = make_layout()


@pytest.fixture(scope="module")
def network():
    return random_network(LAYOUT, 0.7)


@pytest.fixture(scope="module")
def decoder(network):
    return network.decoder


@eqx.filter_jit
def jacobians(decoder, parents, row, env):
    """∂ outputs / ∂ inputs and ∂ outputs / ∂ E of the reconstructions of one row."""

    def outputs(row, env):
        return decoder.reconstruct(LAYOUT, parents, row[None], env)[0]

    return jax.jacrev(outputs, argnums=(0, 1))(row, env)


@eqx.filter_jit
def label_jacobians(network, parents, row, env):
    """∂ label / ∂ inputs and ∂ label / ∂ E of every label network: [networks, columns or dim]."""

    def votes(row, env):
        return network.label_outputs(LAYOUT, parents, row[None], env[None])[0, :, 0, 0]

    return jax.jacrev(votes, argnums=(0, 1))(row, env)


@eqx.filter_jit
def reconstruct(network, parents, inputs, env):
    return network.decoder.reconstruct(LAYOUT, parents, inputs, env)


@eqx.filter_jit
def predict(network, parents, inputs, envs):
    return network.label_outputs(LAYOUT, parents, inputs, envs)


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


def test_the_environment_reaches_every_variable_and_the_label(network):
    by_env = jacobians(network.decoder, 0 * ALL, *random_point(1))[1]
    assert (np.asarray(by_env) != 0).all()
    by_env = label_jacobians(network, 0 * ALL, *random_point(1))[1]
    assert (np.asarray(by_env) != 0).all()


def test_label_networks_depend_on_every_feature_and_not_on_the_label(network):
    for parents in (ALL, 0 * ALL):
        found = np.asarray(label_jacobians(network, parents, *random_point(2))[0])
        assert (found[:, :LABEL] != 0).all()
        assert (found[:, LABEL:] == 0).all()


def test_without_label_networks_the_label_is_predicted_from_its_parents():
    network = random_network(LAYOUT, 0.7, n_predictors=0)
    parents = random_dag_mask(VARIABLES, 1)
    (found,) = np.asarray(label_jacobians(network, parents, *random_point(3))[0])
    for parent, block in enumerate(BLOCKS):
        assert (found[block] != 0).all() == bool(parents[parent, VARIABLES - 1])


def test_without_label_networks_the_prediction_is_the_labels_reconstruction():
    network = random_network(LAYOUT, 0.7, n_predictors=0)
    parents = random_dag_mask(VARIABLES, 0)
    inputs = random_values(LAYOUT, 20)
    envs = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    found = predict(network, parents, inputs, envs)
    assert found.shape == (3, 1, 20, 1)
    for env, predicted in zip(envs, found, strict=True):
        outputs = reconstruct(network, parents, inputs, env)
        np.testing.assert_allclose(predicted[0], outputs[:, LABEL:], rtol=1e-4, atol=1e-5)


def test_reconstruction_and_prediction_are_filters_then_layers_then_heads():
    network = random_network(LAYOUT, 0.7, n_shared=2)
    parents = random_dag_mask(VARIABLES, 4)
    inputs = random_values(LAYOUT, 20)
    envs = np.array([[0.3, -1.2], [1.0, 0.2]], dtype=np.float32)
    votes = predict(network, parents, inputs, envs)
    for env, found_votes in zip(envs, votes, strict=True):
        expected, expected_votes = numpy_forward(network, parents, inputs, env)
        found = reconstruct(network, parents, inputs, env)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found_votes, expected_votes, rtol=1e-3, atol=1e-4)


def numpy_forward(network, parents, inputs, env):
    """Reconstructions and outputs of the label networks, one by one, in double precision."""
    exact = jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), network)
    d, p = exact.decoder, exact.label
    x = np.asarray(inputs, dtype=np.float64)

    def elu(a):
        return np.where(a > 0, a, np.expm1(np.minimum(a, 0)))

    def hidden(part, k, layers, visible):
        masked = np.zeros_like(x)
        for v in visible:
            masked[:, BLOCKS[v]] = x[:, BLOCKS[v]]
        env_filter = part.env_filters[k]
        powers = np.concatenate([env, env**2])[: len(env_filter)]  # label networks also take E²
        h = elu(masked @ part.filters[k] + powers @ env_filter + part.filter_bias[k])
        for weight, bias in layers:
            h = elu(h @ weight + bias)
        return h

    outputs = np.zeros_like(x)
    for j, block in enumerate(BLOCKS):
        seen = [i for i in range(VARIABLES) if i != j and parents[i, j]]
        outputs[:, block] = hidden(d, j, d.shared, seen) @ d.heads[block].T + d.head_bias[block]
    votes = []
    for k in range(len(p.filters)):
        layers = [(weight[k], bias[k]) for weight, bias in p.layers]
        top = hidden(p, k, layers, range(VARIABLES - 1))
        direct = p.env_heads[k] @ np.concatenate([env, env**2])
        votes.append(top @ p.heads[k].T + direct + p.head_bias[k])
    return outputs, np.stack(votes)


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
