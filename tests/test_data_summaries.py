"""Summaries of columns by site, and standardised differences between them."""

import numpy as np
import pandas as pd
import pytest

from dapdag.data.columns import Continuous, Discrete, Standardised
from dapdag.data.summaries import cells_summary, pooled, standardised_difference
from dapdag.data.table import Table

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": RNG.normal(60, 10, 200),
        "sex": RNG.choice(["f", "m"], 200),
        "stage": RNG.choice(["I", "II", "III"], 200, p=[0.5, 0.3, 0.2]),
        "rare": np.where(np.arange(200) < 3, 1.0, np.nan),
    }
)
TABLE = Table(
    (
        Continuous.learn("age", X["age"].to_numpy()),
        Discrete.learn("sex", X["sex"]),
        Discrete.learn("stage", X["stage"]),
        Continuous.learn("rare", X["rare"].to_numpy()),
    ),
    Standardised("y", 0.0, 1.0),
)


def test_numbers_have_moments_and_levels_have_shares():
    age, sex, stage, rare = cells_summary(TABLE, X)
    assert age == pytest.approx((X["age"].mean(), X["age"].std(ddof=0)))
    assert sex == pytest.approx(((X["sex"] == "f").mean(), (X["sex"] == "m").mean()))
    assert sum(stage) == pytest.approx(1) and len(stage) == 3
    assert rare == ()  # three values could be told from their mean


def test_sites_together_have_the_moments_of_all_rows():
    parts = np.split(np.arange(200), [30, 90])
    for j, discrete in enumerate([False, True, True]):
        each = [cells_summary(TABLE, X.iloc[rows])[j] for rows in parts]
        whole = pooled(each, [len(rows) for rows in parts], discrete)
        assert whole == pytest.approx(cells_summary(TABLE, X)[j])


def test_differences_are_in_standard_deviations():
    assert standardised_difference((12.0, 2.0), (10.0, 2.0), False) == pytest.approx(1.0)
    assert standardised_difference((0.7, 0.3), (0.5, 0.5), True) == pytest.approx(
        -0.2 / np.sqrt((0.21 + 0.25) / 2)
    )
    # more levels: of two, the distance is the size of the difference
    three = standardised_difference((0.7, 0.3, 0.0), (0.5, 0.5, 0.0), True)
    assert three == pytest.approx(0.2 / np.sqrt((0.21 + 0.25) / 2))
    assert standardised_difference((5.0, 0.0), (5.0, 0.0), False) == 0
    assert standardised_difference((6.0, 0.0), (5.0, 0.0), False) == np.inf
    assert np.isnan(standardised_difference((), (5.0, 1.0), False))
