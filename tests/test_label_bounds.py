"""No prediction, and no end of an interval, leaves the label's bounds."""

import numpy as np
import pandas as pd
import pytest
from cli_helpers import dapdag
from sklearn.base import clone

from dapdag import DAPDAGClassifier, DAPDAGRegressor, load
from dapdag.cli._settings import parse_settings
from dapdag.data.bounds import OPEN, checked_bounds, label_bounds
from dapdag.report.facts import gather

QUICK = {"max_epochs": 12, "hidden": 8, "n_predictors": 2, "n_members": 1, "n_draws": 4}
SETTINGS = [part for k, v in QUICK.items() for part in ("--set", f"{k}={v}")]


def visits(site, n=60):
    """Counts, most of them 0 or small: what predicts them reaches below 0."""
    rng = np.random.default_rng(site)
    x = rng.normal(0.2 * site, 1, n)
    y = rng.poisson(np.exp(0.8 * x - 0.5)).astype(float)
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "visits": y, "site": f"s{site}"})


@pytest.fixture(scope="module")
def table():
    return pd.concat([visits(site) for site in range(5)], ignore_index=True)


@pytest.fixture(scope="module")
def fitted(table):
    return DAPDAGRegressor(**QUICK).fit(table[["x", "z"]], table["visits"], table["site"])


def inside(found, low=0.0, high=np.inf):
    assert np.isfinite(found).all()
    assert found.min() >= low and found.max() <= high


def test_counts_are_never_predicted_below_zero(fitted, tmp_path):
    assert fitted.label_bounds_ == (0.0, np.inf)
    new = visits(9)
    X = new[["x", "z"]] * 2 - 1
    wide = fitted.predict_interval(X, coverage=0.99)
    assert (wide[:, 0] == 0).any()  # the bound is at work
    site = fitted.at(X, new["visits"].where(np.arange(len(new)) < 20))
    fitted.save(tmp_path / "model.dapdag")
    site.save(tmp_path / "site.dapdag")
    for model in (fitted, site, *(load(tmp_path / f"{k}.dapdag") for k in ("model", "site"))):
        inside(model.predict(X))
        inside(model.predict_interval(X, coverage=0.999))
        inside(np.array([model.predict(X[k : k + 1]) for k in range(5)]))
    inside(site.mean_interval(X[:3], coverage=0.999))
    np.testing.assert_array_equal(
        load(tmp_path / "model.dapdag").predict_interval(X), fitted.predict_interval(X)
    )


def test_large_counts_have_wider_intervals(fitted, tmp_path):
    X = visits(9, 300)[["x", "z"]]
    mean, sd = fitted.predict(X, return_std=True)
    few, many = (sd[np.argsort(mean)[part]].mean() for part in (slice(75), slice(-75, None)))
    factor = fitted.fitted_.model.calibration.row_noise.log_factor
    assert factor[-1] - factor[0] > 0.3 and many > 1.1 * few
    site = fitted.at(X)
    np.testing.assert_array_equal(site.predict(X, return_std=True)[1], sd)
    site.save(tmp_path / "site.dapdag")
    again = load(tmp_path / "site.dapdag")
    np.testing.assert_array_equal(again.predict_interval(X), fitted.predict_interval(X))


def test_labels_of_a_site_outside_the_bounds_are_refused(fitted):
    new = visits(9)
    labels = new["visits"].where(new.index != 4, -2.0)
    with pytest.raises(ValueError, match=r"y holds -2 at position 4, outside the label_bounds"):
        fitted.at(new[["x", "z"]], labels)


def test_bounds_hold_what_lies_inside_as_it_is(table, fitted):
    X = table[["x", "z"]][:60]
    free = DAPDAGRegressor(**QUICK, label_bounds=None)
    free.fit(table[["x", "z"]], table["visits"], table["site"])
    assert free.label_bounds_ == OPEN
    low, high = free.predict_interval(X).T
    assert low.min() < 0
    bounded = fitted.predict_interval(X)
    np.testing.assert_allclose(bounded[:, 1][high > bounded[:, 0]], high, rtol=1e-6)
    np.testing.assert_array_equal(fitted.predict(X) > 0, free.predict(X) > 0)


def test_command_line_and_report(table, tmp_path):
    table.to_csv(tmp_path / "data.csv", index=False)
    new = visits(9)[["x", "z"]] * 3 - 2
    new.to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "model.dapdag"
    about = ("--label", "visits", "--domain", "site", "--quiet", *SETTINGS)
    about += ("--task", "regression")
    done = dapdag("fit", tmp_path / "data.csv", *about, "--set", "label_bounds=0,20", "-o", model)
    assert done.code == 0, done.err
    assert load(model).label_bounds == (0.0, 20.0) == load(model).label_bounds_
    out = tmp_path / "found.csv"
    done = dapdag("predict", model, tmp_path / "new.csv", "-o", out)
    assert done.code == 0, done.err
    found = pd.read_csv(out).select_dtypes("number")
    inside(found[["low", "high"]].to_numpy(), 0, 20)
    assert (found["low"] == 0).any()
    inside(gather(load(model), new).new.interval, 0, 20)  # what the report shows
    done = dapdag("fit", tmp_path / "data.csv", *about, "--set", "label_bounds=0,2", "-o", model)
    assert done.code == 2 and "Traceback" not in done.err
    assert "label_bounds is (0, 2)" in " ".join(done.err.split()) and "site" in done.err


def test_labels_outside_are_named(table):
    wrong = table.copy()
    wrong.loc[7, "visits"] = -3.0
    model = DAPDAGRegressor(**QUICK, label_bounds=(0, None))
    with pytest.raises(ValueError, match=r"'visits' lie outside: -3 in row 7 of site 's0'"):
        model.fit(wrong[["x", "z"]], wrong["visits"], wrong["site"])


@pytest.mark.parametrize(
    "given, expected",
    [
        (None, OPEN),
        ("auto", "auto"),
        ((0, None), (0.0, np.inf)),
        ([None, 1.5], (-np.inf, 1.5)),
        (np.array([0.0, 1.0]), (0.0, 1.0)),
        ((None, None), OPEN),
    ],
)
def test_what_bounds_may_be(given, expected):
    assert checked_bounds(given) == expected


@pytest.mark.parametrize(
    "given", [0, "positive", (1,), (0, 1, 2), (1, 0), (0, 0), (0, "a"), (True, 3), (0, np.nan)]
)
def test_what_bounds_may_not_be(given):
    with pytest.raises(ValueError, match="label_bounds"):
        DAPDAGRegressor(label_bounds=given)._settings()


def test_auto_takes_zero_only_where_labels_stop_there():
    rng = np.random.default_rng(0)
    zero = (0.0, np.inf)
    assert label_bounds("auto", rng.poisson(2.0, 200).astype(float)) == zero
    assert label_bounds("auto", np.append(rng.exponential(size=500), np.nan)) == zero
    assert label_bounds("auto", rng.normal(10, 1, 500)) == OPEN  # far from 0
    assert label_bounds("auto", rng.normal(0, 1, 500)) == OPEN
    assert label_bounds("auto", np.append(rng.exponential(size=500), -0.01)) == OPEN
    assert label_bounds("auto", rng.exponential(size=12)) == OPEN  # too few to tell
    assert label_bounds(None, rng.exponential(size=500)) == OPEN


def test_the_constructor_stores_and_classes_have_none(table):
    assert clone(DAPDAGRegressor(label_bounds=(0, None))).label_bounds == (0, None)
    with pytest.raises(ValueError, match="a class has none"):
        DAPDAGClassifier(**QUICK, label_bounds=(0, 1)).fit(
            table[["x"]], table["visits"] > 0, table["site"]
        )


@pytest.mark.parametrize(
    "text, value",
    [
        ("0,none", (0.0, None)),
        ("(0, 1.5)", (0.0, 1.5)),
        ("-1e3,", (-1000.0, None)),
        ("auto", "auto"),
        ("none", None),
    ],
)
def test_bounds_on_the_command_line(text, value):
    assert parse_settings([f"label_bounds={text}"], DAPDAGRegressor) == {"label_bounds": value}


@pytest.mark.parametrize("text", ["0", "low,high", "0,1,2", ""])
def test_bad_bounds_on_the_command_line(text):
    with pytest.raises(ValueError, match="for example label_bounds=0,none"):
        parse_settings([f"label_bounds={text}"], DAPDAGRegressor)
