"""What all estimators on our network have in common: scikit-learn's conventions, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from dapdag import DAPDAGRegressor, load
from dapdag.baselines import (
    BRMClassifier,
    BRMRegressor,
    CASTLEClassifier,
    CASTLERegressor,
    MDANClassifier,
    MDANRegressor,
    MLPClassifier,
    MLPRegressor,
)
from dapdag.training.settings import Settings

REGRESSORS = (BRMRegressor, CASTLERegressor, MDANRegressor, MLPRegressor)
CLASSIFIERS = (BRMClassifier, CASTLEClassifier, MDANClassifier, MLPClassifier)
FITTED = (MDANClassifier, MLPRegressor)
QUICK = {"hidden": 4, "n_members": 2, "max_epochs": 3}
N = 90


def table(seed: int = 0) -> pd.DataFrame:
    """A number with gaps, a category and a code of a category."""
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(N) < 0.2, np.nan, rng.normal(50, 10, N))
    colour = pd.Categorical(rng.choice(["red", "green", "blue"], N))
    return pd.DataFrame({"age": age, "colour": colour, "code": rng.integers(3, size=N)})


def label(X: pd.DataFrame) -> np.ndarray:
    return X["age"].fillna(50).to_numpy() + 10 * (X["colour"] == "red").to_numpy()


DOMAIN = np.repeat([0, 1, -1], N // 3)


@pytest.fixture(scope="module", params=FITTED, ids=lambda kind: kind.__name__)
def fitted(request: pytest.FixtureRequest) -> Any:
    X = table()
    y = label(X)
    model = request.param(**QUICK, categorical_features=["code"], random_state=np.int64(3))
    return model.fit(X, y > 50 if is_classifier(model) else y, sample_domain=DOMAIN)


def test_a_saved_model_predicts_the_same_to_the_bit(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again, X = load(tmp_path / "model"), table(1)
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert_array_equal(again.predict(X), fitted.predict(X))
    pd.testing.assert_frame_equal(again.history_, fitted.history_)
    learned = {name for name in vars(fitted) if name.endswith("_")}
    assert {name for name in vars(again) if name.endswith("_")} == learned
    again.save(tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "model").read_bytes()


def test_an_instance_is_cloned_with_its_parameters(fitted: Any) -> None:
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        again.predict(table())


def test_columns_must_be_those_of_the_fit(fitted: Any) -> None:
    X = table()
    assert list(fitted.feature_names_in_) == list(X)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[["code", "age", "colour"]])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X.drop(columns="code"))


def test_history_holds_what_was_minimised(fitted: Any) -> None:
    assert {"prediction", "total", "validation"} <= set(fitted.history_)
    assert len(fitted.history_) == fitted.n_epochs_
    assert np.isfinite(fitted.history_.to_numpy()).all()


@pytest.mark.parametrize(
    "kind", [DAPDAGRegressor, *REGRESSORS, *CLASSIFIERS], ids=lambda kind: kind.__name__
)
def test_parameters_of_equal_name_have_equal_defaults(kind: type) -> None:
    ours, theirs, settings = DAPDAGRegressor().get_params(), kind().get_params(), vars(Settings())
    for expected in (ours, settings):
        shared = theirs.keys() & expected.keys()
        assert {k: theirs[k] for k in shared} == {k: expected[k] for k in shared}
    assert set(theirs) - set(ours) <= {"mode", "mu", "gamma"}
    assert {"hidden", "n_members", "max_epochs", "patience", "learning_rate"} <= set(theirs)


def test_tasks_are_told_apart() -> None:
    assert all(is_regressor(kind()) and not is_classifier(kind()) for kind in REGRESSORS)
    assert all(is_classifier(kind()) and not is_regressor(kind()) for kind in CLASSIFIERS)
