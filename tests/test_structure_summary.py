"""Summaries of tables that add up."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dapdag import GraphSearch
from dapdag.structure import Statistics, constants, summarise
from dapdag.warnings import DataWarning

N = 360
SITE = np.tile(["b", "a", "c"], N // 3)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=N) + (SITE == "b")
    y = np.sin(2 * x) + 0.3 * rng.normal(size=N)
    kind = np.where(y + rng.normal(size=N) > 0.5, "high", np.where(x > 1, "mid", "low"))
    frame = pd.DataFrame({"x": x, "y": y, "kind": kind, "flag": (x > 1).astype(int)})
    return frame.mask(rng.random(frame.shape) < 0.03)


def parts_of(table, bounds=(0, 3, 100, 250, N), **options):
    return [summarise(table[a:b], SITE[a:b], **options) for a, b in pairwise(bounds)]


def ordered(statistics: Statistics):
    rows = np.column_stack([statistics.site, statistics.values])
    return rows[np.lexsort(rows.T)]


def test_parts_add_up_to_the_whole(table):
    whole = summarise(table, SITE)
    a, b, c, d = parts_of(table)
    for merged in ((a + b) + (c + d), d + (b + (a + c))):
        assert merged.sites == whole.sites == ("a", "b", "c")
        assert merged.names == whole.names
        np.testing.assert_array_equal(merged.count, whole.count)
        for mine, other in zip(merged.columns, whole.columns, strict=True):
            assert (mine.levels, mine.n_observed) == (other.levels, other.n_observed)
            np.testing.assert_array_equal(mine.distinct, other.distinct)
        np.testing.assert_array_equal(ordered(merged), ordered(whole))


def test_rows_and_merged_statistics_have_the_same_graph(table):
    rows = GraphSearch().fit(table, SITE)
    a, b, c, d = parts_of(table)
    merged = GraphSearch().fit_statistics(d + b + c + a)
    assert set(merged.graph_.edges) == set(rows.graph_.edges)
    # to the last digit
    assert merged.log_evidence_ == rows.log_evidence_
    assert merged.edge_probability_.equals(rows.edge_probability_)
    pd.testing.assert_frame_equal(merged.mechanism_shift_, rows.mechanism_shift_)
    assert rows.rows_["read"].tolist() == rows.rows_["rows"].tolist() == [N // 3] * 3


def test_a_long_table_keeps_a_bounded_sample_of_all_rows_alike(table, monkeypatch):
    monkeypatch.setattr(constants, "MAX_ROWS", 120)
    monkeypatch.setattr(constants, "MIN_SITE_ROWS", 5)
    place = np.arange(N, dtype=float)
    few = np.where(place < 6, "few", "many")
    numbered = pd.DataFrame({"place": place})
    found = [
        sum(summarise(numbered[a : a + 40], few[a : a + 40], (seed, a)) for a in range(0, N, 40))
        for seed in range(30)
    ]
    for merged in found:
        assert merged.count.tolist() == [6, N - 6]
        assert merged.n_kept[0] >= 5
        assert 120 <= len(merged.values) <= 125
        assert len(np.unique(merged.values)) == len(merged.values)
    share = np.bincount(np.concatenate([m.values[:, 0] for m in found]).astype(int), minlength=N)
    by_chunk = share[6:].reshape(-1, 6).mean(axis=1) / 30
    assert abs(by_chunk.mean() - 1 / 3) < 0.02
    assert by_chunk.max() < 0.6


def test_the_sample_does_not_depend_on_how_parts_are_grouped(table, monkeypatch):
    monkeypatch.setattr(constants, "MAX_ROWS", 50)
    monkeypatch.setattr(constants, "MIN_SITE_ROWS", 4)
    a, b, c, d = parts_of(table)
    np.testing.assert_array_equal(ordered((a + b) + (c + d)), ordered(d + (a + (c + b))))


def test_the_sample_of_a_table_does_not_depend_on_order_and_scale(table, monkeypatch):
    monkeypatch.setattr(constants, "MAX_ROWS", 50)
    shuffled = np.random.default_rng(1).permutation(N)
    one = summarise(table, SITE, chunk=0)
    other = table.assign(x=-2.5 * table["x"])[["kind", "y", "flag", "x"]].iloc[shuffled]
    two = summarise(other, SITE[shuffled], chunk=0)
    np.testing.assert_array_equal(np.sort(one.values[:, 1]), np.sort(two.values[:, 1]))


def test_a_column_may_be_empty_in_one_part_but_not_of_two_kinds(table):
    first, second = table[:100], table[100:]
    empty = summarise(first.assign(kind=np.nan), SITE[:100])
    merged = empty + summarise(second, SITE[100:])
    assert merged.columns[2].levels == ("high", "low", "mid")
    with pytest.raises(ValueError, match="'kind' holds numbers in one part"):
        _ = summarise(first.assign(kind=1.0), SITE[:100]) + summarise(second, SITE[100:])
    with pytest.raises(ValueError, match=r"same columns: differing \['y'\]"):
        _ = summarise(first.drop(columns="y")) + summarise(second)
    with pytest.raises(ValueError, match="'kind' has no value"):
        GraphSearch().fit_statistics(empty)
    many = [summarise(table.assign(kind=[f"{k}{i % 20}" for i in range(N)]), SITE) for k in "ab"]
    with pytest.raises(ValueError, match="'kind' holds text .* 40 levels"):
        _ = many[0] + many[1]


def test_no_part_counts_twice(table):
    a, b, *_ = parts_of(table)
    with pytest.raises(ValueError, match="added twice"):
        _ = a + b + a
    with pytest.raises(ValueError, match="`chunk`"):
        _ = summarise(table[:100], chunk=1) + summarise(table[100:], chunk=1)


def test_rows_are_no_summary(table):
    with pytest.raises(ValueError, match="summarise.* got DataFrame"):
        GraphSearch().fit_statistics(table)


def test_a_value_that_the_sample_lacks_is_warned_of(monkeypatch):
    monkeypatch.setattr(constants, "MAX_ROWS", 20)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rare": np.arange(4000) == 7, "a": rng.normal(size=4000)})
    statistics = summarise(X, chunk=0)
    assert len(statistics.values) == 20
    with pytest.warns(DataWarning, match=r"\['rare'\] take their second value .* 4,000 rows"):
        statistics.table()
