"""What a user would take instead: boosting, forests and linear models on the pooled sources."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor, labelled_sources
from ..._sklearn.checks import as_frame
from .columns import Columns
from .models import SCALE, ModelName, build, train


class _Practice(DomainEstimator):
    def __init__(
        self,
        *,
        model: ModelName = "boosting",
        settings: Mapping[str, Any] | None = None,
        scale: str | None = None,
        categorical_features: Any = None,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.settings = settings
        self.scale = scale
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_domain: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the labelled rows of all sources as if they were one; targets are left out."""
        sample = self._training_sample(X, y, sample_domain, sample_weight)
        unfitted = build(self.model, self._regression, self.settings or {}, self.random_state)
        self._columns_ = Columns.learn(sample)
        rows, labels = labelled_sources(sample)
        Z, weight = self._encoded(sample.X.iloc[rows]), sample.weights_of(rows)
        self.model_ = train(unfitted, Z, labels, self.random_state, weight)
        return self

    def _encoded(self, frame: Any) -> NDArray[np.float64]:
        scale: Any = self.scale or SCALE[self.model]
        if scale not in ("raw", "standard", "rank"):
            raise ValueError(f"scale must be 'raw', 'standard' or 'rank', got {scale!r}")
        return self._columns_.encode(frame, scale)

    def _ready(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._encoded(as_frame(self, X, reset=False))


class PracticeRegressor(_Practice, DomainRegressor):
    """Predict a number with a common model trained on the pooled sources.

    Parameters
    ----------
    model : ``"boosting"`` (scikit-learn's histogram boosting), ``"lightgbm"``, ``"forest"`` or
        ``"linear"`` (ridge).
    settings : hyper-parameters of that model.
    scale : ``"raw"``, ``"standard"`` or ``"rank"`` numbers, see `pooled.columns.Columns`; None
        is raw for trees and standard for linear models.
    categorical_features : columns whose numbers are codes of levels.
    random_state : one seed gives one result.
    """

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """The label of every row; `sample_domain` makes no difference."""
        Z = self._ready(X)
        return np.asarray(self.model_.predict(Z), dtype=float)


class PracticeClassifier(_Practice, DomainClassifier):
    """Predict a class with a common model trained on the pooled sources.

    Parameters are those of `PracticeRegressor`; the linear model is a logistic regression.
    """

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_`; `sample_domain` makes no difference."""
        Z = self._ready(X)
        return np.asarray(self.model_.predict_proba(Z), dtype=float)
