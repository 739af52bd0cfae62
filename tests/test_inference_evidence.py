"""What is kept of a site's rows."""

import numpy as np
import pytest
from test_inference_prediction import make_model, make_rows

from dapdag.data.chunks import Chunks
from dapdag.data.layout import Encoded
from dapdag.inference import evidence
from dapdag.inference.evidence import add_rows, gather, row_keys


def kept_values(found):
    return found.kept.data.values


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(evidence, "SITE_ROWS", 40)


def test_rows_that_are_kept_do_not_depend_on_their_order(few_rows):
    model, X = make_model(), make_rows(100)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = (gather(model, Chunks(model.table, part)) for part in (X, X.iloc[order]))
    assert len(kept_values(one)) == 40
    np.testing.assert_array_equal(kept_values(one), kept_values(other))


def test_parts_of_a_site_add_up_to_the_whole(few_rows):
    model, X = make_model(), make_rows(100)
    y = np.arange(100.0)[:, None]
    y[::3] = np.nan
    whole = gather(model, Chunks(model.table, X), y)
    first = gather(model, Chunks(model.table, X[:30]), y[:30])
    both = add_rows(model, first, Chunks(model.table, X[30:]), y[30:])
    assert both.n_rows == whole.n_rows == 100
    np.testing.assert_array_equal(kept_values(both), kept_values(whole))
    np.testing.assert_array_equal(both.labelled.data.values, whole.labelled.data.values)
    np.testing.assert_allclose(both.summary.excess, whole.summary.excess, rtol=1e-5)


def test_keys_tell_rows_apart_and_take_no_sign_of_zero():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 3)).astype(np.float32)
    values[-1] = values[0]
    values[1], values[2] = 0.0, -0.0
    keys = row_keys(Encoded(values, np.ones((2000, 4), dtype=np.float32)))
    assert len(np.unique(keys)) == 2000
    turned = values.copy()
    turned[[1, 2]] = turned[[2, 1]]
    again = row_keys(Encoded(turned, np.ones((2000, 4), dtype=np.float32)))
    np.testing.assert_array_equal(again, keys)
    # nearly uniform: the smallest half of the keys is a fair sample of any column
    low = keys < np.median(keys)
    assert abs(values[low, 0].mean() - values[~low, 0].mean()) < 0.2


def test_equal_rows_are_kept_in_proportion(monkeypatch):
    monkeypatch.setattr(evidence, "SITE_ROWS", 400)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, size=(4000, 2)).astype(np.float32)
    values[:, 0] = rng.random(4000) < 0.3
    data = Encoded(values, np.ones((4000, 3), dtype=np.float32))
    kept = evidence.Rows.of(data).data.values
    assert len(kept) == 400
    assert abs(kept[:, 0].mean() - 0.3) < 0.1 and abs(kept[:, 1].mean() - 0.5) < 0.1
    halves = [evidence.Rows.of(Encoded(values[k::2], data.observed[k::2])) for k in (0, 1)]
    both = (halves[0] + halves[1]).data.values
    assert abs(both[:, 0].mean() - 0.3) < 0.1


@pytest.mark.parametrize("rows", [500, evidence.SITE_ROWS])
def test_equal_rows_of_many_parts_are_a_sample_of_all_rows(rows):
    """Kept by their contents alone, equal rows of all parts would be kept or left out together."""
    rng = np.random.default_rng(2)
    values = (rng.random((100, rows, 3)) < [0.5, 0.3, 0.1]).astype(np.float32)
    parts = [evidence.Rows.of(Encoded(v, np.ones((rows, 4), dtype=np.float32))) for v in values]
    in_turn = sum(parts[1:], start=parts[0])
    while len(parts) > 1:  # a tree, as over partitions
        parts = [sum(parts[k + 1 : k + 8], start=parts[k]) for k in range(0, len(parts), 8)]
    for kept in (in_turn, parts[0]):
        found = kept.data.values
        assert len(found) == len(np.unique(kept.key)) == evidence.SITE_ROWS
        error = np.abs(found.mean(0) - values.mean((0, 1)))
        assert error.max() < 4 * 0.5 / np.sqrt(len(found))
