"""MissForest as a predictor: the target's labels are missing values of one large table."""

import warnings
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._runtime.warning import DataWarning
from ..._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor
from ..._sklearn.checks import as_frame
from ..._sklearn.descriptions import described_as
from .columns import encode
from .imputer import ForestParameters, MissForestImputer, other_columns


class _MissForest(ForestParameters, DomainEstimator):
    needs_target = True

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Impute the table of all sources and targets, whose labels are missing.

        Rows with a negative `sample_domain` are targets; `y` is not looked at there. Without
        targets the sources alone are imputed, and `predict` treats any rows as a further target.
        """
        sample = self._training_sample(X, y, sample_domain)
        self._features_ = _with_values(sample.X)
        features = sample.X[self._features_]
        label = pd.Series(sample.y, index=sample.X.index, name=sample.label_name)
        if sample.classes is not None:
            label = label.astype(pd.CategoricalDtype(list(sample.classes)))
        self.imputer_ = MissForestImputer(**self.get_params(deep=False))
        self.imputer_.fit_frame(pd.concat([features, label], axis=1), sample.categorical)
        self.n_iter_ = max(1, self.imputer_.n_iter_)
        self._label_forest_ = self.imputer_.forest_of(features.shape[1])
        cells = encode(self.imputer_.columns_[:-1], features)
        self._completed_targets_ = {
            cells[i].tobytes(): self.imputer_.completed_[i]
            for i in np.flatnonzero(~sample.is_source)
        }
        return self

    def _completed(self, X: Any) -> NDArray[np.float64]:
        """The rows without missing cells, the label's place included.

        Rows of a target that `fit` has seen are as it completed them. Others are a further
        target: the fitted forests complete them, and nothing is learned from them.
        """
        check_is_fitted(self)
        frame = as_frame(self, X, reset=False)[self._features_]
        features = encode(self.imputer_.columns_[:-1], frame)
        values = np.column_stack([features, np.full(len(frame), np.nan)])
        seen = [self._completed_targets_.get(row.tobytes()) for row in features]
        new = np.array([row is None for row in seen])
        if new.any():
            self.imputer_.warn_of_unseen(frame[new])
            values[new] = self.imputer_.complete(values[new])
        if not new.all():
            values[~new] = [row for row in seen if row is not None]
        return values

    def _label_inputs(self, X: Any) -> NDArray[np.float64]:
        completed = self._completed(X)
        columns = self.imputer_.columns_
        return other_columns(columns, completed, len(columns) - 1)


def _with_values(X: pd.DataFrame) -> list[Hashable]:
    """The columns that hold any value; the others are left out, and named in a warning."""
    empty = [name for name in X if X[name].isna().all()]
    if empty:
        warnings.warn(
            f"columns without any value are left out: {', '.join(map(repr, empty))}",
            DataWarning,
            stacklevel=4,
        )
    return [name for name in X if name not in empty]


@described_as(MissForestImputer, attributes=())
class MissForestRegressor(_MissForest, DomainRegressor):
    """Predict a number by imputing it: the target's labels are missing values.

    Sources and targets form one table, in which `MissForestImputer` fills the missing cells.
    The domains are not told apart.
    """

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """The imputed label of every row; `sample_domain` makes no difference."""
        inputs = self._label_inputs(X)
        return self._label_forest_.predict(inputs)


@described_as(MissForestImputer, attributes=())
class MissForestClassifier(_MissForest, DomainClassifier):
    """Predict a class by imputing it: the target's labels are missing values.

    Sources and targets form one table, in which `MissForestImputer` fills the missing cells.
    The domains are not told apart.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_`: the votes of the label's forest, plus one for each.

        Trees grown to the end often agree, and 0 is not a probability that 100 votes can prove.
        `sample_domain` makes no difference.
        """
        inputs = self._label_inputs(X)
        found = self._label_forest_.predict_proba(inputs)
        levels = list(self.imputer_.columns_[-1].levels or ())
        votes = self.n_estimators * found[:, [levels.index(c) for c in self.classes_]] + 1.0
        return votes / votes.sum(axis=1, keepdims=True)
