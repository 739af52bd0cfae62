"""The interface that all methods share: fit with domains, predict with or without."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from ..data.sample import Sample
from .checks import training_sample


class MixedTableEstimator(BaseEstimator):
    """Accepts tables with categories, text and missing cells."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class DomainEstimator(MixedTableEstimator):
    """`needs_target` says that `fit` wants the target's rows, with negative `sample_domain`."""

    # Routed by default inside scikit-learn's meta-estimators once routing is switched on.
    __metadata_request__fit: ClassVar = {"sample_domain": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__score: ClassVar = {"sample_domain": True}

    needs_target: ClassVar[bool] = False
    _regression: ClassVar[bool]

    def _training_sample(
        self, X: Any, y: Any, sample_domain: Any, sample_weight: Any = None, groups: Any = None
    ) -> Sample:
        about = sample_weight, groups
        sample = training_sample(self, X, y, sample_domain, self._regression, *about)
        if sample.classes is not None:
            self.classes_ = sample.classes
        return sample


class DomainRegressor(RegressorMixin, DomainEstimator):
    """A subclass has `predict`."""

    _regression = True

    def score(self, X: Any, y: Any, sample_weight: Any = None, sample_domain: Any = None) -> float:
        """R² of the prediction.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        y : sequence, one per row
            Labels of the rows.
        sample_weight : sequence of float, one per row, optional
            Weight of every row, at least 0.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        float
            1 for a perfect prediction, 0 for that of the mean.
        """
        predicted = self.predict(X, sample_domain)
        return float(r2_score(y, predicted, sample_weight=sample_weight))


class DomainClassifier(ClassifierMixin, DomainEstimator):
    """A subclass has `predict_proba`."""

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    _regression = False
    classes_: NDArray[Any]

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[Any]:
        """The most probable class of every row.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        array of shape (rows,)
            Classes.
        """
        probability = self.predict_proba(X, sample_domain)
        return self.classes_[probability.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, sample_domain: Any = None) -> float:
        """Accuracy of the prediction.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        y : sequence, one per row
            Labels of the rows.
        sample_weight : sequence of float, one per row, optional
            Weight of every row, at least 0.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        float
            Share of the rows whose class is predicted.
        """
        predicted = self.predict(X, sample_domain)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def labelled_sources(sample: Sample) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Positions and labels of the sources' rows that have a label; classes as codes."""
    rows = sample.labelled
    y = sample.y[rows]
    if sample.classes is not None:
        return rows, np.searchsorted(sample.classes, y.astype(sample.classes.dtype))
    return rows, y.astype(float)
