"""Small data for the tests of evaluate."""

from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from dapdag.datasets import DomainData

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


class ClassSpy(ClassifierMixin, BaseEstimator):
    needs_target = True
    fits: ClassVar[list] = []

    def fit(self, X, y, sample_domain=None):
        ClassSpy.fits.append((np.asarray(y), np.asarray(sample_domain)))
        self.classes_ = np.unique(np.asarray(y)[np.asarray(sample_domain) >= 0])
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def forget() -> None:
    """Clear what the spies remember."""
    Spy.fits.clear()
    Spy.predictions.clear()
    ClassSpy.fits.clear()
