"""From a fitted model to its record, the effects of E, and the report as a file."""

import json
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from dapdag import DAPDAGClassifier, DAPDAGRegressor, load
from dapdag.effects import environment_effects
from dapdag.record import Record
from dapdag.report import report_html, write_report
from dapdag.report.facts import gather

SMALL = {"hidden": 4, "max_epochs": 10, "n_members": 1, "n_draws": 4, "steps": 4}
SITES = ["north", "south <b>", "east"]
N = 60


def features(seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(60 + shift, 10, N)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.2, np.nan, age),
            "<script>alert(1)</script>": age / 10 + rng.normal(size=N),
            "ward": rng.choice(["a", "b", "c"], N),
            "smokes": rng.random(N) < 0.5,
        }
    )


def labels(X: pd.DataFrame, seed: int) -> pd.Series:
    noise = np.random.default_rng(seed).normal(size=N)
    risk = (X["<script>alert(1)</script>"] - 6).to_numpy() + noise
    return pd.Series(np.where(risk > 0, "dies", "lives"), name="out&come")


def sources() -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    tables = [features(k, 6.0 * k) for k in range(3)]
    y = pd.concat([labels(X, k) for k, X in enumerate(tables)])
    tables[2]["smokes"] = pd.Series([None] * N, dtype=object)  # a column that a site lacks
    return pd.concat(tables, ignore_index=True), y, np.repeat(SITES, N)


@pytest.fixture(scope="module")
def classifier() -> DAPDAGClassifier:
    X, y, site = sources()
    return DAPDAGClassifier(**SMALL, random_state=np.int64(1)).fit(X, y, site)


@pytest.fixture(scope="module")
def regressor() -> DAPDAGRegressor:
    """Two dimensions of E, an array without names, unlabelled rows and an unlabelled target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4 * N, 3))
    y = X[:, 0] + rng.normal(size=4 * N)
    y[:5] = np.nan
    return DAPDAGRegressor(**SMALL, env_dim=2).fit(X, y, np.repeat([0, 1, 2, -1], N))


def test_the_record_counts_rows_labels_and_missing_cells(classifier):
    X, y, site = sources()
    record = classifier.record_
    assert [s.name for s in record.sources] == sorted(SITES)
    assert [s.rows for s in record.sources] == [N] * 3
    assert record.rows == 3 * N
    assert record.unlabelled_rows == 0
    for source in record.sources:
        here = site == source.name
        shares = [np.mean(y[here] == c) for c in classifier.classes_]
        assert_allclose(source.label, shares)
        assert_allclose(source.missing, X[here].isna().mean())
    assert record.missing().loc["smokes", "east"] == 1.0
    assert [c.kind for c in record.columns] == ["continuous"] * 2 + ["categorical", "binary"]
    assert record.columns[2].levels == ("a", "b", "c")
    assert record.label.name == "out&come"
    assert record.settings["hidden"] == 4
    assert "checkpoint" not in record.settings
    assert record.versions.keys() >= {"dapdag", "python", "jax"}


def test_the_record_counts_cells_beyond_the_limits(classifier):
    X, _, site = sources()
    record = classifier.record_
    low, high = record.columns[1].limits
    cells = X.iloc[:, 1]
    beyond = ((cells < low) | (cells > high)).groupby(site).sum()
    found = record.clipped().iloc[1]
    assert found.to_dict() == beyond.to_dict()


def test_the_record_of_numbers_leaves_targets_and_unlabelled_rows_out(regressor):
    record = regressor.record_
    assert [s.rows for s in record.sources] == [N] * 3
    assert [s.labelled for s in record.sources] == [N - 5, N, N]
    assert record.unlabelled_rows == N
    mean, deviation = record.sources[1].label
    y = regressor.record_.label
    assert y.kind == "continuous"
    assert -1 < mean < 1
    assert 0.5 < deviation < 3


def test_rows_held_out_of_training_are_judged_in_bins_of_several(classifier, regressor):
    found = classifier.record_.heldout
    assert found.rows == 3 * round(0.1 * N)
    assert sum(b.rows for b in found.bins) == found.rows
    assert all(0 <= b.predicted <= 1 and 0 <= b.observed <= 1 for b in found.bins)
    numbers = regressor.record_.heldout
    assert min(b.rows for b in numbers.bins) >= 10
    assert not hasattr(numbers, "coverage")  # these rows set the width of the intervals


def test_the_record_holds_no_row_of_the_data(classifier):
    X, _, _ = sources()
    text = json.dumps(classifier.record_.to_json())
    for value in X["age"].dropna():
        assert repr(float(value)) not in text


def test_record_and_assessment_come_back_from_a_file(classifier, tmp_path):
    scores = pd.DataFrame(
        {
            "target": SITES[:2],
            "method": ["dapdag"] * 2,
            "metric": ["auc"] * 2,
            "value": [0.7, np.nan],
            "outside": [True, None],
        }
    )
    classifier.assessment_ = scores
    try:
        classifier.save(tmp_path / "model")
    finally:
        classifier.assessment_ = None
    again = load(tmp_path / "model")
    assert again.record_ == classifier.record_
    pd.testing.assert_frame_equal(again.assessment_, scores, check_dtype=False)
    text = report_html(again)
    assert "0.700" in text


def test_a_record_that_does_not_fit_the_model_is_refused(classifier):
    table = classifier.fitted_.model.table
    coded = json.loads(json.dumps(classifier.record_.to_json()))
    assert Record.from_json(coded, table, sorted(SITES)) == classifier.record_
    with pytest.raises(ValueError, match="zip"):
        Record.from_json(coded, table, sorted(SITES)[:2])
    coded["sources"][0]["missing"] = [0.0]
    with pytest.raises(ValueError, match="'east'.*each column"):
        Record.from_json(coded, table, sorted(SITES))


def test_effects_follow_e_over_the_range_of_the_sources(classifier):
    found = environment_effects(classifier, n_points=5)
    means = classifier.source_environments_["E1_mean"]
    assert_allclose(found.values.index[[0, -1]], [means.min(), means.max()])
    wards = [c for c in found.values if str(c).startswith("ward=")]
    assert len(wards) == 3
    assert_allclose(found.values[wards].sum(axis=1), 1, atol=1e-5)
    X, y, _ = sources()
    with_rows = environment_effects(classifier, X, y, n_points=2)
    direct = classifier.reconstruct(X, y, env=[means.max()]).mean()
    assert_allclose(with_rows.values.iloc[-1], direct, rtol=1e-5)
    assert_allclose(
        found.standardised.iloc[-1] - found.standardised.iloc[0],
        (found.values.iloc[-1] - found.values.iloc[0]) / found.deviations,
    )


def test_effects_of_one_dimension_leave_the_others_at_their_mean(regressor):
    second = environment_effects(regressor, dimension=2, n_points=3)
    assert second.values.index.name == "E2"
    with pytest.raises(ValueError, match="between 1 and 2, not 3"):
        environment_effects(regressor, dimension=3)
    with pytest.raises(ValueError, match="n_points"):
        environment_effects(regressor, n_points=1)


def test_the_report_of_a_model_and_a_new_table(classifier, tmp_path):
    new = features(7, 3.0)
    new.loc[0, "ward"] = "never seen"
    path = tmp_path / "report.html"
    with pytest.warns(UserWarning, match="'ward'") as caught:
        write_report(classifier, path, new, ["<west>"] * N, labels(new, 7), title="On <wards>")
    assert len(caught) == 1
    page = path.read_text("utf-8")
    assert list(tmp_path.iterdir()) == [path]
    for shown in ("On &lt;wards&gt;", "&lt;west&gt;", "out&amp;come = lives"):
        assert shown in page
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    facts = gather_silently(classifier, new, ["<west>"] * N)
    assert_allclose(facts.new.mean, predicted_silently(classifier, new))
    assert facts.new.strange.loc["ward"].tolist() == [1]
    assert_allclose(facts.new.missing.loc["age"], new["age"].isna().mean())


def gather_silently(model, X, site):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gather(model, X, site)


def predicted_silently(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X)[:, 1]


def test_the_report_of_numbers_with_several_new_sites(regressor):
    X = np.random.default_rng(5).normal(size=(N, 3))
    site = np.repeat(["a", "b"], N // 2)
    page = report_html(regressor, X, site, X[:, 0])
    facts = gather(regressor, X, site, X[:, 0])
    error = facts.new.mean - X[:, 0]
    assert_allclose(facts.new.scores.overall["rmse"], np.sqrt(np.mean(error**2)))
    assert f"{facts.new.scores.overall['rmse']:.3f}" in page
    assert "Predictions by site" in page
    assert 'class="region source"' in page  # the plane of two dimensions


def test_a_report_without_a_new_table_and_from_a_file(classifier, tmp_path):
    classifier.save(tmp_path / "model")
    page = report_html(tmp_path / "model")
    assert "No new table was given" in page
    assert "dapdag fit DATA --assess" in page


def test_what_cannot_be_reported_is_refused(classifier, regressor, tmp_path):
    with pytest.raises(ValueError, match="give X as well"):
        report_html(classifier, y=[1])
    with pytest.raises(ValueError, match="60 rows, y \\(2,\\)"):
        report_html(classifier, features(7), y=["dies", "lives"])
    with pytest.raises(ValueError, match="y holds 'recovers'.*'dies'"):
        report_html(classifier, features(7), y=["dies"] * 59 + ["recovers"])
    with pytest.raises(ValueError, match="must be numbers"):
        report_html(regressor, np.zeros((2, 3)), y=["a", "b"])
    with pytest.raises(FileNotFoundError, match="folder does not exist"):
        write_report(classifier, tmp_path / "nowhere" / "report.html")
    from dapdag.baselines import MLPRegressor

    mlp = MLPRegressor()
    mlp.fitted_ = regressor.fitted_
    with pytest.raises(ValueError, match="not a MLPRegressor"):
        report_html(mlp)


def test_a_failed_report_leaves_the_old_one(classifier, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError):
        write_report(classifier, path, features(7), y=[1])
    assert path.read_text() == "old"


def test_settings_of_the_record_are_plain(classifier):
    assert json.loads(json.dumps(classifier.record_.settings)) == classifier.record_.settings
    assert asdict(classifier.record_)["settings"]["random_state"] == 1


def test_new_sites_are_compared_where_their_predictions_differ(classifier):
    low, high = features(5, -12.0), features(6, 12.0)
    X, site = pd.concat([low, high], ignore_index=True), np.repeat(["young", "old"], N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = gather(classifier, X, site).new
        same = gather(classifier, pd.concat([low, low], ignore_index=True), site).new
    assert list(new.expected) == ["young", "old"]
    assert (new.expected["old"]["low"] <= new.expected["old"]["expected"]).dropna().all()
    found, mean = new.extremes, {s: new.mean[site == s].mean() for s in ("young", "old")}
    assert found.high == max(mean, key=mean.get) and found.low != found.high
    assert found.difference.site == pytest.approx(mean[found.high], abs=1e-4)
    assert found.difference.parts["contribution"].sum() == pytest.approx(
        abs(np.diff(list(mean.values())))[0], abs=1e-4
    )
    assert same.extremes is None
