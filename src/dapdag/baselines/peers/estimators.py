"""LightGBM, CatBoost, GPBoost and TabPFN, each also with the moments of a row's site."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor, labelled_sources
from ..._sklearn.checks import as_frame
from ..pooled.columns import Columns
from .boosters import fit_booster
from .moments import with_site_moments


class _Peer(DomainEstimator):
    def __init__(
        self,
        *,
        model: str = "lightgbm",
        site_moments: bool = False,
        settings: Mapping[str, Any] | None = None,
        categorical_features: Any = None,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.site_moments = site_moments
        self.settings = settings
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Learn from the labelled rows of all sources; targets are left out."""
        sample = self._training_sample(X, y, sample_domain)
        self._columns_ = Columns.learn(sample)
        rows, labels = labelled_sources(sample)
        matrix = self._columns_.encode(sample.X.iloc[rows], "raw")
        site = sample.domain[rows]
        if self.site_moments:
            matrix = with_site_moments(matrix, site)
        self.booster_ = fit_booster(
            self.model,
            matrix,
            labels,
            site,
            self._regression,
            self.settings or {},
            self.random_state,
        )
        return self

    def _predicted(self, X: Any, sample_domain: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        matrix = self._columns_.encode(as_frame(self, X, reset=False), "raw")
        if self.site_moments:
            one = np.zeros(len(matrix), dtype=int)
            site = one if sample_domain is None else pd.factorize(np.asarray(sample_domain))[0]
            matrix = with_site_moments(matrix, site)
        return self.booster_.predict(matrix)


class PeerRegressor(_Peer, DomainRegressor):
    """Predict a number by boosted trees, or by TabPFN.

    Parameters
    ----------
    model : ``"lightgbm"``, ``"catboost"``, ``"gpboost"``, whose trees stand beside a random
        intercept of each site, or ``"tabpfn"``.
    site_moments : each column's mean and standard deviation at the row's site are columns as well;
        at prediction all rows are one site unless `sample_domain` is given.
    settings : hyper-parameters of that model.
    categorical_features : columns whose numbers are codes of levels.
    random_state : one seed gives one result.
    """

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """The label of every row."""
        return self._predicted(X, sample_domain)


class PeerClassifier(_Peer, DomainClassifier):
    """Predict a class by boosted trees or TabPFN; the parameters are those of `PeerRegressor`."""

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_`."""
        return self._predicted(X, sample_domain)
