import functools
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import log_softmax
from scipy.stats import norm
from test_model_decoder import BLOCKS, numpy_forward
from test_model_layout import make_layout, random_dag_mask, random_network, random_values
from test_model_likelihoods import noise_scale

from dapdag.model import Network, Posterior
from dapdag.model.formulation import Formulation
from dapdag.model.objective import (
    TERMS,
    Batch,
    Weights,
    kl_divergence,
    label_objective,
    objective,
    squared_environment,
)

ROWS, DECODER_ROWS, VARIABLES = 20, 12, 5
LAYOUT = make_layout(center=0.1)
PARENTS = random_dag_mask(VARIABLES, 0).at[0, 1].set(1.0).at[1, 0].set(1.0)  # and a cycle
NORMAL = jnp.array([0.7, -0.4])

BAYESIAN = Formulation(bayesian=True, acyclicity="trace_power")
PAPER = Formulation(bayesian=False, acyclicity="trace_exp")
NO_ENVIRONMENT = Formulation(bayesian=True, acyclicity="log_det", uses_environment=False)
FORMULATIONS = pytest.mark.parametrize(
    "formulation", [BAYESIAN, PAPER, NO_ENVIRONMENT], ids=["bayesian", "paper", "no-environment"]
)
WEIGHTS = {
    "prediction": 1.3,
    "reconstruction": 0.7,
    "environment": 0.9,
    "structure": 1.1,
    "acyclicity": 0.6,
    "acyclicity_square": 0.4,
    "sparsity": 0.05,
    "prior_precision": 1.5,
    "prior_scale": 0.8,
}


def make_weights(**changes):
    return Weights(**{k: jnp.asarray(v) for k, v in (WEIGHTS | changes).items()})


@functools.cache
def network():
    drawn = random_network(LAYOUT, 0.4, seed=1)
    # Small filters keep log_det inside its domain.
    return eqx.tree_at(lambda n: n.decoder.filters, drawn, drawn.decoder.filters / 3)


def make_batch():
    """Some cells missing, three rows without label, the last two rows padding."""
    rng = np.random.default_rng(2)
    observed = (rng.random((ROWS, VARIABLES)) < 0.8).astype(np.float32)
    observed[:, -1] = 1.0
    observed[[0, 4, 15], -1] = 0.0
    present = np.ones(ROWS, dtype=np.float32)
    present[-2:] = 0.0
    return Batch(random_values(LAYOUT, ROWS, seed=3), jnp.asarray(observed), jnp.asarray(present))


def evaluate(formulation, weights, network, batch, normal=NORMAL, layout=LAYOUT, parents=PARENTS):
    """Terms by name, and the gradient of the total with respect to the network."""
    terms, gradient = compiled(formulation, weights, network, batch, normal, layout, parents)
    return dict(zip(TERMS, np.asarray(terms), strict=True)), jax.tree.map(np.asarray, gradient)


@eqx.filter_jit
def compiled(formulation, weights, network, batch, normal, layout, parents):
    def total(network):
        return objective(
            formulation, weights, network, layout, parents, batch, DECODER_ROWS, normal
        )

    (_, terms), gradient = eqx.filter_value_and_grad(total, has_aux=True)(network)
    return terms, gradient


def numpy_terms(formulation, network, batch, normal):
    """Every term from its definition, one variable after the other, in double precision."""
    values = np.asarray(batch.values, dtype=np.float64)
    observed, present = np.asarray(batch.observed), np.asarray(batch.present)
    inputs = np.zeros_like(values)
    for v, block in enumerate(BLOCKS):
        inputs[:, block] = (values[:, block] - 0.1) * observed[:, v : v + 1]
    env, env_term = np.zeros(2), 0.0
    if formulation.uses_environment:
        unlabelled = np.append(inputs[:, :-1], np.zeros((len(inputs), 1)), axis=1)
        votes = network.encoder.row_evidence(jnp.asarray(unlabelled, dtype=jnp.float32))
        excess, location = (np.asarray(a, dtype=np.float64)[present == 1] for a in votes)
        nu0, n = WEIGHTS["prior_precision"], int(present.sum())
        V = 1 / ((nu0 + excess).sum(0) - (n - 1) * nu0)
        mu = V * ((nu0 + excess) * location).sum(0)
        s2 = WEIGHTS["prior_scale"] ** 2
        if formulation.bayesian:
            env = mu + np.sqrt(V) * np.asarray(normal)
            env_term = (0.5 * (-1 + np.log(s2) - np.log(V) + (mu**2 + V) / s2)).sum() / n
        else:
            env, env_term = mu, (mu**2).sum()

    few = slice(0, DECODER_ROWS)
    outputs, votes = numpy_forward(network, PARENTS, inputs[few], env)
    kinds = ["continuous", "categorical", "binary", "continuous", "continuous"]
    log_scale = np.asarray(network.decoder.log_scale)

    def cell_loss(kind, out, value, scale):
        if kind == "continuous":
            if formulation.bayesian:
                return -norm.logpdf(value[:, 0], out[:, 0], noise_scale(scale))
            return (value[:, 0] - out[:, 0]) ** 2
        if kind == "binary":
            both = np.column_stack([np.zeros(len(out)), out[:, 0]])
            return -log_softmax(both, axis=1)[np.arange(len(out)), value[:, 0].astype(int)]
        return -(value * log_softmax(out, axis=1)).sum(1)

    rec = 0.0
    for v, (kind, block) in enumerate(zip(kinds, BLOCKS, strict=True)):
        loss = cell_loss(kind, outputs[:, block], values[few, block], log_scale[v])
        seen = (observed[few, v] * present[few]) == 1
        rec += loss[seen].mean()
    labelled = (observed[few, -1] * present[few]) == 1
    scale = float(network.label_log_scale())
    # Each label network has its own loss: the mean of losses, not the loss of the mean.
    pred = np.mean(
        [cell_loss("continuous", v, values[few, -1:], scale)[labelled].mean() for v in votes]
    )

    lasso_edges = np.asarray(network.decoder.adjacency(LAYOUT), dtype=np.float64) * PARENTS
    W = lasso_edges**2
    h = {
        "trace_exp": lambda: np.trace(expm(W)) - VARIABLES,
        "trace_power": lambda: (
            np.trace(np.linalg.matrix_power(np.eye(VARIABLES) + W / 8, 8)) - VARIABLES
        ),
        "log_det": lambda: -np.log(np.linalg.det(np.eye(VARIABLES) - W)),
    }[formulation.acyclicity]()
    return {
        "prediction": pred,
        "reconstruction": rec,
        "environment": env_term,
        "acyclicity": h,
        "sparsity": lasso_edges.sum(),
    }


@FORMULATIONS
def test_every_term_is_its_definition(formulation):
    found, _ = evaluate(formulation, make_weights(), network(), make_batch())
    expected = numpy_terms(formulation, network(), make_batch(), NORMAL)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-4, atol=1e-5, err_msg=name)


@FORMULATIONS
def test_the_total_adds_the_weighted_terms(formulation):
    t, _ = evaluate(formulation, make_weights(), network(), make_batch())
    t = {k: float(v) for k, v in t.items()}
    w = WEIGHTS
    h = t["acyclicity"]
    expected = (
        w["prediction"] * t["prediction"]
        + w["environment"] * t["environment"]
        + w["structure"]
        * (
            w["reconstruction"] * t["reconstruction"]
            + w["acyclicity"] * (h + w["acyclicity_square"] * h**2)
            + w["sparsity"] * t["sparsity"]
        )
    )
    np.testing.assert_allclose(t["total"], expected, rtol=1e-5)


def is_zero(tree):
    return all((np.asarray(leaf) == 0).all() for leaf in jax.tree.leaves(tree))


def test_without_its_weight_the_label_networks_have_no_gradient():
    _, on = evaluate(BAYESIAN, make_weights(), network(), make_batch())
    _, off = evaluate(BAYESIAN, make_weights(prediction=0.0), network(), make_batch())
    assert not any(is_zero(leaf) for leaf in jax.tree.leaves(on.label))
    assert is_zero(off.label)


def test_without_its_weight_the_reconstruction_has_no_gradient():
    def reconstructor(g):
        d = g.decoder
        return d.env_filters, d.heads, d.head_bias, d.log_scale

    _, on = evaluate(PAPER, make_weights(), network(), make_batch())
    _, off = evaluate(PAPER, make_weights(reconstruction=0.0), network(), make_batch())
    assert not any(is_zero(part) for part in reconstructor(on)[:-1])
    assert is_zero(reconstructor(off))


def test_without_structure_only_prediction_and_environment_remain():
    terms, gradient = evaluate(BAYESIAN, make_weights(structure=0.0), network(), make_batch())
    expected = (
        WEIGHTS["prediction"] * terms["prediction"] + WEIGHTS["environment"] * terms["environment"]
    )
    np.testing.assert_allclose(terms["total"], expected, rtol=1e-5)
    assert is_zero(gradient.decoder)
    assert not is_zero(gradient.label) and not is_zero(gradient.encoder)


def test_cycles_of_weight_zero_cannot_stop_training():
    """On strong cycles h overflows, and 0 · ∞ is NaN: without weight it is left out."""
    strong = eqx.tree_at(lambda n: n.decoder.filters, network(), replace_fn=lambda f: 1e12 * f)
    off = make_weights(acyclicity=0.0, reconstruction=0.0)
    terms, gradient = evaluate(BAYESIAN, off, strong, make_batch())
    assert not np.isfinite(terms["total"])
    terms, gradient = evaluate(replace(BAYESIAN, penalises_cycles=False), off, strong, make_batch())
    assert not np.isfinite(terms["acyclicity"]) and np.isfinite(terms["total"])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_a_loss_without_the_label_trains_everything_but_its_networks():
    apart = replace(BAYESIAN, predicts_label=False)
    terms, gradient = evaluate(apart, make_weights(), network(), make_batch())
    assert terms["prediction"] == 0 < terms["reconstruction"]
    assert is_zero(gradient.label)
    assert not is_zero(gradient.encoder) and not is_zero(gradient.decoder)


def test_the_labels_own_loss_does_not_train_the_encoder():
    weights, batch = make_weights(), make_batch()

    def loss(network):
        return label_objective(
            *(BAYESIAN, weights, network, LAYOUT, None, batch),
            *(DECODER_ROWS, NORMAL, jnp.array([1.0, 0.0])),
        )[0]

    gradient = eqx.filter_jit(eqx.filter_grad(loss))(network())
    assert is_zero((gradient.encoder, gradient.decoder))
    # the second network is not trained on this domain
    assert not is_zero(gradient.label.filters[0]) and is_zero(gradient.label.filters[1])


def test_acyclicity_and_sparsity_have_gradients_on_filters_of_edges_only():
    others = dict.fromkeys(["prediction", "reconstruction", "environment"], 0.0)
    lasso, cycles, neither = (
        evaluate(PAPER, make_weights(**others, **change), network(), make_batch())[1]
        for change in (
            {"acyclicity": 0.0, "sparsity": 1.0},
            {"acyclicity": 1.0, "sparsity": 0.0},
            {"acyclicity": 0.0, "sparsity": 0.0},
        )
    )
    assert is_zero(neither)
    for gradient in (lasso, cycles):
        assert is_zero((gradient.encoder, gradient.label))
        assert is_zero((gradient.decoder.heads, gradient.decoder.env_filters))
    filters = np.asarray(network().decoder.filters)
    for i, j in np.ndindex(VARIABLES, VARIABLES):
        block = np.asarray(lasso.decoder.filters)[j, BLOCKS[i]]
        if i != j and PARENTS[i, j]:
            # The gradient of a norm is the unit vector.
            own = filters[j, BLOCKS[i]]
            scale = WEIGHTS["structure"] / np.linalg.norm(own)
            np.testing.assert_allclose(block, scale * own, rtol=1e-4, atol=1e-6)
        else:
            assert (block == 0).all()
    assert not is_zero(cycles.decoder.filters[1, BLOCKS[0]])
    assert not is_zero(cycles.decoder.filters[0, BLOCKS[1]])


def test_without_its_weight_the_environment_term_has_no_gradient():
    off = dict.fromkeys(["prediction", "reconstruction"], 0.0)
    _, on = evaluate(BAYESIAN, make_weights(**off), network(), make_batch())
    _, gone = evaluate(BAYESIAN, make_weights(**off, environment=0.0), network(), make_batch())
    assert not is_zero(on.encoder)
    assert is_zero(gone.encoder)


def test_kl_is_the_papers_formula():
    mu, V, s = np.array([0.4, -2.0, 0.0]), np.array([0.3, 0.01, 2.0]), 1.3
    expected = 0.5 * (-1 + np.log(s**2) - np.log(V) + (mu**2 + V) / s**2)
    q = Posterior(jnp.asarray(mu), jnp.asarray(V))
    np.testing.assert_allclose(kl_divergence(q, jnp.asarray(s)), expected.sum(), rtol=1e-5)


def test_kl_is_zero_for_the_prior_and_positive_elsewhere():
    def kl(mean, variance):
        return float(kl_divergence(Posterior(jnp.array([mean]), jnp.array([variance])), 2.0))

    assert kl(0.0, 4.0) == 0.0
    assert min(kl(0.1, 4.0), kl(0.0, 3.5), kl(0.0, 4.5)) > 0


def test_kl_counts_once_per_domain_not_once_per_row():
    batch = make_batch()
    terms, _ = evaluate(BAYESIAN, make_weights(), network(), batch)
    inputs = LAYOUT.inputs(batch.values, batch.observed)
    q = network().infer(LAYOUT, inputs, batch.present, WEIGHTS["prior_precision"])
    kl = kl_divergence(q, jnp.asarray(WEIGHTS["prior_scale"]))
    np.testing.assert_allclose(terms["environment"], kl / batch.present.sum(), rtol=1e-5)


def test_point_formulation_uses_the_mean_and_its_square():
    batch = make_batch()
    one, _ = evaluate(PAPER, make_weights(), network(), batch, NORMAL)
    other, _ = evaluate(PAPER, make_weights(), network(), batch, NORMAL + 1)
    assert one == other
    inputs = LAYOUT.inputs(batch.values, batch.observed)
    q = network().infer(LAYOUT, inputs, batch.present, WEIGHTS["prior_precision"])
    np.testing.assert_allclose(one["environment"], (np.asarray(q.mean) ** 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(one["environment"], squared_environment(q), rtol=1e-6)


def test_bayesian_formulation_draws_the_environment():
    one, _ = evaluate(BAYESIAN, make_weights(), network(), make_batch(), NORMAL)
    other, _ = evaluate(BAYESIAN, make_weights(), network(), make_batch(), NORMAL + 1)
    assert one["environment"] == other["environment"]
    assert one["prediction"] != other["prediction"]
    assert one["reconstruction"] != other["reconstruction"]


@FORMULATIONS
def test_missing_cells_and_padding_rows_do_not_change_the_loss(formulation):
    batch = make_batch()
    hidden = LAYOUT.to_columns(1 - batch.observed) == 1
    garbage = jnp.where(hidden | (batch.present[:, None] == 0), 1e4, batch.values)
    assert int((garbage != batch.values).sum()) > 20
    spoiled = Batch(garbage, batch.observed, batch.present)
    clean_terms, clean = evaluate(formulation, make_weights(), network(), batch)
    terms, gradient = evaluate(formulation, make_weights(), network(), spoiled)
    for name in TERMS:
        np.testing.assert_allclose(terms[name], clean_terms[name], rtol=1e-6, err_msg=name)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(clean), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@functools.cache
def term_gradients():
    """∂ term / ∂ values without an environment: which cells each term looks at."""

    batch, weights, net = make_batch(), make_weights(), network()

    def terms(values):
        changed = Batch(values, batch.observed, batch.present)
        return objective(
            NO_ENVIRONMENT, weights, net, LAYOUT, PARENTS, changed, DECODER_ROWS, NORMAL
        )[1]

    jacobian = np.asarray(jax.jit(jax.jacrev(terms))(batch.values))
    return dict(zip(TERMS, np.abs(jacobian).sum(2), strict=True))  # [rows]


def test_rows_without_label_count_in_the_reconstruction_only():
    looked_at = term_gradients()
    for row in (0, 4):
        assert looked_at["prediction"][row] == 0
        assert looked_at["reconstruction"][row] > 0
    assert looked_at["prediction"][1] > 0 and looked_at["reconstruction"][1] > 0


def test_rows_beyond_the_decoders_share_enter_through_the_environment_only():
    looked_at = term_gradients()
    assert (looked_at["prediction"][DECODER_ROWS:] == 0).all()
    assert (looked_at["reconstruction"][DECODER_ROWS:] == 0).all()
    batch = make_batch()
    moved = eqx.tree_at(lambda b: b.values, batch, batch.values.at[DECODER_ROWS, 0].add(3.0))
    before, _ = evaluate(PAPER, make_weights(), network(), batch)
    after, _ = evaluate(PAPER, make_weights(), network(), moved)
    assert before["environment"] != after["environment"]
    assert before["prediction"] != after["prediction"]


def test_a_batch_without_labels_has_no_prediction_loss():
    batch = make_batch()
    unlabelled = eqx.tree_at(lambda b: b.observed, batch, batch.observed.at[:, -1].set(0.0))
    terms, gradient = evaluate(BAYESIAN, make_weights(), network(), unlabelled)
    assert terms["prediction"] == 0
    assert is_zero(gradient.label)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((terms, gradient)))


def replaced(array, index, values):
    """A copy of `array` with `values` at `index`."""
    out = np.array(array)
    out[index] = values
    return jnp.asarray(out)


def padded(network, big, label_columns):
    """The same network among more columns and variables; what is new is filled with noise."""
    noise = random_network(big, 1.0, seed=9, label_columns=label_columns)
    columns = np.flatnonzero(np.asarray(big.owner).sum(1))
    variables = np.flatnonzero(np.asarray(big.real))
    everything = slice(None)

    def embed(part, places):
        """Put the small arrays at their places in the large ones; all others as they are."""
        small, large = getattr(network, part), getattr(noise, part)
        for name, index in places.items():
            value = replaced(getattr(large, name), index, getattr(small, name))
            small = eqx.tree_at(lambda p, n=name: getattr(p, n), small, value)
        return small

    width = network.label.head_bias.shape[1]
    decoder = embed(
        "decoder",
        {
            "filters": np.ix_(variables, columns),
            "env_filters": variables,
            "filter_bias": variables,
            "heads": columns,
            "head_bias": columns,
            "log_scale": variables,
        },
    )
    label = embed(
        "label",
        {
            "filters": (everything, columns),
            "heads": (everything, slice(width)),
            "env_heads": (everything, slice(width)),
            "head_bias": (everything, slice(width)),
        },
    )
    first, *later = network.encoder.weights
    wide_first = replaced(noise.encoder.weights[0], slice(len(first)), first)
    encoder = eqx.tree_at(lambda e: e.weights, network.encoder, (wide_first, *later))
    return Network(encoder, decoder, label, None, label_columns), columns, variables


@pytest.mark.parametrize("formulation", [BAYESIAN, PAPER], ids=["bayesian", "paper"])
def test_padded_columns_and_variables_change_nothing(formulation):
    big = make_layout(columns=12, variables=8, label_columns=2, center=0.1)
    wide, columns, variables = padded(network(), big, label_columns=2)
    batch = make_batch()
    rng = np.random.default_rng(0)
    garbage = rng.normal(size=(ROWS, 12)).astype(np.float32)
    ones = np.ones((ROWS, 8), dtype=np.float32)
    wide_batch = Batch(
        replaced(garbage, (slice(None), columns), batch.values),
        replaced(ones, (slice(None), variables), batch.observed),
        batch.present,
    )
    wide_parents = replaced(ones[:8], np.ix_(variables, variables), PARENTS)
    terms, gradient = evaluate(formulation, make_weights(), network(), batch)
    wide_terms, wide_gradient = evaluate(
        formulation, make_weights(), wide, wide_batch, layout=big, parents=wide_parents
    )
    for name in TERMS:
        np.testing.assert_allclose(wide_terms[name], terms[name], rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(
        wide_gradient.decoder.heads[columns], gradient.decoder.heads, rtol=1e-3, atol=1e-5
    )
    pads = np.setdiff1d(np.arange(12), columns)
    assert is_zero(wide_gradient.decoder.filters[:, pads])
    assert is_zero(wide_gradient.decoder.heads[pads])
    assert is_zero(wide_gradient.label.filters[:, pads])
    assert is_zero(wide_gradient.encoder.weights[0][pads[pads < 10]])


def test_padding_changes_no_output():
    big = make_layout(columns=12, variables=8, label_columns=2, center=0.1)
    wide, columns, variables = padded(network(), big, label_columns=2)
    values = random_values(LAYOUT, ROWS)
    garbage = np.full((ROWS, 12), 3.0, dtype=np.float32)
    wide_values = replaced(garbage, (slice(None), columns), values)
    wide_parents = replaced(
        np.ones((8, 8), dtype=np.float32), np.ix_(variables, variables), PARENTS
    )

    @jax.jit
    def outputs(network, layout, parents, values):
        inputs = layout.inputs(values, jnp.ones((ROWS, layout.owner.shape[1])))
        label = network.label_outputs(layout, parents, inputs, NORMAL[None])
        return network.decoder.reconstruct(layout, parents, inputs, NORMAL), label

    narrow, votes = outputs(network(), LAYOUT, PARENTS, values)
    found, found_votes = map(np.asarray, outputs(wide, big, wide_parents, wide_values))
    np.testing.assert_allclose(found[:, columns], narrow, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found_votes[..., :1], votes, rtol=1e-4, atol=1e-5)
