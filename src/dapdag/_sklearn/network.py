"""What every estimator on our network shares: settings, fitting, prediction, saving.

What only some of them have, environments and a graph, is in `mixins`.
"""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._runtime.warning import InterruptedWarning
from ..data.sample import Sample
from ..data.schema import schema_frame
from ..inference.coordinates import EnvironmentMap
from ..inference.fitted import Fit
from ..training.fit import fit_models
from ..training.form import Form
from ..training.settings import Settings, check_settings
from .base import DomainClassifier, DomainEstimator, DomainRegressor
from .notices import warn_of_idle_columns, warn_of_suspects
from .sites import adapt


class NetworkEstimator(DomainEstimator):
    """Fits a network to a sample and predicts the label; `_regression` says of which kind.

    A subclass defines by `_form` which pieces its network consists of, and by `_sample` which rows
    it is trained on. `fitted_` is the fitted state, an `inference.fitted.Fit`.
    """

    # `groups` of a search over parameters are sites as a rule: they go to its splitter alone.
    __metadata_request__fit: ClassVar = {"groups": False}

    _form: Form
    fitted_: Fit

    _absent_terms: ClassVar[tuple[str, ...]] = ()  # of the loss

    def fit(
        self,
        X: Any,
        y: Any,
        sample_domain: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Learn from labelled sources.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Features of all rows.
        y : sequence, one per row
            Labels; ignored where `sample_domain` is negative.
        sample_domain : sequence of labels, one per row, optional
            Site of every row, strings or integers. By default all rows are one site. Negative
            integers are unlabelled targets, whose rows help the reconstruction where there is one.
        sample_weight : sequence of float, one per row, optional
            One number per row, at least 0: how much the row counts in the loss, in early stopping,
            in E of its source, in the level of the label, and in what is learned from left-out
            sources. Only ratios matter; equal weights are the same as none, and a row of weight 0
            is the same as no row. Where a statistic counts rows alike (the graph search, the
            comparison of experts at left-out sources), it sees a systematic sample of the rows in
            proportion to their weights, of Kish's effective number of rows. Scales of columns and
            the counts of `record_` are of the rows as they are.
        groups : sequence of labels, one per row, optional
            One label per row, such as a patient's: rows of one group are never on both sides of the
            split into training and validation, in whatever domains they are.

        Returns
        -------
        self
            The fitted estimator.
        """
        settings = self._settings()
        sample = self._sample(self._training_sample(X, y, sample_domain, sample_weight, groups))
        warn_of_idle_columns(sample)
        warn_of_suspects(sample)
        fit = self._train([sample], settings)[0]
        self._adopt(fit, sample.source_names)
        return self

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        known = {f.name for f in fields(Settings)}
        # a graph that the user gave is data, not a setting
        if not isinstance(given.get("structure", "search"), str):
            given["structure"] = "given"
        settings = Settings(**{k: v for k, v in given.items() if k in known}, form=self._form)
        return check_settings(settings)

    def _sample(self, sample: Sample) -> Sample:
        """The rows to train on."""
        return sample

    def _train(self, samples: Sequence[Sample], settings: Settings) -> list[Fit]:
        """One fit per sample; samples of one shape train as lanes of one program."""
        return fit_models(samples, settings)

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        """Set the fitted state; also used when a model is loaded."""
        table = fit.model.table
        self.fitted_ = fit
        self.sources_ = sources
        self.coordinates_ = EnvironmentMap.align(fit.model)
        self.n_epochs_ = fit.n_epochs
        self.n_features_in_ = len(table.features)
        self.history_ = fit.history.drop(columns=list(self._absent_terms))
        self.record_ = fit.record
        self.schema_ = schema_frame(table, fit.record.missing(), fit.record.missing_overall())
        self.assessment_: pd.DataFrame | None = None
        self.reading_: dict[str, Any] | None = None
        if not self._regression:
            self.classes_ = np.asarray(table.label.levels)  # type: ignore[union-attr]

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file; `dapdag.load` reads it.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        from ..persistence import save

        check_is_fitted(self)
        save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


def fit_or_interrupt(
    estimator: NetworkEstimator, X: Any, y: Any, sample_domain: Any, **about_rows: Any
) -> None:
    """Fit; Ctrl-C, which otherwise only ends the training early, raises KeyboardInterrupt.

    Where there were weights to keep, the estimator is fitted nevertheless.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)
        estimator.fit(X, y, sample_domain=sample_domain, **about_rows)
    if estimator.fitted_.interrupted:
        raise KeyboardInterrupt


class NetworkRegressor(DomainRegressor, NetworkEstimator):
    """Predicts numbers."""

    def predict(
        self, X: Any, sample_domain: Any = None, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected label of every row, each site under its own E.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.
        return_std : bool, default=False
            Also return the predictive standard deviation of every row.

        Returns
        -------
        array of shape (rows,)
            Expected labels; with `return_std` a pair of such arrays.
        """
        mean, std = adapt(self, X, sample_domain).numbers()
        return (mean, std) if return_std else mean

    def predict_interval(
        self, X: Any, coverage: float = 0.9, sample_domain: Any = None
    ) -> NDArray[np.float64]:
        """Central predictive interval of every row.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        coverage : float, default=0.9
            Share of the labels that the interval is to hold, between 0 and 1.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        array of shape (rows, 2)
            Lower and upper ends.
        """
        return adapt(self, X, sample_domain).interval(coverage)


class NetworkClassifier(DomainClassifier, NetworkEstimator):
    """Predicts classes."""

    __metadata_request__predict_log_proba: ClassVar = {"sample_domain": True}

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_` for every row, averaged over E.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        array of shape (rows, classes)
            Probabilities in the order of `classes_`.
        """
        return adapt(self, X, sample_domain).probabilities()

    def predict_log_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        array of shape (rows, classes)
            Logarithms of probabilities in the order of `classes_`.
        """
        return np.log(self.predict_proba(X, sample_domain))
