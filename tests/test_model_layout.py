"""How variables lie in columns; also the layouts that the other tests of the model use."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dapdag.model import Layout, Network, Sizes

MIXED = (
    ("continuous", 1),
    ("categorical", 3),
    ("binary", 1),
    ("continuous", 1),
    ("continuous", 1),  # the label
)


def make_layout(kinds=MIXED, columns=None, variables=None, label_columns=None, center=0.0):
    """A layout of variables given as (kind, width), the label last, padded if sizes are given."""
    *features, (label_kind, label_width) = kinds
    label_columns = label_columns or label_width
    columns = columns or sum(w for _, w in features) + label_columns
    variables = variables or len(kinds)
    owner = np.full(columns, -1)
    owner[: sum(w for _, w in features)] = np.repeat(
        np.arange(len(features)), [w for _, w in features]
    )
    first_label = columns - label_columns
    owner[first_label : first_label + label_width] = variables - 1
    kind_of = ["none"] * variables
    kind_of[: len(features)] = [k for k, _ in features]
    kind_of[-1] = label_kind
    real = owner >= 0
    return Layout(
        owner=jnp.asarray(owner[:, None] == np.arange(variables), dtype=jnp.float32),
        center=jnp.asarray(np.where(real, center, 0.0), dtype=jnp.float32),
        scale=jnp.asarray(real, dtype=jnp.float32),
        **{
            kind: jnp.asarray([k == kind for k in kind_of], dtype=jnp.float32)
            for kind in ("continuous", "binary", "categorical")
        },
        kinds=("binary", "categorical", "continuous"),
        label_kind=label_kind,
        indicators=False,
    )


def random_network(layout, scale, seed=0, label_columns=1, env_dim=2, n_shared=1, n_predictors=2):
    """A small network for the layout with every parameter drawn from N(0, scale²)."""
    columns, variables = layout.owner.shape
    sizes = Sizes(columns, variables, label_columns, 6, env_dim, n_shared, n_predictors)
    return randomised(jax.eval_shape(lambda: Network.zeros(sizes)), scale, seed)


def random_values(layout, rows, seed=0):
    """Cells that fit the layout: normal numbers, 0/1, one-hot blocks; zeros where columns pad."""
    rng = np.random.default_rng(seed)
    owner = np.asarray(layout.owner)
    values = np.zeros((rows, len(owner)))
    for v in range(owner.shape[1]):
        columns = np.flatnonzero(owner[:, v])
        if layout.continuous[v]:
            values[:, columns] = rng.normal(size=(rows, 1))
        elif layout.binary[v]:
            values[:, columns] = rng.integers(2, size=(rows, 1))
        elif layout.categorical[v]:
            values[:, columns] = np.eye(len(columns))[rng.integers(len(columns), size=rows)]
    return jnp.asarray(values, dtype=jnp.float32)


def random_dag_mask(variables, seed):
    """About half of the edges that a random order of the variables allows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(variables)
    upper = np.triu(rng.random((variables, variables)) < 0.5, 1)
    mask = np.zeros((variables, variables), dtype=np.float32)
    mask[np.ix_(order, order)] = upper
    return jnp.asarray(mask)


def randomised(tree, scale, seed=0):
    """The same tree with every array drawn afresh from N(0, scale²)."""
    leaves, structure = jax.tree.flatten(tree)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(
        structure, [jnp.asarray(rng.normal(0, scale, a.shape), dtype=a.dtype) for a in leaves]
    )


def test_inputs_are_centred_and_missing_cells_are_zero():
    layout = make_layout(center=0.25)
    values = random_values(layout, 4)
    observed = np.ones((4, 5), dtype=np.float32)
    observed[0, 1] = observed[1, 2] = 0.0
    inputs = np.asarray(layout.inputs(values, jnp.asarray(observed)))
    expected = np.asarray(values) - 0.25
    expected[0, 1:4] = 0.0
    expected[1, 4] = 0.0
    np.testing.assert_allclose(inputs, expected, rtol=1e-6)


def test_padded_columns_never_reach_the_networks():
    layout = make_layout(columns=10, variables=8, label_columns=2)
    garbage = jnp.full((3, 10), 7.0)
    inputs = np.asarray(layout.inputs(garbage, jnp.ones((3, 8))))
    padded = np.asarray(layout.owner).sum(1) == 0
    assert padded.sum() == 3
    assert (inputs[:, padded] == 0).all() and (inputs[:, ~padded] != 0).all()


@pytest.mark.parametrize("variables", [5, 8])
def test_edges_join_different_real_variables_only(variables):
    layout = make_layout(columns=12, variables=variables)
    real = np.asarray(layout.real) > 0
    assert real.sum() == 5
    expected = np.outer(real, real) & ~np.eye(variables, dtype=bool)
    np.testing.assert_array_equal(np.asarray(layout.any_edge()), expected)
