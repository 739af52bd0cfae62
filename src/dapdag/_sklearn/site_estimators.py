"""A known site at which a number, or a class, is predicted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._runtime.cache import compilation_cache
from .site_model import SiteModel
from .sites import class_intervals, interval_of, numbers_of, probabilities_of


class SiteRegressor(RegressorMixin, SiteModel):
    """A site at which a number is predicted."""

    def predict(
        self, X: Any, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected label of every row; with `return_std` also its predictive standard deviation."""
        mean, std = self._numbers(X)
        return (mean, std) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Lower and upper end of the central predictive interval of every row: (rows, 2)."""
        found = self._label(X)
        return interval_of(self.known_.model, found, coverage)

    def _in_units(self, standardised: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.known_.model.table.label.decode(standardised[:, None])

    def _numbers(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = self._label(X)
        return numbers_of(self.known_.model, found)


class SiteClassifier(ClassifierMixin, SiteModel):
    """A site at which classes are predicted."""

    @property
    def classes_(self) -> NDArray[Any]:
        return self.estimator.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each of `classes_` for every row."""
        return probabilities_of(self._label(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Lower and upper end of the probability of each class: (rows, classes, 2).

        The interval is of the probability, not of the class: how far it may be off at this site,
        as left-out sources were, and what members, E and experts disagree about.
        """
        check_is_fitted(self)
        frame = self._checked(X)
        known = self.known_
        with compilation_cache():
            about = known.model, known.estimate, known.variation
            return class_intervals(*about, frame, known.score(frame), coverage)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))
