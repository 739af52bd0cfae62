"""Networks on a known graph: filters that gather parents, and mechanisms of label and children."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm
from test_model_layout import make_layout, random_dag_mask, random_values
from test_model_likelihoods import noise_scale

from dapdag.data.graph_layout import GraphSizes, blanket_of, on_graph
from dapdag.model import Network, Sizes
from dapdag.model.mechanisms import slot_log_density, with_label
from dapdag.model.objective import Batch, mechanism_loss

VARIABLES, LABEL = 5, 4
BLOCKS = [slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 6), slice(6, 7)]
LAYOUT = make_layout(center=0.1)
ENV = jnp.array([0.4, -1.1])
# a number → label → a categorical, a binary and a number, which reads the binary too
EDGES = ((0, 4), (4, 1), (4, 2), (4, 3), (2, 3))


def mask_of(*edges):
    mask = np.zeros((VARIABLES, VARIABLES), dtype=np.float32)
    for i, j in edges:
        mask[i, j] = 1.0
    return mask


def sizes_on(layout, parents, **more):
    graph = GraphSizes.of([layout], [parents])
    slots = graph.slots, graph.slot_inputs, graph.slot_columns
    names = ("slots", "slot_inputs", "slot_columns")
    return Sizes(
        *(*layout.owner.shape, 1, 6, 2, 1, 2),
        reads=graph.reads,
        **dict(zip(names, slots, strict=True)),
        **more,
    )


def drawn(sizes, seed=0):
    """A network with every parameter drawn from N(0, .7²)."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(lambda: Network.zeros(sizes))
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(0, 0.7, leaf.shape), dtype=jnp.float32), shapes
    )


@eqx.filter_jit
def reconstruct(decoder, layout, parents, inputs, env):
    return decoder.reconstruct(layout, parents, inputs, env)


@eqx.filter_jit
def slot_outputs(mechanisms, blanket, inputs, env):
    return mechanisms.outputs(blanket, inputs, env[None])[0]


@pytest.fixture(scope="module")
def mechanisms():
    parents = mask_of(*EDGES)
    sizes = sizes_on(LAYOUT, parents)
    blanket = blanket_of(LAYOUT, parents, GraphSizes.of([LAYOUT], [parents]))
    return drawn(sizes).mechanisms, blanket


@pytest.mark.parametrize("seed", range(4))
def test_a_decoder_on_a_graph_is_the_dense_one_with_the_same_weights(seed):
    parents = np.asarray(random_dag_mask(VARIABLES, seed))
    graph = on_graph(LAYOUT, parents, 8)
    dense = drawn(Sizes(*LAYOUT.owner.shape, 1, 6, 2, 1, 0), seed).decoder
    filters = np.zeros((VARIABLES, 8, 6), dtype=np.float32)
    for v, s in np.ndindex(VARIABLES, 8):
        filters[v, s] = np.asarray(dense.filters)[v, graph.reads[v, s]]
    filters[graph.reads_any == 0] = 9.0  # what only pads is not read
    sparse = eqx.tree_at(lambda d: d.filters, dense, jnp.asarray(filters))
    inputs = LAYOUT.inputs(random_values(LAYOUT, 20), jnp.ones((20, VARIABLES)))
    expected = reconstruct(dense, LAYOUT, jnp.asarray(parents), inputs, ENV)
    found = reconstruct(sparse, graph, jnp.asarray(parents), inputs, ENV)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    norms = np.asarray(sparse.adjacency(graph))
    np.testing.assert_allclose(norms, dense.adjacency(LAYOUT) * parents, rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_decoder_on_a_graph_depends_on_parents_alone(seed):
    parents = np.asarray(random_dag_mask(VARIABLES, seed))
    graph = on_graph(LAYOUT, parents, 8)
    decoder = drawn(Sizes(*LAYOUT.owner.shape, 1, 6, 2, 1, 0, reads=8), seed).decoder
    row = jnp.asarray(np.random.default_rng(seed).normal(size=7), dtype=jnp.float32)
    # the mask argument is of no account: the shape of the filters decides
    everything = jnp.ones((VARIABLES, VARIABLES))
    jacobian = eqx.filter_jit(
        jax.jacrev(lambda row: decoder.reconstruct(graph, everything, row[None], ENV)[0])
    )
    found = np.asarray(jacobian(row))
    for parent, child in np.ndindex(VARIABLES, VARIABLES):
        block = found[BLOCKS[child], BLOCKS[parent]]
        assert (block != 0).all() if parents[parent, child] else (block == 0).all()


def test_slots_are_the_label_and_its_children(mechanisms):
    _, blanket = mechanisms
    assert blanket.variable.tolist() == [LABEL, 1, 2, 3]
    kinds = [blanket.continuous, blanket.categorical, blanket.binary]
    np.testing.assert_array_equal(kinds, [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
    reads = [set(r[k > 0].tolist()) for r, k in zip(blanket.reads, blanket.reads_any, strict=True)]
    assert reads == [{0}, {6}, {6}, {4, 6}]


def test_an_output_changes_only_with_the_inputs_that_its_slot_reads(mechanisms):
    own, blanket = mechanisms
    inputs = np.random.default_rng(1).normal(size=(3, 7)).astype(np.float32)
    before = np.asarray(slot_outputs(own, blanket, inputs, ENV))
    for column in range(7):
        moved = inputs.copy()
        moved[:, column] += 1.0
        after = np.asarray(slot_outputs(own, blanket, moved, ENV))
        for slot in range(4):
            reads = column in blanket.reads[slot][blanket.reads_any[slot] > 0]
            changed = after[:, slot] != before[:, slot]
            assert changed.all() if reads else not changed.any()


def test_e_moves_every_mechanism(mechanisms):
    own, blanket = mechanisms
    inputs = np.zeros((1, 7), dtype=np.float32)
    here, there = (np.asarray(slot_outputs(own, blanket, inputs, e)) for e in (ENV, -ENV))
    assert (here != there).all()


def test_the_density_of_a_slot_is_that_of_its_type(mechanisms):
    _, blanket = mechanisms
    values = random_values(LAYOUT, 6)
    outputs = np.random.default_rng(0).normal(size=(4, 6, 3)).astype(np.float32)
    log_scale = jnp.array([-0.3, 5.0, 5.0, 0.2])  # of numbers alone
    found = slot_log_density(blanket, jnp.asarray(outputs), blanket.values(values), log_scale)
    columns = np.asarray(values, dtype=float)
    logit = outputs[2, :, 0].astype(float)
    expected = [
        norm.logpdf(columns[:, 6], outputs[0, :, 0], noise_scale(-0.3)),
        (columns[:, 1:4] * log_softmax(outputs[1], axis=1)).sum(1),
        columns[:, 4] * logit - np.logaddexp(0, logit),
        norm.logpdf(columns[:, 5], outputs[3, :, 0], noise_scale(0.2)),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_missing_cells_and_labels_take_no_part_in_the_loss_of_mechanisms(mechanisms):
    own, blanket = mechanisms
    values = np.array(random_values(LAYOUT, 8))
    observed = np.ones((8, VARIABLES), dtype=np.float32)
    observed[0, 3], observed[1, LABEL] = 0.0, 0.0
    present = np.ones(8, dtype=np.float32)
    present[2] = 0.0

    def loss(values):
        inputs = LAYOUT.inputs(jnp.asarray(values), jnp.asarray(observed))
        batch = Batch(jnp.asarray(values), jnp.asarray(observed), jnp.asarray(present))
        return float(mechanism_loss(own, blanket, inputs, batch, ENV, jnp.ones(4)))

    changed = values.copy()
    changed[0, 5] = 7.0  # missing
    changed[1] += 1.0  # without label
    changed[2] -= 1.0  # padding
    assert loss(changed) == pytest.approx(loss(values), rel=1e-6)
    changed[3, 5] = 7.0
    assert loss(changed) != pytest.approx(loss(values), rel=1e-3)


def test_padded_slots_have_density_0_and_no_gradient():
    parents = mask_of((4, 1))
    graph = GraphSizes.of([LAYOUT], [parents])
    wide = graph._replace(slots=3, slot_inputs=4)
    blanket = blanket_of(LAYOUT, parents, wide)
    sizes = Sizes(*LAYOUT.owner.shape, 1, 6, 2, 1, 2, slots=3, slot_inputs=4, slot_columns=3)
    own = drawn(sizes).mechanisms
    values = random_values(LAYOUT, 5)
    observed, present = jnp.ones((5, VARIABLES)), jnp.ones(5)
    inputs = LAYOUT.inputs(values, observed)

    def loss(own):
        batch = Batch(values, observed, present)
        return mechanism_loss(own, blanket, inputs, batch, ENV, jnp.ones(4))

    value, gradient = eqx.filter_jit(eqx.filter_value_and_grad(loss))(own)
    assert np.isfinite(value)
    for leaf in jax.tree.leaves(gradient):
        assert np.isfinite(leaf).all()
    filters = np.asarray(gradient.networks.filters).reshape(2, 3, 4, 6)
    assert (filters[:, 2] == 0).all() and (filters[:, 1, 1:] == 0).all()
    assert (filters[:, 1, 0] != 0).any()


def test_the_label_is_set_to_one_value_in_all_rows():
    values = random_values(LAYOUT, 4)
    inputs = LAYOUT.inputs(values, jnp.ones((4, VARIABLES)))
    asked = np.asarray(with_label(LAYOUT, inputs, jnp.array([2.0])))
    np.testing.assert_allclose(asked[:, 6], 2.0 - 0.1)
    np.testing.assert_array_equal(asked[:, :6], inputs[:, :6])
