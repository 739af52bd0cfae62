"""Any scikit-learn estimator with E of a row's site as further columns."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from joblib import hash as content_hash
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor, labelled_sources
from .._sklearn.descriptions import described_as
from .._sklearn.environment_features import EnvironmentFeatures
from ..estimators import DAPDAGClassifier, DAPDAGRegressor

# One network of each kind is enough where the label is not predicted: E does not depend on them.
SMALLEST: dict[str, Any] = {"n_members": 1, "n_predictors": 1}


class _SiteAware(DomainEstimator):
    def __init__(
        self,
        *,
        estimator: Any = "linear",
        features: EnvironmentFeatures | None = None,
        settings: Mapping[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Learn E from the sources, and the estimator from their rows with E beside them."""
        sample = self._training_sample(X, y, sample_domain)
        self.features_ = _fitted(self._unfitted_features(), X, y, sample_domain)
        # E is inferred from all rows of a source, with a label or without.
        source = np.flatnonzero(sample.is_source)
        rows = self.features_.transform(sample.X.iloc[source], sample.domain[source])
        labelled, labels = labelled_sources(sample)
        kept = rows.iloc[np.searchsorted(source, labelled)].reset_index(drop=True)
        unfitted = self._unfitted()
        knows = isinstance(unfitted, DomainEstimator)
        sites = {"sample_domain": sample.domain[labelled]} if knows else {}
        self.estimator_ = unfitted.fit(kept, labels, **sites)
        return self

    def _unfitted_features(self) -> EnvironmentFeatures:
        if self.features is not None:
            return clone(self.features)
        kind = DAPDAGRegressor if self._regression else DAPDAGClassifier
        return EnvironmentFeatures(kind(random_state=self.random_state, **SMALLEST))

    def _unfitted(self) -> Any:
        found = self.estimator
        if isinstance(found, str):
            from . import registry

            task = "regression" if self._regression else "classification"
            found = registry.make(found, task, random_state=self.random_state)
        return clone(found).set_params(**(self.settings or {}))

    def _rows(self, X: Any, sample_domain: Any) -> Any:
        check_is_fitted(self)
        return self.features_.transform(X, sample_domain)


class SiteAwareRegressor(_SiteAware, DomainRegressor):
    """Predict a number by any estimator that is told E of each row's site.

    Parameters
    ----------
    estimator : scikit-learn estimator or str, default="linear"
        An estimator with `fit(X, y)`, or the name of a method of the registry. It sees the table as
        it is, with the columns of `features` at its end.
    features : EnvironmentFeatures, optional
        The columns, and the estimator by which E is learned. By default E and its standard
        deviation, by a `DAPDAGRegressor` with the fewest networks.
    settings : mapping from str to value, optional
        Parameters of the estimator. By default its own.
    random_state : int, default=0
        Seed of E, and of a method of the registry; at least 0.

    Attributes
    ----------
    features_ : EnvironmentFeatures
        The fitted features.
    estimator_ : estimator
        The fitted estimator.
    """

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """The label of every row; all are one new site, or several with `sample_domain`."""
        return np.asarray(self.estimator_.predict(self._rows(X, sample_domain)), dtype=float)


@described_as(SiteAwareRegressor)
class SiteAwareClassifier(_SiteAware, DomainClassifier):
    """Predict a class by any estimator that is told E of each row's site.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_`."""
        rows = self._rows(X, sample_domain)
        return np.asarray(self.estimator_.predict_proba(rows), dtype=float)


_latest: dict[str, EnvironmentFeatures] = {}


def _fitted(features: EnvironmentFeatures, X: Any, y: Any, sample_domain: Any) -> Any:
    """The features fitted to this table. The latest are kept: when methods are compared, several
    ask in turn for the same ones."""
    key = content_hash((repr(features), features.get_params(), X, y, sample_domain))
    if key not in _latest:
        found = features.fit(X, y, sample_domain)
        _latest.clear()
        _latest[key] = found
    return _latest[key]
