import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dapdag.inference.reliability import (
    calibration_error,
    equal_bins,
    interval_coverage,
    quantile_bins,
    wilson,
)

PREDICTIONS = st.lists(st.floats(0, 1), min_size=1, max_size=80)


@given(PREDICTIONS, st.integers(1, 12), st.integers(1, 15))
def test_bins_hold_every_row_once_and_none_holds_too_few(predicted, n_bins, fewest):
    bins = quantile_bins(np.ones(len(predicted)), predicted, n_bins, fewest)
    assert sum(b.rows for b in bins) == len(predicted)
    assert len(bins) == 1 or min(b.rows for b in bins) >= fewest
    assert len(bins) <= n_bins
    means = [b.predicted for b in bins]
    assert means == sorted(means)


@given(PREDICTIONS)
def test_equal_bins_lie_in_tenths(predicted):
    bins = equal_bins(np.zeros(len(predicted)), predicted)
    assert sum(b.rows for b in bins) == len(predicted)
    tenths = [min(int(b.predicted * 10 + 1e-9), 9) for b in bins]
    assert len(set(tenths)) == len(bins)


def test_equal_predictions_share_a_bin():
    bins = quantile_bins([0, 1, 0, 1, 1, 1], [0.3, 0.3, 0.3, 0.3, 0.3, 0.9], n_bins=3)
    assert [b.rows for b in bins] == [5, 1]
    assert bins[0].observed == pytest.approx(0.6)


def test_the_error_is_the_mean_distance():
    bins = equal_bins([1, 1, 0, 0], [0.95, 0.95, 0.15, 0.15])
    assert calibration_error(bins) == pytest.approx(0.1)


def test_coverage_counts_rows_inside_the_central_interval():
    found = interval_coverage([0.0, 1.0, 3.0, 1.7], np.zeros(4), np.ones(4), [0.5, 0.9])
    assert [c.observed for c in found] == [0.25, 0.5]


def test_wilson_stays_between_0_and_1_and_narrows_with_rows():
    low, high = wilson([0.0, 1.0, 0.5, 0.5], [5, 5, 10, 1000])
    assert low[0] == 0
    assert high[1] == 1
    assert (low <= [0.0, 1.0, 0.5, 0.5]).all()
    assert (high >= [0.0, 1.0, 0.5, 0.5]).all()
    assert high[3] - low[3] < high[2] - low[2]
