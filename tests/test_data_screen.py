"""Columns and rows that may mislead are found, with their figures; ordinary ones are left alone."""

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGClassifier
from dapdag.data.explained import explained_alone, explained_together
from dapdag.data.screen import screen
from dapdag.warnings import DataWarning, LeakageWarning

N = 400


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    age = rng.normal(60, 10, N).round()
    X = pd.DataFrame(
        {
            "age": age,
            "sbp": rng.normal(130, 15, N).round(),
            "bmi": rng.normal(26, 4, N).round(1),
            "sex": rng.choice(["f", "m"], N),
        }
    )
    y = (age + rng.normal(0, 12, N) > 62).astype(int)
    site = np.repeat(["h0", "h1", "h2", "h3"], N // 4)
    return X, y, site


def found(table, kind, **columns):
    X, y, site = table
    return [f for f in screen(X.assign(**columns), y, site, "died", True) if f.kind == kind]


def test_an_ordinary_table_has_no_findings(table):
    X, y, site = table
    assert screen(X, y, site, "died", True) == []
    assert (
        screen(X, X["age"] * 0.3 + np.random.default_rng(1).normal(0, 3, N), site, "y", False) == []
    )


def test_a_label_that_a_few_rows_decide_is_named(table):
    X, _, site = table
    size = np.random.default_rng(3).normal(size=N)
    (finding,) = screen(X, np.exp(3 * size), site, "cost", False)
    assert finding.kind == "tails" and "4 rows of 400 hold 9" in finding.text
    assert "'cost'" in finding.text and "logarithm" in finding.text
    for usual in (size, np.exp(size / 2), np.exp(3 * size)[:90]):
        assert screen(X[: len(usual)], usual, site[: len(usual)], "cost", False) == []
    huge = np.exp(3 * size) * 1e200
    assert [f.kind for f in screen(X, huge, site, "cost", False)] == ["tails"]


@pytest.mark.parametrize("what", ["noisy copy", "mostly equal"])
def test_a_column_made_from_the_label_is_named_with_its_share(table, what):
    rng, y = np.random.default_rng(2), table[1]
    leak = (
        y + 0.15 * rng.normal(size=N)
        if what == "noisy copy"
        else np.where(rng.random(N) < 0.97, y, 1 - y)
    )
    (finding,) = found(table, "leak", autopsy=leak)
    assert finding.columns == ("autopsy",)
    assert (
        "'autopsy' alone explains" in finding.text and "all other columns together" in finding.text
    )


def test_a_leak_of_numbers_is_found_at_any_scale(table):
    X, _, site = table
    y = np.random.default_rng(3).normal(size=N)
    for scale in (1e-200, 1.0, 1e200):
        kinds = [f.kind for f in screen(X.assign(copy=y + 5), y * scale, site, "y", False)]
        assert kinds == ["leak"]


def test_columns_of_the_site_are_told_from_columns_of_rows(table):
    site = table[2]
    beds = pd.Series(site).map({"h0": 100, "h1": 300, "h2": 100, "h3": 250})
    centre = pd.Series(site).map({"h0": "A", "h1": "B", "h2": "C", "h3": "D"})
    one, two = found(table, "site", beds=beds, centre=centre)
    assert one.columns == ("centre",) and "a name of the site" in one.text
    assert two.columns == ("beds",) and "one value within every site" in two.text


@pytest.mark.parametrize(
    "name, values",
    [
        ("mrn", np.random.default_rng(4).permutation(np.arange(100_000, 999_999))[:N]),
        ("code", np.random.default_rng(4).permutation(np.arange(100_000, 999_999))[:N]),
        ("subject_id", np.repeat(np.arange(N // 2), 2) * 7),
        ("number", np.arange(N)),
        ("surname", [f"n{k // 1.5:.0f}" for k in range(N)]),
    ],
)
def test_identifiers_are_named_whether_unique_or_repeated(table, name, values):
    (finding,) = found(table, "identifier", **{name: values})
    assert finding.columns == (name,) and "different values" in finding.text


def test_counts_that_differ_are_no_identifiers(table):
    income = np.exp(np.random.default_rng(5).normal(10, 1, N)).round()
    assert found(table, "identifier", income=income) == []


def test_copies_within_and_across_sites_are_counted(table):
    X, y, site = table
    twice = screen(pd.concat([X, X]), [*y, *y], np.tile(site, 2), "died", True)
    assert [f.text.split(":")[0] for f in twice if f.kind == "copies"] == [
        "400 rows of 800 are copies of another row of their site"
    ]
    rows = np.concatenate([np.arange(N), np.arange(N // 4)])
    where = np.concatenate([site, np.repeat("h1", N // 4)])
    (across,) = [
        f for f in screen(X.iloc[rows], y[rows], where, "died", True) if f.kind == "copies"
    ]
    assert (
        "200 rows of 500 stand at several sites" in across.text and "'h0' and 'h1'" in across.text
    )


def test_equal_rows_of_few_levels_are_chance():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (N, 3)), columns=list("abc"))
    assert screen(X, rng.integers(0, 2, N), np.repeat([0, 1], N // 2), "y", True) == []


def test_shares_are_those_of_rows_that_were_left_out():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(N, 1))
    noise = pd.DataFrame(rng.normal(size=(N, 30)))
    assert abs(explained_alone(noise[0], y)) < 0.1
    assert explained_together(noise, y) < 0.05
    half = pd.Series(y[:, 0] + rng.normal(size=N))
    assert explained_alone(half, y) == pytest.approx(0.5, abs=0.1)
    assert explained_together(half.to_frame(), y) == pytest.approx(0.5, abs=0.1)


def test_python_warns_as_the_command_line_does(table):
    X, y, site = table
    odd = X.assign(autopsy=y + 0.15 * np.random.default_rng(2).normal(size=N), patient_id=range(N))
    est = DAPDAGClassifier(n_members=1, hidden=4, max_epochs=1)
    with (
        pytest.warns(LeakageWarning, match="'autopsy' alone explains 9.%"),
        pytest.warns(DataWarning, match="'patient_id' has 400 different values"),
    ):
        est.fit(odd, y, sample_domain=site)
