"""From raw studies to tables without holes, step by step as the paper describes them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer

from dapdag.baselines.missforest.imputer import MissForestImputer
from dapdag.datasets import DomainData, make_maggic_like, prepare_studies

MEAN = SimpleImputer().set_output(transform="pandas")


class SpyImputer(BaseEstimator):
    """Fills in zeros, and remembers the tables it saw."""

    seen: list = []  # noqa: RUF012

    def fit_transform(self, X, y=None):
        SpyImputer.seen.append(X)
        return X.fillna(0.0)


def studies():
    """a has both features, b lacks z, c lacks nothing but many cells."""
    X = pd.DataFrame(
        {
            "z": [1.0, 3.0, np.nan, 9.0, *[np.nan] * 4, 5.0, np.nan, np.nan, 7.0],
            "w": [0.0, 1.0, 1.0, 1.0, 0.0, np.nan, 0.0, 0.0, np.nan, 1.0, 0.0, np.nan],
        }
    )
    y = pd.Series([0, 1, 0, np.nan, 1, 0, 1, 1, 0, 1, 0, 1.0], name="y")
    return DomainData(X, y, np.repeat(["a", "b", "c"], 4), "classification", "small")


class TestSteps:
    def test_rows_without_label_go(self):
        data, report = prepare_studies(studies(), imputer=MEAN, min_observed=1)
        assert len(data.X) == len(data.y) == len(data.sample_domain) == 11
        assert data.y.dtype == np.int64
        assert report.studies["unlabelled"].tolist() == [1, 0, 0]
        # The 9 of the dropped row is nobody's neighbour any more.
        assert report.features.loc["z", "mean"] < 5

    def test_a_study_fills_its_holes_itself(self):
        data, report = prepare_studies(studies(), imputer=MEAN, min_observed=1, standardise=False)
        assert data.X.loc[2, "z"] == 2.0
        assert data.X.loc[data.sample_domain == "c", "z"].tolist() == [5.0, 6.0, 6.0, 7.0]
        assert report.studies["imputed"].tolist() == [1, 1, 4]

    def test_a_lacking_feature_is_borrowed(self):
        data, report = prepare_studies(studies(), imputer=MEAN, min_observed=1, standardise=False)
        # The mean over what a (1, 3, 2) and c (5, 6, 6, 7) have after their own imputation.
        assert data.X.loc[data.sample_domain == "b", "z"].tolist() == pytest.approx([30 / 7] * 4)
        assert report.studies["borrowed"].tolist() == [0, 4, 0]
        assert report.studies.loc["b", "lacking"] == ["z"]
        assert report.features["lacking"].to_dict() == {"z": 1, "w": 0}

    def test_own_rows_first_then_all(self):
        SpyImputer.seen.clear()
        prepare_studies(studies(), imputer=SpyImputer(), min_observed=1)
        first, second, third, last = SpyImputer.seen
        assert [len(t) for t in (first, second, third, last)] == [3, 4, 4, 11]
        assert list(second.columns) == ["w"]
        assert last["z"].isna().sum() == 4
        assert all("y" not in t for t in SpyImputer.seen)

    def test_binary_cells_become_zero_or_one(self):
        data, report = prepare_studies(studies(), imputer=MEAN, min_observed=1)
        assert set(data.X["w"]) == {0.0, 1.0}
        # b has 0, 0, 0: its hole is 0; c has 1, 0: one half counts as 1.
        assert data.X.loc[data.sample_domain == "b", "w"].tolist() == [0.0] * 4
        assert data.X.loc[data.sample_domain == "c", "w"].tolist() == [1.0, 1.0, 0.0, 1.0]
        assert report.features["kind"].to_dict() == {"z": "number", "w": "binary"}

    def test_binary_features_keep_their_two_values(self):
        data = studies()
        X = data.X.assign(w=data.X["w"] + 1)
        data = DomainData(X, data.y, data.sample_domain, data.task, data.name)
        assert set(prepare_studies(data, imputer=MEAN, min_observed=1)[0].X["w"]) == {1.0, 2.0}

    def test_selection_keeps_who_lacked_least(self):
        data, report = prepare_studies(studies(), imputer=MEAN, min_observed=1, n_studies=2)
        assert data.domains == ["a", "c"]
        assert report.studies["selected"].tolist() == [True, False, True]
        one, _ = prepare_studies(studies(), imputer=MEAN, min_observed=1, n_studies=1)
        assert one.domains == ["a"]

    def test_numbers_are_standardised_together(self):
        data, _ = prepare_studies(studies(), imputer=MEAN, min_observed=1)
        assert data.X["z"].mean() == pytest.approx(0)
        assert data.X["z"].std(ddof=0) == pytest.approx(1)
        means = data.X["z"].groupby(data.sample_domain).mean()
        assert means["c"] - means["a"] > 1

    def test_a_handful_of_values_counts_as_lacking(self):
        report = prepare_studies(studies(), imputer=MEAN, min_observed=3)[1]
        assert report.studies.loc["c", "lacking"] == ["z", "w"]
        assert report.studies.loc["a", "lacking"] == ["z"]

    def test_what_was_observed_stays(self):
        raw = studies()
        data, _ = prepare_studies(raw, imputer=MEAN, min_observed=1, standardise=False)
        known = raw.X[raw.y.notna()].reset_index(drop=True)
        assert (known == data.X).where(known.notna(), True).all(axis=None)


class TestEdges:
    def test_feature_that_no_study_has(self):
        data = studies()
        X = data.X.assign(empty=np.nan)
        data = DomainData(X, data.y, data.sample_domain, data.task, data.name)
        prepared, report = prepare_studies(data, imputer=MEAN, min_observed=1)
        assert report.dropped == ("empty",)
        assert "empty" not in prepared.X
        assert "features that no study has, dropped: empty" in str(report)

    def test_nothing_missing(self):
        data = make_maggic_like(2, 30, missing=0, gaps=0, unlabelled=0)
        SpyImputer.seen.clear()
        prepared, report = prepare_studies(data, imputer=SpyImputer(), standardise=False)
        assert SpyImputer.seen == []
        pd.testing.assert_frame_equal(prepared.X, data.X)
        assert report.studies[["imputed", "borrowed"]].to_numpy().sum() == 0
        assert prepared.oracle(prepared.X, 0.0).shape == (60,)

    def test_study_without_any_label(self):
        data = studies()
        y = data.y.mask(data.sample_domain == "c")
        data = DomainData(data.X, y, data.sample_domain, data.task, data.name)
        prepared, report = prepare_studies(data, imputer=MEAN, min_observed=1)
        assert prepared.domains == ["a", "b"]
        assert report.studies.loc["c", ["rows", "unlabelled"]].tolist() == [0, 4]
        assert not report.studies.loc["c", "selected"]

    def test_errors(self):
        data = studies()
        with pytest.raises(ValueError, match="n_studies must be from 1 to 3"):
            prepare_studies(data, n_studies=4)
        nothing = DomainData(data.X, data.y * np.nan, data.sample_domain, data.task, data.name)
        with pytest.raises(ValueError, match="the label 'y' is missing in every row"):
            prepare_studies(nothing)
        hollow = DomainData(data.X * np.nan, data.y, data.sample_domain, data.task, data.name)
        with pytest.raises(ValueError, match="No feature has a value"):
            prepare_studies(hollow)
        with pytest.raises(ValueError, match="must return a DataFrame"):
            prepare_studies(data, imputer=SimpleImputer(), min_observed=1)

    def test_report_in_words(self):
        report = prepare_studies(studies(), imputer=MEAN, min_observed=1, n_studies=2)[1]
        text = str(report)
        assert "2 of 3 studies selected, 7 rows; 1 rows without label dropped" in text
        assert "b: 4 rows, 12.5% of the cells imputed, 50.0% borrowed for z (not selected)" in text


class TestMissForest:
    """The imputer that is taken by default, with few trees."""

    def test_studies_of_maggics_shape(self):
        forest = MissForestImputer(n_estimators=5, max_iter=2)
        raw = make_maggic_like(6, 60, gaps=0.15, random_state=3)
        data, report = prepare_studies(raw, imputer=forest, n_studies=4)
        assert data.X.notna().all(axis=None)
        assert data.X.shape[1] == 12 and len(data.domains) == 4
        assert report.studies["borrowed"].sum() > 0
        lacked = report.studies["lacking"].map(len)
        assert lacked[report.studies["selected"]].max() <= lacked[~report.studies["selected"]].min()
        binary = report.features.index[report.features["kind"] == "binary"]
        assert len(binary) == 9
        assert data.X[binary].isin([0.0, 1.0]).all(axis=None)

    def test_imputed_cells_are_nearer_than_the_mean(self):
        complete = make_maggic_like(3, 150, missing=0, gaps=0, unlabelled=0, random_state=4)
        # Two copies of a number, one with holes: a forest can tell the hole from the copy.
        X = complete.X[["age", "systolic_bp"]].assign(copy=complete.X["age"] * 2 + 1)
        holes = np.random.default_rng(0).random(len(X)) < 0.2
        raw = DomainData(
            X.assign(copy=X["copy"].mask(holes)),
            complete.y,
            complete.sample_domain,
            "classification",
            "copies",
        )
        options = {"standardise": False}
        by_forest, _ = prepare_studies(raw, imputer=MissForestImputer(n_estimators=10), **options)
        by_mean, _ = prepare_studies(raw, imputer=MEAN, **options)
        error = [(d.X["copy"] - X["copy"])[holes].abs().mean() for d in (by_forest, by_mean)]
        assert error[0] < 0.3 * error[1]

    def test_categories_are_imputed_and_borrowed(self):
        kind = pd.Categorical(["x", "y", "z", None] * 9)
        X = pd.DataFrame({"z": np.tile([1.0, 2.0, 3.0, 1.0], 9), "kind": kind})
        study = np.repeat(["a", "b", "c"], 12)
        X.loc[study == "c", "kind"] = None
        raw = DomainData(X, pd.Series([0, 1] * 18, name="y"), study, "classification", "kinds")
        forest = MissForestImputer(n_estimators=10)
        data, report = prepare_studies(raw, imputer=forest, min_observed=5)
        assert data.X["kind"].tolist() == ["x", "y", "z", "x"] * 9
        assert report.features.loc["kind", "kind"] == "category"
        assert report.studies.loc["c", ["imputed", "borrowed"]].tolist() == [0, 12]
