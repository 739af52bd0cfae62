from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from dapdag.data import blocks as module
from dapdag.data.blocks import largest_size, make_blocks, steps_per_epoch
from dapdag.data.columns import Discrete, Standardised, learn_feature
from dapdag.data.layout import Encoded, encode, layout_of, sizes_of, take
from dapdag.data.table import Table


def numbered(sizes):
    """Rows that carry their own number, and the domain of each, in mixed order."""
    domain = np.repeat(np.arange(len(sizes)), sizes)
    domain = np.random.default_rng(0).permutation(domain)
    n = len(domain)
    number = np.arange(1, n + 1, dtype=np.float32)
    return Encoded(number[:, None], np.ones((n, 1), dtype=np.float32)), domain


SIZES = (60, 17, 5, 4, 1)


@pytest.fixture(scope="module")
def blocks():
    data, domain = numbered(SIZES)
    made, batch_rows = make_blocks([partial(take, data)], [domain], [0, 1], valid_share=0.2)
    return data, domain, made, batch_rows


def training_rows(made, lane, d):
    first, n = int(made.first[lane, d]), int(made.n_rows[lane, d])
    return made.values[lane, first : first + n, 0].tolist()


def validation_rows(made, lane, d):
    return made.valid_values[lane, d, made.valid_present[lane, d] == 1, 0].tolist()


def test_every_row_lands_once_in_training_or_validation(blocks):
    data, domain, made, _ = blocks
    for lane in range(2):
        for d, size in enumerate(SIZES):
            own = set(data.values[domain == d, 0])
            train, valid = training_rows(made, lane, d), validation_rows(made, lane, d)
            assert len(set(train)) == len(train) and len(set(valid)) == len(valid)
            assert set(train) | set(valid) == own
            if size >= 5:
                assert not set(train) & set(valid)
                assert len(valid) == round(0.2 * size)
            else:
                assert set(train) == set(valid) == own


def test_unequal_domains_cost_no_padding(blocks):
    *_, made, _ = blocks
    assert made.values.shape[1] < 1.5 * made.n_rows[0].sum()


def test_lanes_split_differently(blocks):
    *_, made, _ = blocks
    assert set(made.valid_values[0, 0, :, 0]) != set(made.valid_values[1, 0, :, 0])


def test_the_same_seed_splits_alike_whatever_the_other_lanes(blocks):
    data, domain, made, _ = blocks
    alone, _ = make_blocks([partial(take, data)], [domain], [1], valid_share=0.2)
    np.testing.assert_array_equal(alone.values[0], made.values[1])
    np.testing.assert_array_equal(alone.valid_values[0], made.valid_values[1])


def test_a_window_may_start_at_any_row_and_wraps_around(blocks):
    *_, made, batch_rows = blocks
    lane = jax.tree.map(lambda a: jnp.asarray(a[0]), made)
    window = jax.jit(lambda d, start: lane.window(d, start, batch_rows)[0][:, 0])
    for d in range(len(SIZES)):
        own = np.array(training_rows(made, 0, d))
        for start in range(len(own)):
            expected = own[(start + np.arange(batch_rows)) % len(own)]
            np.testing.assert_array_equal(window(d, start), expected, err_msg=f"domain {d}")


def test_domains_that_pad_have_no_rows(blocks):
    *_, made, _ = blocks
    assert made.n_rows.shape[1] >= len(SIZES)
    assert (made.n_rows[:, len(SIZES) :] == 0).all()
    assert (made.valid_present[:, len(SIZES) :] == 0).all()


def test_single_row_domains_make_blocks():
    data, domain = numbered((1, 1))
    made, batch_rows = make_blocks([partial(take, data)], [domain], [0], valid_share=0.1)
    np.testing.assert_array_equal(made.n_rows[0, :2], 1)
    assert batch_rows >= 1
    assert [training_rows(made, 0, d) for d in range(2)] == data.values[np.argsort(domain)].tolist()


@pytest.mark.parametrize(("size", "share"), [(50, 0.99), (5, 0.95)])
def test_training_keeps_at_least_one_row(size, share):
    data, domain = numbered((size,))
    made, _ = make_blocks([partial(take, data)], [domain], [0], valid_share=share)
    assert made.n_rows[0, 0] >= 1


def test_lanes_of_tables_of_different_length_share_a_shape():
    small, small_domain = numbered((10, 10))
    large, large_domain = numbered((40, 20, 30))
    encoders = [partial(take, small), partial(take, large)]
    made, _ = make_blocks(encoders, [small_domain, large_domain], [0], valid_share=0.1)
    np.testing.assert_array_equal(made.n_rows[0, :3], [9, 9, 0])
    np.testing.assert_array_equal(made.n_rows[1, :3], [36, 18, 27])


def test_a_large_table_gives_an_equal_share_of_every_domain():
    data, domain = numbered((4000, 1000, 40))
    made, _ = make_blocks([partial(take, data)], [domain], [0], valid_share=0.1, most_rows=500)
    np.testing.assert_array_equal(made.n_rows[0, :3], [396, 99, module.SMALLEST_BLOCK])
    for d in range(3):
        own = training_rows(made, 0, d)
        assert set(own) <= set(data.values[domain == d, 0]) and len(set(own)) == len(own)


def test_validation_rows_are_bounded_and_stand_for_all_of_their_domain(monkeypatch):
    monkeypatch.setattr(module, "MOST_VALID_ROWS", 64)
    data, domain = numbered((400, 100))
    made, _ = make_blocks([partial(take, data)], [domain], [0], valid_share=0.2)
    np.testing.assert_array_equal(made.valid_present[0].sum(1), [32, 20])
    np.testing.assert_allclose((made.valid_present[0].sum(1) * made.valid_weight[0]), [80, 20])


def test_of_very_many_domains_some_are_validated(monkeypatch):
    monkeypatch.setattr(module, "MOST_VALID_ROWS", 128)
    data, domain = numbered((10,) * 40)
    made, _ = make_blocks([partial(take, data)], [domain], [0], valid_share=0.4)
    assert made.valid_domain[0].tolist() == [0, 13, 26, 39]
    for block, d in enumerate(made.valid_domain[0].tolist()):
        assert set(validation_rows(made, 0, block)) < set(data.values[domain == d, 0])


@pytest.mark.parametrize(("most", "size"), [(16, 16), (23, 16), (24, 24), (100, 96)])
def test_the_largest_size_is_not_above_the_limit(most, size):
    assert largest_size(most) == size


def make_table(label):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    return Table(tuple(learn_feature(name, frame[name]) for name in frame), label)


THREE = Discrete("y", ("lo", "mid", "hi"), (1.0, 1.0, 1.0))
NUMBER = Standardised("y", 0.0, 1.0)


@pytest.mark.parametrize("label", [NUMBER, THREE], ids=["number", "classes"])
def test_the_label_is_last_and_padding_belongs_to_no_variable(label):
    table = make_table(label)
    columns, variables, label_columns = sizes_of(table)
    layout = layout_of(table)
    owner = np.asarray(layout.owner)
    assert owner.shape == (columns, variables)
    np.testing.assert_array_equal(np.flatnonzero(owner[:, 0]), [0])
    np.testing.assert_array_equal(np.flatnonzero(owner[:, 1]), [1, 2, 3])
    first = columns - label_columns
    np.testing.assert_array_equal(
        np.flatnonzero(owner[:, -1]), np.arange(first, first + label.width)
    )
    assert owner.sum() == 4 + label.width
    np.testing.assert_array_equal(np.flatnonzero(layout.real), [0, 1, variables - 1])
    assert getattr(layout, label.kind)[-1] == 1


def test_rows_without_label_are_marked_and_hold_zero():
    table = make_table(THREE)
    features = np.ones((3, 4), dtype=np.float32)
    label = np.array([[0, 1, 0], [np.nan] * 3, [1, 0, 0]])
    data = encode(table, features, np.ones((3, 2), dtype=np.float32), label)
    np.testing.assert_array_equal(data.observed[:, -1], [1, 0, 1])
    assert np.isfinite(data.values).all()
    first = data.values.shape[1] - sizes_of(table)[2]
    np.testing.assert_array_equal(data.values[:, first : first + 3], np.nan_to_num(label))
    unlabelled = encode(table, features, np.ones((3, 2), dtype=np.float32), None)
    assert (unlabelled.observed[:, -1] == 0).all()


def test_an_epoch_visits_about_as_many_rows_as_there_are():
    n = np.array([400, 300, 200, 0])
    steps = steps_per_epoch(n, batch_rows=512, smallest=0.25)
    # Domains are drawn by size; a batch is on average 62.5 % of its domain.
    mean_batch = 0.625 * (n**2).sum() / n.sum()
    assert steps == round(n.sum() / mean_batch)
    assert steps_per_epoch(np.array([1]), 16, 0.25) >= 1
