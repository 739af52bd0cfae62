"""Has a site moved? False alarms at the nominal rate, and drift that is found."""

import numpy as np
import pandas as pd
import pytest
from test_site_model import classes, numbers  # noqa: F401

from dapdag.explain import track
from dapdag.explain.drift import permutation_test
from dapdag.explain.periods import cut_into_periods


def simulated_test(rng, moved, n=120):
    """p-value for three components, of which the last may move in the second half."""
    table = rng.normal(size=(n, 3))
    table[n // 2 :, 2] += moved
    code = np.repeat([0, 1, 2, 3], n // 4)
    return permutation_test(table, np.arange(3), code, 99, rng)


def test_false_alarms_and_power():
    rng = np.random.default_rng(0)
    alarms = np.array([simulated_test(rng, 0.0)[2] for _ in range(300)]) < 0.05
    assert 0.02 <= alarms.mean() <= 0.08
    found = [simulated_test(rng, 1.0) for _ in range(40)]
    assert np.mean([p < 0.05 for _, _, p in found]) > 0.8
    assert np.mean([adjusted[2] < 0.05 for _, adjusted, _ in found]) > 0.8
    assert np.mean([(adjusted[:2] < 0.05).any() for _, adjusted, _ in found]) < 0.15


def test_a_site_that_stays_and_one_that_moves(numbers):  # noqa: F811
    est, X, _ = numbers
    rng = np.random.default_rng(1)
    rows = X.iloc[rng.integers(len(X), size=400)].reset_index(drop=True)
    time = pd.date_range("2024-01-01", periods=400, freq="D")
    still = track(est, rows, time, periods=4)
    assert list(still.periods["rows"]) == [100] * 4
    assert {"start", "end", "E1_mean", "E1_sd", "outside"} <= set(still.periods)
    assert still.periods["E1_sd"].gt(0).all()
    assert still.p_value > 0.01
    moved = rows.copy()
    moved.loc[200:, "X1"] += 2.0
    found = track(est, moved, time, periods=4)
    assert found.moved and "X1" in found.moving
    assert "moved" in found.sentence() and "'X1'" in found.sentence()
    assert found.components.loc["X1", "change"] > 0.5
    by_month = track(est, moved, time, periods="Q")
    assert list(by_month.periods.index) == ["2024Q1", "2024Q2", "2024Q3", "2024Q4", "2025Q1"]


def test_the_order_of_rows_does_not_matter_when_times_go_along(classes):  # noqa: F811
    est, X, _ = classes
    time = np.arange(len(X), dtype=float)
    order = np.random.default_rng(0).permutation(len(X))
    one = track(est, X, time, periods=3)
    other = track(est, X.iloc[order], time[order], periods=3)
    np.testing.assert_allclose(
        one.periods.filter(like="E1_").to_numpy(dtype=float),
        other.periods.filter(like="E1_").to_numpy(dtype=float),
        rtol=1e-4,
    )


def test_rows_of_one_moment_share_a_period():
    cut = cut_into_periods([1, 1, 1, 1, 2, 2, 3, 3], 8, 4)
    assert cut.code.tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert cut.starts == [1.0, 2.0, 3.0]
    texts = cut_into_periods(["2024-01-05", "2023-01-01", "2024-02-01"], 3, "Y")
    assert texts.labels == ["2023", "2024"] and texts.code.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("time", "periods", "match"),
    [
        ([1, 2], None, "time has 2 values, X has 4 rows"),
        ([1, None, 3, 4], None, "missing in 1 row.s., the first at position 1"),
        (["2024-01-01", "soon", "2024-01-02", "2024-01-03"], None, "'soon' at position 1"),
        ([True, False, True, False], None, "truth values"),
        ([1.0, np.inf, 2.0, 3.0], None, "infinite at position 1"),
        ([1, 1, 1, 1], None, "one period"),
        ([1, 2, 3, 4], 9, "between 2 and the 4 rows, not 9"),
        ([1, 2, 3, 4], 2.5, "a whole number .* not 2.5"),
        (np.zeros((4, 2)), None, r"one value per row, and has shape .4, 2."),
        (None, None, r"one value per row, and has shape .."),
        ([1, 2, 3, 4], "M", "frequency of dates, and time holds numbers"),
        (pd.date_range("2024", periods=4), "fortnight", "'fortnight' is no frequency"),
    ],
)
def test_strange_times_are_refused(time, periods, match):
    with pytest.raises(ValueError, match=match):
        cut_into_periods(time, 4, periods)


def test_too_few_permutations_are_refused(numbers):  # noqa: F811
    est, X, _ = numbers
    with pytest.raises(ValueError, match="at least 19"):
        track(est, X, np.arange(len(X)), permutations=5)
