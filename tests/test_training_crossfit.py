"""Stacking weights and variance inflation, from sources that label networks left out."""

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGRegressor
from dapdag.inference.stacking import (
    MAX_INFLATION,
    STACK_GRID,
    equal_weights,
    stacking_weights,
    variance_inflation,
)
from dapdag.training.crossfit import assign_folds


def test_every_source_is_left_out_by_some_network_and_no_network_leaves_out_many():
    left_out = sum(1 - assign_folds(4, 4, 16, 9, member) for member in range(3))
    assert (left_out[:9].sum(1) > 0).all()
    one = 1 - assign_folds(4, 4, 16, 9, 0)
    assert one[:9].sum(0).max() <= 2
    np.testing.assert_array_equal(one[:, :4], one[:, 4:])  # a pooled network beside each


def test_few_sources_are_left_out_one_by_one():
    left_out = 1 - assign_folds(4, 4, 4, 3, 0)
    np.testing.assert_array_equal(left_out[:3, :3], np.eye(3))


def test_without_pooled_networks_all_are_trained_on_all_sources():
    assert assign_folds(4, 0, 8, 5, 0).all()
    np.testing.assert_allclose(stacking_weights(np.zeros((1, 2, 11)), 4, 0), equal_weights(4))


@pytest.mark.parametrize("best", [0, 3, 10])
def test_the_stacking_weight_has_the_least_mean_loss(best):
    losses = np.abs(STACK_GRID - STACK_GRID[best]) * np.ones((2, 5, 1))
    losses[0, 0] = np.nan  # a domain without labels
    weights = stacking_weights(losses, 4, 4)
    assert weights.sum() == pytest.approx(1)
    assert weights[:4].sum() == pytest.approx(STACK_GRID[best])


def test_the_loss_difference_of_one_source_is_capped():
    most = np.tile(-0.2 * STACK_GRID, (7, 1))
    lost = np.vstack([most, 6 * STACK_GRID**2])[None]
    assert lost[0, :, -1].mean() > 0
    assert stacking_weights(lost, 4, 4)[:4].sum() > 0.5
    many = np.vstack([most, np.tile(6 * STACK_GRID**2, (5, 1))])[None]
    assert stacking_weights(many, 4, 4)[:4].sum() == pytest.approx(0.3)


def test_without_left_out_losses_the_stacking_weight_is_one_half():
    assert stacking_weights(np.full((2, 3, len(STACK_GRID)), np.nan), 4, 4)[
        :4
    ].sum() == pytest.approx(0.5)


SMALL = {"n_members": 2, "hidden": 8, "max_epochs": 60, "random_state": 0}


def shifted(label_moves):
    """Sites whose feature's mean is E; E moves the label's level, or noise does."""
    rng = np.random.default_rng(0)
    parts = []
    for site, env in enumerate(np.linspace(-2, 2, 8)):
        x = env + rng.normal(size=100)
        z = rng.normal(size=100)
        level = 3 * env if label_moves else rng.normal(0, 1.5)
        y = z + level + 0.3 * rng.normal(size=100)
        parts.append(pd.DataFrame({"x": x, "z": z, "y": y, "site": site}))
    return pd.concat(parts, ignore_index=True)


def model_of(table):
    est = DAPDAGRegressor(**SMALL)
    est.fit(table[["x", "z"]], table["y"], sample_domain=table["site"])
    return est.fitted_.model


def test_the_stacking_weight_is_larger_where_e_acts_on_the_label_than_where_intercepts_are_random():
    useful, idle = (
        m.stack_weights[: m.sizes.n_predictors].sum()
        for m in map(model_of, map(shifted, (True, False)))
    )
    assert useful >= 0.8
    assert idle < useful


def test_unpredictable_site_effects_inflate_the_variance_at_new_sites():
    site = np.repeat(np.arange(8), 100)
    steady, erratic = site, 3 * (-1) ** site  # x identifies the site

    def inflation(level, seed):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({"x": site + 0.1 * rng.normal(size=800), "z": rng.normal(size=800)})
        y = table["z"] + level + 0.3 * rng.normal(size=800)
        return model_of(table.assign(y=y, site=site)).inflation

    assert np.mean([inflation(steady, seed) for seed in range(3)]) < 1.3
    assert np.min([inflation(erratic, seed) for seed in range(3)]) > 1.6


def test_variance_inflation_is_the_geometric_mean_over_left_out_sources():
    weights = np.repeat([0.3 / 4, 0.7 / 4], 4)
    inflation = np.full((2, 3, len(STACK_GRID)), np.nan)
    inflation[0, 0, 3], inflation[1, 1, 3] = np.log(2.0), np.log(3.0)
    assert variance_inflation(weights, 4, inflation) == pytest.approx(np.sqrt(6.0))
    assert (
        variance_inflation(weights, 4, -inflation) == 1.0
    )  # never below the variance at the sources
    assert variance_inflation(weights, 4, 9 * inflation) == MAX_INFLATION
    assert variance_inflation(weights, 4, np.full_like(inflation, np.nan)) == 1.0
