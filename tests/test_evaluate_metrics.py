"""Scores of predictions, as scikit-learn has them."""

import numpy as np
import pandas as pd
import pytest
from evaluate_helpers import small_data
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from dapdag.datasets import DomainData
from dapdag.evaluate import METRICS, leave_one_domain_out
from dapdag.evaluate.metrics import class_scores, number_scores
from dapdag.evaluate.prediction import ClassPrediction, NumberPrediction


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
