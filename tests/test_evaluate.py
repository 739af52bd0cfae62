"""Leave one domain out: who sees what, the scores, and what is made of them."""

import json
import pickle
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut

from dapdag import DAPDAGRegressor
from dapdag.datasets import DomainData
from dapdag.evaluate import METRICS, Evaluation, leave_one_domain_out
from dapdag.evaluate.metrics import class_scores, number_scores
from dapdag.evaluate.prediction import ClassPrediction, NumberPrediction
from dapdag.evaluate.runs import Run

TINY = {
    "n_members": 1,
    "hidden": 4,
    "max_epochs": 5,
    "n_predictors": 1,
    "n_draws": 4,
    "random_state": 0,
}


def small_data(n_domains=3, rows=20, shift=1.0, seed=0, classes=False, names=None):
    """y = x1 - x2 + noise, x1 shifted from domain to domain."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_domains * rows, 2)), columns=["x1", "x2"])
    codes = np.repeat(np.arange(n_domains), rows)
    X["x1"] += shift * codes
    y = (X["x1"] - X["x2"] + 0.3 * rng.normal(size=len(X))).rename("y")
    domain = codes if names is None else np.asarray(names, dtype=object)[codes]
    if classes:
        y = (y > y.median()).astype(int)
    return DomainData(X, y, domain, "classification" if classes else "regression", name="small")


class Spy(RegressorMixin, BaseEstimator):
    """Remembers what it was given."""

    fits: ClassVar[list] = []
    predictions: ClassVar[list] = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_domain=None):
        Spy.fits.append((self.random_state, X, y, sample_domain))
        self.mean_ = float(np.nanmean(y))
        return self

    def predict(self, X):
        Spy.predictions.append(X)
        return np.full(len(X), self.mean_)


class TransductiveSpy(Spy):
    needs_target = True


class ClassSpy(ClassifierMixin, BaseEstimator):
    needs_target = True
    fits: ClassVar[list] = []

    def fit(self, X, y, sample_domain=None):
        ClassSpy.fits.append((np.asarray(y), np.asarray(sample_domain)))
        self.classes_ = np.unique(np.asarray(y)[np.asarray(sample_domain) >= 0])
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class Fragile(RegressorMixin, BaseEstimator):
    """Breaks where it sees no row of the domain "a", which is when "a" is the target."""

    def fit(self, X, y, sample_domain=None):
        if "a" not in set(sample_domain):
            raise RuntimeError("no domain\na")
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.fixture
def spies():
    Spy.fits.clear()
    Spy.predictions.clear()
    ClassSpy.fits.clear()


@pytest.mark.usefixtures("spies")
class TestProtocol:
    def test_every_domain_is_the_target_once(self):
        data = small_data(names=["a", "b", "c"])
        found = leave_one_domain_out({"spy": Spy()}, data)
        assert list(found.targets.index) == ["a", "b", "c"]
        for target, (_, X, y, domain), shown in zip(
            data.domains, Spy.fits, Spy.predictions, strict=True
        ):
            split = data.leave_out(target)
            pd.testing.assert_frame_equal(X, split.X)
            pd.testing.assert_series_equal(y, split.y)
            assert set(domain) == set(data.domains) - {target}
            pd.testing.assert_frame_equal(shown, split.X_target)

    def test_replicates_differ_by_the_seed(self):
        leave_one_domain_out({"spy": Spy()}, small_data(), n_replicates=3, random_state=5)
        assert sorted({seed for seed, *_ in Spy.fits}) == [5, 6, 7]

    def test_bootstrap_draws_rows_of_every_source(self):
        data = small_data()
        leave_one_domain_out({"spy": Spy()}, data, n_replicates=2, bootstrap=True, targets=[2])
        first, second = (X for _, X, _, _ in Spy.fits)
        assert len(first) == len(second) == 40
        assert first.index.duplicated().any()
        assert not first.index.equals(second.index)
        assert np.bincount(Spy.fits[0][3]).tolist() == [20, 20]

    def test_target_at_fit_time_for_those_who_need_it(self):
        data = small_data(names=["a", "b", "c"])
        leave_one_domain_out({"spy": TransductiveSpy()}, data, targets=["b"])
        _, X, y, domain = Spy.fits[0]
        split = data.leave_out("b")
        assert len(X) == len(data.X)
        np.testing.assert_array_equal(X[domain < 0], split.X_target)
        assert y[domain < 0].isna().all()
        np.testing.assert_array_equal(y[domain >= 0], split.y)
        assert sorted(set(domain)) == [-1, 0, 1]

    @pytest.mark.parametrize("as_text", [False, True])
    def test_classes_of_the_target_stay_hidden(self, as_text):
        data = small_data(classes=True)
        if as_text:
            y = pd.Series(np.where(data.y == 1, "yes", "no"), name="y")
            data = DomainData(data.X, y, data.sample_domain, data.task, data.name)
        leave_one_domain_out({"spy": ClassSpy()}, data, targets=[0])
        y, domain = ClassSpy.fits[0]
        assert set(y[domain < 0]) == ({None} if as_text else {-1})

    def test_negative_labels_of_sources_do_not_make_them_targets(self):
        data = small_data()
        data = DomainData(data.X, data.y, data.sample_domain - 3, data.task, data.name)
        leave_one_domain_out({"spy": Spy()}, data)
        assert min(min(domain) for *_, domain in Spy.fits) == 0

    def test_rows_without_label(self):
        data = small_data()
        y = data.y.copy()
        y.iloc[[0, 25]] = np.nan
        data = DomainData(data.X, y, data.sample_domain, data.task, data.name)
        found = leave_one_domain_out({"spy": Spy()}, data, targets=[0])
        assert len(Spy.fits[0][2]) == 39
        assert len(Spy.predictions[0]) == 20
        assert found.scores["value"].notna().any()
        nothing = DomainData(
            data.X, y.where(data.sample_domain != 0), data.sample_domain, data.task, data.name
        )
        found = leave_one_domain_out({"spy": Spy()}, nothing, targets=[0])
        assert set(found.scores["reason"]) == {"no row of the target has a label"}

    def test_a_failure_is_recorded_and_the_rest_goes_on(self):
        data = small_data(names=["a", "b", "c"])
        with pytest.warns(UserWarning, match=r"fragile failed in 1 run.*\['a'\].*no domain a"):
            found = leave_one_domain_out({"fragile": Fragile(), "linear": Ridge()}, data)
        summary = found.summary()
        assert summary["failed"].to_dict() == {"fragile": 1, "linear": 0}
        assert found.by_target().notna().sum().to_dict() == {"fragile": 2, "linear": 3}
        assert found.target_ranks().loc["a", "fragile"] == 2
        assert "no domain a" in found.undefined()["reason"].iloc[0]

    def test_two_jobs_find_the_same(self):
        data = small_data()
        estimators = {"forest": RandomForestRegressor(5), "linear": LinearRegression()}
        one = leave_one_domain_out(estimators, data, n_replicates=2, distances=False)
        with joblib.parallel_config(backend="threading"):
            two = leave_one_domain_out(estimators, data, n_replicates=2, distances=False, n_jobs=2)
        pd.testing.assert_frame_equal(
            one.scores.drop(columns="seconds"), two.scores.drop(columns="seconds")
        )

    def test_runs_can_travel_to_other_processes(self):
        run = Run("linear", Ridge(), target=1, replicate=0, seed=0, bootstrap=True)
        there, data = pickle.loads(pickle.dumps((run, small_data())))
        here = run.execute(small_data())
        assert [row["value"] for row in there.execute(data)][:2] == [r["value"] for r in here][:2]

    def test_bad_arguments(self):
        data, estimators = small_data(), {"linear": Ridge()}
        for options, message in [
            ({"targets": [7]}, r"Unknown target\(s\) \[7\]; the domains are \[0, 1, 2\]"),
            ({"targets": "0"}, "targets must be a list"),
            ({"metrics": ["auc"]}, "for another task than regression"),
            ({"metrics": ["mape"]}, "choose from"),
            ({"n_replicates": 0}, "at least 1"),
        ]:
            with pytest.raises(ValueError, match=message):
                leave_one_domain_out(estimators, data, **options)
        with pytest.raises(ValueError, match="dict of at least one"):
            leave_one_domain_out(Ridge(), data)
        with pytest.raises(ValueError, match=r"\['logistic'\] does not suit the task"):
            leave_one_domain_out({"logistic": LogisticRegression()}, data)
        with pytest.raises(ValueError, match="at least 2"):
            leave_one_domain_out(estimators, small_data(n_domains=1))


@pytest.mark.usefixtures("spies")
class TestCheckpoint:
    def test_a_rerun_takes_finished_runs_from_the_file(self, tmp_path):
        data, path = small_data(names=["1", "b", "c"]), tmp_path / "runs.jsonl"
        first = leave_one_domain_out({"spy": Spy()}, data, targets=["1"], checkpoint=path)
        assert len(Spy.fits) == 1
        both = leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 3
        again = leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 3
        pd.testing.assert_frame_equal(both.scores, again.scores, check_exact=False)
        assert again.by_target().loc["1", "spy"] == pytest.approx(first.by_target().loc["1", "spy"])

    def test_other_settings_or_data_run_anew(self, tmp_path):
        path = tmp_path / "runs.jsonl"
        options = {"targets": [0], "checkpoint": path, "distances": False}
        leave_one_domain_out({"m": Ridge(alpha=1.0)}, small_data(), **options)
        one = path.read_text()
        leave_one_domain_out({"m": Ridge(alpha=2.0)}, small_data(), **options)
        leave_one_domain_out({"m": Ridge(alpha=1.0)}, small_data(seed=1), **options)
        lines = path.read_text().splitlines()
        assert path.read_text().startswith(one)
        assert len({json.loads(line)["run"] for line in lines[1:]}) == 3

    def test_a_line_cut_short_costs_only_its_run(self, tmp_path):
        data, path = small_data(), tmp_path / "runs.jsonl"
        leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        path.write_text(path.read_text()[:-10])
        found = leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 4
        assert found.scores["value"].count() == 3 * 2
        leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 4

    def test_another_file_is_not_overwritten(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match="not a file of runs"):
            leave_one_domain_out({"spy": Spy()}, small_data(), checkpoint=path)
        assert path.read_text() == "a,b\n1,2\n"


class TestMetrics:
    def test_two_classes_as_scikit_learn_has_them(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(size=50)
        y = (rng.uniform(size=50) < p).astype(int)
        found = class_scores(y, ClassPrediction(np.column_stack([1 - p, p]), np.array([0, 1])))
        assert found["auc"].value == pytest.approx(roc_auc_score(y, p))
        assert found["apr"].value == pytest.approx(average_precision_score(y, p))
        assert found["log_loss"].value == pytest.approx(log_loss(y, p))
        assert found["brier"].value == pytest.approx(np.mean((p - y) ** 2))
        assert found["calibration"].value == pytest.approx(p.mean() - y.mean())

    def test_several_classes_against_the_rest(self):
        rng = np.random.default_rng(0)
        classes = np.array(["a", "b", "c"])
        p = rng.dirichlet(np.ones(3), size=60)
        y = np.array([rng.choice(classes, p=row) for row in p], dtype=object)
        found = class_scores(y, ClassPrediction(p, classes))
        assert found["auc"].value == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))
        assert found["log_loss"].value == pytest.approx(log_loss(y, p))
        assert 0 < found["calibration"].value < 0.2

    def test_one_class_in_the_target(self):
        p = np.array([[0.3, 0.7], [0.4, 0.6]])
        found = class_scores(np.array([1, 1]), ClassPrediction(p, np.array([0, 1])))
        assert np.isnan(found["auc"].value)
        assert found["auc"].reason == found["apr"].reason == "the target has one class only"
        assert found["calibration"].value == pytest.approx(-0.35)

    def test_a_class_that_no_source_has(self):
        p = np.array([[0.3, 0.7], [0.4, 0.6]])
        found = class_scores(np.array([0, 2]), ClassPrediction(p, np.array([0, 1])))
        assert found["log_loss"].value > 15
        assert np.isfinite(found["log_loss"].value)

    def test_numbers(self):
        rng = np.random.default_rng(0)
        mean, std = rng.normal(size=5000), np.full(5000, 2.0)
        y = mean + std * rng.normal(size=5000)
        half = 1.6449 * std
        sure = NumberPrediction(mean, std, np.column_stack([mean - half, mean + half]))
        found = number_scores(y, sure)
        assert found["coverage"].value == pytest.approx(0.9, abs=0.02)
        assert found["width"].value == pytest.approx(2 * 1.6449 * 2)
        assert found["rmse"].value == pytest.approx(2.0, rel=0.05)
        assert found["nll"].value == pytest.approx(0.5 * np.log(2 * np.pi * 4) + 0.5, abs=0.03)
        plain = number_scores(y, NumberPrediction(mean))
        assert plain["nll"].reason == "the method gives no standard deviation"
        assert plain["r2"].value == found["r2"].value
        certain = number_scores(y, NumberPrediction(mean, 0 * std))
        assert certain["nll"].reason == "a predicted standard deviation is 0"

    def test_constant_label(self):
        found = number_scores(np.ones(3), NumberPrediction(np.zeros(3)))
        assert found["r2"].reason == "the label is constant in the target"
        assert found["rmse"].value == 1.0
        single = number_scores(np.ones(1), NumberPrediction(np.zeros(1)))
        assert single["r2"].reason == "the target has one labelled row only"

    def test_merit_is_more_where_a_score_is_better(self):
        table = pd.DataFrame({"value": [0.85, 0.9, 0.97]})
        assert METRICS["coverage"].merit(table)["value"].idxmax() == 1
        assert METRICS["log_loss"].merit(table)["value"].idxmax() == 0
        assert METRICS["auc"].merit(table)["value"].idxmax() == 2

    def test_missing_metrics_are_left_out_of_means(self):
        data = small_data(classes=True)
        y = data.y.where(data.sample_domain != 0, 1)
        data = DomainData(data.X, y, data.sample_domain, data.task, data.name)
        found = leave_one_domain_out({"logistic": LogisticRegression()}, data, distances=False)
        by_target = found.by_target("auc")["logistic"]
        assert by_target.isna().tolist() == [True, False, False]
        assert found.summary().loc["logistic", "auc"] == pytest.approx(by_target[[1, 2]].mean())
        assert found.target_ranks("auc").index.tolist() == [1, 2]
        assert found.table("auc").iloc[0, 0] == "-"
        assert "| - |" in found.markdown("auc")

    def test_probabilities_are_asked_for(self):
        class Decides(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                return self

        data = small_data(classes=True)
        with pytest.warns(UserWarning, match="Decides has no predict_proba"):
            leave_one_domain_out({"m": Decides()}, data, distances=False)

    def test_standard_deviations_of_any_estimator(self):
        found = leave_one_domain_out({"bayes": BayesianRidge()}, small_data(rows=60))
        assert 0.75 < found.summary().loc["bayes", "coverage"] <= 1.0
        assert found.summary().loc["bayes", "nll"] < 1.0


def handmade():
    """Two targets, two replicates, three methods, log-losses known."""
    values = {
        ("a", 0): (0.5, 0.4, 0.6),
        ("a", 1): (0.7, 0.5, 0.6),
        ("b", 0): (0.9, 1.0, 0.6),
        ("b", 1): (0.9, 1.2, 0.6),
    }
    rows = [
        {
            **{"target": target, "replicate": replicate, "method": method},
            **{"metric": "log_loss", "value": value, "seconds": 1.0},
            **{"outside": float(target == "b") if method == "ours" else np.nan, "reason": ""},
        }
        for (target, replicate), scores in values.items()
        for method, value in zip(("pooled", "ours", "dummy"), scores, strict=True)
    ]
    targets = pd.DataFrame({"sinkhorn": [1.234, 56.78]}, index=pd.Index(["a", "b"], name="target"))
    methods = ("pooled", "ours", "dummy")
    return Evaluation(pd.DataFrame(rows), "classification", "handmade", methods, targets)


class TestComparisons:
    def test_paired(self):
        found = handmade().paired("pooled")
        assert found.index.tolist() == ["ours", "dummy"]
        # a: +.15, b: -.20 for ours.
        assert found.loc["ours", "difference"] == pytest.approx(-0.025)
        assert found.loc["ours", "standard_error"] == pytest.approx(0.175)
        assert found.loc["ours", "better"] == 1

    def test_paired_by_target(self):
        found = handmade().paired_by_target("pooled").loc["ours"]
        assert found["difference"].tolist() == pytest.approx([0.15, -0.2])
        assert found["standard_error"].tolist() == pytest.approx([0.05, 0.1])
        assert found["outside"].tolist() == [False, True]
        assert handmade().paired_by_target("pooled").loc["dummy", "outside"].isna().all()

    def test_ranks(self):
        assert handmade().ranks().to_dict() == {"ours": 2.0, "dummy": 1.75, "pooled": 2.25}
        assert handmade().ranks().index[0] == "dummy"

    def test_table(self):
        table = handmade().table()
        assert table.index.tolist() == ["a (1.23)", "b (56.8)"]
        assert table.loc["a (1.23)", "pooled"] == "0.600 (0.141)"
        lines = handmade().markdown().splitlines()
        assert lines[0] == "| target | pooled | ours | dummy |"
        assert lines[2] == "| a (1.23) | 0.600 (0.141) | **0.450 (0.071)** | 0.600 (0.000) |"

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="Unknown reference 'mlp'"):
            handmade().paired("mlp")
        with pytest.raises(ValueError, match="No scores of the metric 'auc'"):
            handmade().table("auc")

    def test_repr(self):
        assert "2 targets, 2 replicate(s), methods: pooled, ours, dummy" in repr(handmade())


class TestModelSelection:
    """Hyper-parameters by leaving out one source at a time: no label of the target is used."""

    def test_search_inside_the_sources(self):
        # With 30 noisy columns and few rows a heavy penalty wins, on the sources and the target.
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(48, 30))).add_prefix("x")
        y = (X["x0"] + rng.normal(size=48)).rename("y")
        data = DomainData(X, y, np.repeat(np.arange(4), 12), "regression", "wide")
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(Ridge(), {"alpha": [1e-6, 30.0]}, cv=LeaveOneGroupOut())
            found = leave_one_domain_out({"loose": Ridge(1e-6), "searched": search}, data)
        assert found.summary()["failed"].sum() == 0
        assert found.paired("loose").loc["searched", "difference"] > 0.5

    def test_search_over_our_settings(self):
        data = small_data(rows=24)
        split = data.leave_out(2)
        grid = {"learning_rate": [1e-6, 0.05]}
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                DAPDAGRegressor(**TINY), grid, cv=LeaveOneGroupOut(), error_score="raise"
            )
            search.fit(
                split.X,
                split.y,
                groups=split.sample_domain,
                sample_domain=split.sample_domain,
            )
        assert search.n_splits_ == 2
        assert search.best_params_ == {"learning_rate": 0.05}
        assert list(search.best_estimator_.source_environments_.index) == [0, 1]
        assert np.isfinite(search.predict(split.X_target)).all()


@pytest.fixture(scope="module")
def ours():
    estimators = {"ours": DAPDAGRegressor(**TINY), "dummy": DummyRegressor()}
    return leave_one_domain_out(estimators, small_data(rows=24), targets=[2], distances=False)


class TestOurEstimator:
    def test_uncertainty_and_environment_are_recorded(self, ours):
        mine = ours.scores[ours.scores["method"] == "ours"]
        assert mine["value"].notna().all()
        assert set(mine["outside"]) <= {0.0, 1.0}
        assert (mine["env_distance"] >= 0).all()
        assert mine[mine["metric"] == "coverage"]["value"].between(0, 1).all()

    def test_others_have_no_environment(self, ours):
        theirs = ours.scores[ours.scores["method"] == "dummy"]
        assert theirs["outside"].isna().all()
        assert theirs["env_distance"].isna().all()


def test_every_metric_belongs_to_one_task():
    found = leave_one_domain_out(
        {"m": DummyClassifier()}, small_data(classes=True), distances=False
    )
    assert set(found.scores["metric"]) == {k for k, m in METRICS.items() if m.task == found.task}
    only = leave_one_domain_out({"m": Ridge()}, small_data(), metrics=["rmse"], distances=False)
    assert set(only.scores["metric"]) == {"rmse"}
