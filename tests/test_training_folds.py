"""Folds of sources: which networks leave which source out, and what that says about new sites."""

import functools
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from training_cases import assembled, start_of

from dapdag import DAPDAGRegressor
from dapdag.model import Sizes
from dapdag.model.objective import Batch
from dapdag.model.parameters import slices_of, split_folds, unravel
from dapdag.training.folds import equal_weights, fold_masks, leaves_out


def sizes(n=4, pooled=4, folds=4):
    return Sizes(8, 8, 1, 4, 1, 1, n_predictors=n, n_pooled=pooled, n_fold=folds)


def test_every_source_is_left_out_by_some_network_and_no_network_leaves_out_many():
    left_out = sum(leaves_out(sizes(), 9, member) for member in range(3))
    assert (left_out.sum(1) > 0).all()
    assert leaves_out(sizes(), 9, 0).sum(0).max() <= 2


def test_few_sources_are_left_out_one_by_one():
    np.testing.assert_array_equal(leaves_out(sizes(), 3, 0)[:, :3], np.eye(3))


def test_only_fold_networks_leave_sources_out_with_and_without_e_alike():
    mask = fold_masks(sizes(), 16, 9, 0)
    with_e, folds, pooled, pooled_folds = np.split(mask, 4, axis=1)
    assert with_e.all() and pooled.all()
    np.testing.assert_array_equal(folds, pooled_folds)
    np.testing.assert_array_equal(folds[:9] == 0, leaves_out(sizes(), 9, 0))
    assert mask[9:].all()  # unlabelled and padded domains


def test_without_folds_all_networks_are_trained_on_all_sources():
    assert fold_masks(sizes(pooled=0, folds=0), 8, 5, 0).all()


def test_weights_are_those_of_networks_that_saw_all_sources():
    expected = np.repeat([0.125, 0.0, 0.125, 0.0], 4)
    np.testing.assert_allclose(equal_weights(sizes()), expected)
    np.testing.assert_allclose(equal_weights(sizes(pooled=0, folds=0)), 0.25)


def test_a_network_gets_no_gradient_from_a_source_that_it_leaves_out():
    problem, trainer, _ = assembled()
    own = jax.tree.map(lambda a: jnp.asarray(a[0]), problem)
    out = leaves_out(trainer.sizes, 3, 0)  # [sources, fold networks]
    network = trainer.network(jnp.asarray(start_of("label")))
    n, folds = trainer.sizes.n_predictors, trainer.sizes.n_fold
    rows = trainer.batch_rows
    batch = Batch(*own.blocks.window(jnp.int32(0), 0, rows)[:2], jnp.ones(rows))

    @eqx.filter_jit
    def gradient(domain):
        def loss(network):
            return trainer.loss(own, own.weights, network, domain, batch, jnp.zeros(1))[0]

        found = eqx.filter_grad(loss)(network)
        slots = trainer.sizes.slots
        mechanisms = found.mechanisms.networks.filters.reshape(n + folds, slots, -1)
        return abs(found.label.filters).sum((1, 2)), abs(mechanisms).sum((1, 2))

    for domain in range(3):
        label, mechanisms = map(np.asarray, gradient(jnp.int32(domain)))
        trained = np.concatenate([np.ones(n, bool), ~out[domain]])
        np.testing.assert_array_equal(label > 0, np.tile(trained, 2))
        np.testing.assert_array_equal(mechanisms > 0, trained)


def test_split_folds_separates_networks_and_keeps_encoder_and_decoder():
    trainer = assembled()[1]
    s = trainer.sizes
    vector = jnp.asarray(start_of("label"))
    own, left = split_folds(s, vector)
    kept = replace(s, n_fold=0)
    assert own.shape == left.shape == (slices_of(kept).size,)
    whole = unravel(s, vector)
    n, f = s.n_predictors, s.n_fold
    for part, networks, first in ((own, [0, 1, 4, 5], 0), (left, [2, 3, 6, 7], n)):
        found = unravel(kept, part)
        np.testing.assert_array_equal(found.label.filters, whole.label.filters[np.array(networks)])
        slots = slice(first * s.slots, (first + f) * s.slots)
        np.testing.assert_array_equal(
            found.mechanisms.networks.filters, whole.mechanisms.networks.filters[slots]
        )
        for name in ("encoder", "decoder"):
            for a, b in zip(
                jax.tree.leaves(getattr(found, name)),
                jax.tree.leaves(getattr(whole, name)),
                strict=True,
            ):
                np.testing.assert_array_equal(a, b)


SMALL = {"n_members": 1, "hidden": 8, "max_epochs": 60, "random_state": 0}


@functools.cache
def model_of(label, seed=0):
    """Eight sites whose feature's mean is E; the label's level follows E, or random numbers."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(8), 100)
    env = np.linspace(-2, 2, 8)[site]
    x, z = env + 0.3 * rng.normal(size=800), rng.normal(size=800)
    level = {"follows": 3 * env, "erratic": 3.0 * (-1) ** site}[label]
    y = z + level + 0.3 * rng.normal(size=800)
    est = DAPDAGRegressor(**SMALL)
    return est.fit(pd.DataFrame({"x": x, "z": z}), y, sample_domain=site).fitted_.model


def test_unpredictable_site_effects_are_variance_between_sites():
    follows, erratic = (model_of(label).calibration for label in ("follows", "erratic"))
    assert follows.n_sites == erratic.n_sites == 4  # one for each network of a kind
    assert erratic.tau2 > 0.5 > 0.1 > follows.tau2
