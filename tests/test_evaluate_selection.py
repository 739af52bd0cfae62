"""Choosing by left-out sites, with the one-standard-error rule."""

import numpy as np
import pandas as pd
import pytest
from evaluate_helpers import TINY, small_data
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut

from dapdag import DAPDAGRegressor
from dapdag.datasets import DomainData
from dapdag.evaluate import one_standard_error, select
from dapdag.evaluate.selection import first_within_one_error
from dapdag.evaluate.tuning import TUNED, tuning_candidates
from dapdag.plotting import plot_selection


class Broken(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("broken")


def wide(seed=0):
    """Thirty columns of which one matters, few rows: a strong penalty is right."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 30))).add_prefix("x")
    y = (X["x0"] + rng.normal(size=60)).rename("y")
    return DomainData(X, y, np.repeat(np.arange(5), 12), "regression", "wide")


def test_rule():
    means, errors = np.array([0.1, 0.48, 0.5]), np.array([0.3, 0.01, 0.05])
    # The error that counts is that of the best.
    assert first_within_one_error(means, errors) == 1
    assert first_within_one_error(means, np.array([0.3, 0.01, 0.01])) == 2
    assert first_within_one_error(means, np.full(3, np.nan)) == 2


def test_the_simplest_that_is_as_good_is_chosen():
    candidates = {"strong": Ridge(30.0), "weaker": Ridge(29.0), "none": Ridge(1e-6)}
    found = select(candidates, wide())
    assert found.chosen == "strong" and found.estimator.alpha == 30.0
    assert found.table["chosen"].tolist() == [True, False, False]
    assert found.table["mean"]["none"] < found.limit <= found.table["mean"]["strong"]
    best = found.scores[found.best]
    assert found.limit == pytest.approx(best.mean() - best.std(ddof=1) / np.sqrt(5))
    assert repr(found).startswith("Selection(chosen 'strong' of 3")


def test_low_scores_win_where_they_are_good():
    candidates = {"none": Ridge(1e-6), "strong": Ridge(30.0)}
    found = select(candidates, wide(), metric="rmse")
    assert found.chosen == found.best == "strong"
    assert found.table["mean"]["strong"] < found.limit < found.table["mean"]["none"]


def test_scikit_learn_chooses_the_same():
    data = wide()
    grid = [30.0, 29.0, 1e-6]
    search = GridSearchCV(Ridge(), {"alpha": grid}, cv=LeaveOneGroupOut(), refit=one_standard_error)
    search.fit(data.X, data.y, groups=data.sample_domain)
    ours = select({str(a): Ridge(a) for a in grid}, data.X, data.y, data.sample_domain)
    assert str(search.best_params_["alpha"]) == ours.chosen
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], ours.table["mean"])


def test_without_time_only_the_first_is_tried():
    found = select({"a": Ridge(), "b": Ridge(2.0)}, small_data(), time_budget=1e-9)
    assert found.skipped == ("b",) and found.chosen == "a"


def test_candidates_that_fail_are_not_chosen():
    with pytest.warns(UserWarning, match="broken"):
        found = select({"broken": Broken(), "ridge": Ridge()}, small_data())
    assert found.chosen == "ridge" and found.table.loc["broken", "failed"] == 3
    with (
        pytest.warns(UserWarning, match="broken"),
        pytest.raises(ValueError, match="no candidate could be fitted"),
    ):
        select({"broken": Broken()}, small_data())
    with pytest.raises(ValueError, match="as high or as low"):
        select({"ridge": Ridge()}, small_data(), metric="coverage")
    with pytest.raises(ValueError, match="dict of at least one"):
        select({}, small_data())


def test_settings_of_the_command_line():
    found = tuning_candidates(DAPDAGRegressor(**TINY))
    assert list(found) == list(TUNED)
    assert found["as set"].max_epochs == TINY["max_epochs"] and found["hidden=32"].hidden == 32
    again = tuning_candidates(DAPDAGRegressor(hidden=32))
    assert "hidden=32" not in again


def test_figure():
    found = select({"strong": Ridge(30.0), "none": Ridge(1e-6)}, wide())
    ax = plot_selection(found)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["strong", "none"]
    assert any(np.allclose(line.get_ydata(), found.limit) for line in ax.lines)
