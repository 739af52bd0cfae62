"""Batches of the paper's algorithm: a domain by its size, a random number of its rows."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training_cases import assembled

from dapdag.data.blocks import make_blocks
from dapdag.data.layout import Encoded, take
from dapdag.training.step import _draw_batch

SIZES = (100, 60, 24)
N_DRAWS = 20_000


@pytest.fixture(scope="module")
def batches():
    """Many batches of rows that carry their number (column 0) and their domain (column 1)."""
    domain = np.repeat(np.arange(len(SIZES)), SIZES)
    number = np.concatenate([np.arange(n) for n in SIZES])
    data = Encoded(
        np.column_stack([number, domain]).astype(np.float32),
        np.ones((len(domain), 1), dtype=np.float32),
    )
    # So few validation rows that none is taken: training blocks hold every row.
    blocks, batch_rows = make_blocks([partial(take, data)], [domain], [0], valid_share=1e-6)
    problem, trainer, _ = assembled()
    problem = eqx.tree_at(lambda p: p.blocks, problem, jax.tree.map(jnp.asarray, blocks))
    problem = jax.tree.map(lambda a: a[0], problem)
    trainer = replace(trainer, batch_rows=batch_rows)
    uniform = jax.random.uniform(jax.random.key(0), (N_DRAWS, 3))
    drawn = jax.jit(jax.vmap(lambda u: _draw_batch(trainer, problem, u)[1]))(uniform)
    present = np.asarray(drawn.present).astype(bool)
    values = np.asarray(drawn.values)
    assert batch_rows > min(SIZES)
    return values[:, :, 0].astype(int), values[:, 0, 1].astype(int), present, values


def test_domains_are_drawn_in_proportion_to_their_size(batches):
    _, domain, _, _ = batches
    share = np.bincount(domain, minlength=len(SIZES)) / N_DRAWS
    expected = np.array(SIZES) / sum(SIZES)
    assert (np.abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / N_DRAWS)).all()


def test_a_batch_holds_distinct_rows_of_one_domain_and_never_more_than_it_has(batches):
    number, domain, present, values = batches
    assert (present.sum(1) >= 1).all()
    assert (present.sum(1) <= np.array(SIZES)[domain]).all()
    assert ((values[:, :, 1] == domain[:, None]) | ~present).all()
    for i in range(200):
        rows = number[i, present[i]]
        assert len(set(rows)) == len(rows)


def test_batch_sizes_vary_up_to_the_whole_domain(batches):
    _, domain, present, _ = batches
    for d, n in enumerate(SIZES):
        sizes = np.unique(present.sum(1)[domain == d])
        largest = min(n, present.shape[1])
        assert sizes.min() < largest / 2
        np.testing.assert_array_equal(sizes, np.arange(sizes.min(), largest + 1))


def test_every_row_of_a_domain_is_drawn_equally_often(batches):
    number, domain, present, _ = batches
    for d, n in enumerate(SIZES):
        at = domain == d
        times = np.bincount(number[at][present[at]], minlength=n)
        np.testing.assert_allclose(times / times.mean(), 1.0, atol=0.1)
        # The decoder looks at the first rows of a batch: these must be fair too.
        first = np.bincount(number[at][:, 0], minlength=n)
        assert (np.abs(first - first.mean()) < 5 * np.sqrt(first.mean())).all()
