"""Leave one domain out: who sees what, failures, replicates."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from evaluate_helpers import TINY, ClassSpy, Spy, forget, small_data
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut

from dapdag import DAPDAGRegressor
from dapdag.datasets import DomainData
from dapdag.evaluate import METRICS, leave_one_domain_out
from dapdag.evaluate.runs import Run


class TransductiveSpy(Spy):
    needs_target = True


class Fragile(RegressorMixin, BaseEstimator):
    """Breaks where it sees no row of the domain "a", which is when "a" is the target."""

    def fit(self, X, y, sample_domain=None):
        if "a" not in set(sample_domain):
            raise RuntimeError("no domain\na")
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.fixture(autouse=True)
def _spies():
    forget()


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
        back = there.execute(data)
        assert [row["value"] for row in back.rows][:2] == [row["value"] for row in here.rows][:2]
        assert back.predicted == here.predicted and len(back.predicted) == 20

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


def test_every_metric_belongs_to_one_task():
    found = leave_one_domain_out(
        {"m": DummyClassifier()}, small_data(classes=True), distances=False
    )
    assert set(found.scores["metric"]) == {k for k, m in METRICS.items() if m.task == found.task}
    only = leave_one_domain_out({"m": Ridge()}, small_data(), metrics=["rmse"], distances=False)
    assert set(only.scores["metric"]) == {"rmse"}
