"""A small search over hyper-parameters that keeps whole source domains out."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._runtime.warning import MethodWarning
from ..._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor
from ...data.sample import Sample

# One domain that nobody can predict must not choose the hyper-parameters for all others.
WORST_RATIO = 2.0
SMALLEST_PROBABILITY = 1e-6


class _DomainSearch(DomainEstimator):
    def __init__(
        self,
        *,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]] = ({},),
        n_folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.n_folds = n_folds
        self.random_state = random_state

    @property
    def needs_target(self) -> bool:  # type: ignore[override]
        """Whether the estimator inside wants the target's rows."""
        return bool(getattr(self.estimator, "needs_target", False))

    @property
    def categorical_features(self) -> Any:
        return getattr(self.estimator, "categorical_features", None)

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Try every candidate on held-out sources, and fit the best one on everything.

        Targets take no part in the search. A method that needs a target gets the held-out sources
        as targets, without their labels.
        """
        if not len(self.candidates):
            raise ValueError("candidates is empty: {} stands for the defaults")
        sample = self._training_sample(X, y, sample_domain)
        scores = np.zeros(len(self.candidates))
        if len(self.candidates) > 1:
            folds = source_folds(sample, self.n_folds, self.random_state)
            scores = np.array([self._loss(c, sample, folds) for c in self.candidates])
            if not np.isfinite(scores).any():
                raise ValueError("every candidate of the search failed; see the warnings")
        self.best_index_ = int(np.argmin(scores))
        self.best_params_ = dict(self.candidates[self.best_index_])
        self.results_ = pd.DataFrame(
            {"candidate": [str(dict(c)) for c in self.candidates], "loss": scores}
        )
        self.best_estimator_ = self._candidate(self.best_params_).fit(X, y, sample_domain)
        return self

    def _candidate(self, parameters: Mapping[str, Any]) -> Any:
        return clone(self.estimator).set_params(**parameters)

    def _loss(
        self, parameters: Mapping[str, Any], sample: Sample, folds: list[NDArray[np.intp]]
    ) -> float:
        """Mean over held-out domains; infinite where the candidate fails."""
        losses: list[float] = []
        for held_out in folds:
            try:
                predicted = self._held_out_prediction(parameters, sample, held_out)
            except Exception as error:  # one bad candidate must not end the search
                warnings.warn(
                    f"candidate {dict(parameters)} failed and is left out: "
                    f"{type(error).__name__}: {error}",
                    MethodWarning,
                    stacklevel=3,
                )
                return np.inf
            losses += _domain_losses(sample, held_out, predicted)
        return float(np.mean(losses)) if np.isfinite(losses).all() else np.inf

    def _held_out_prediction(
        self, parameters: Mapping[str, Any], sample: Sample, held_out: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Numbers, or the probability of each of `classes_`, of the held-out rows."""
        rows = np.setdiff1d(sample.labelled, held_out)
        y, domain = sample.y[rows], sample.domain[rows]
        as_targets = -1 - sample.domain[held_out]
        if self.needs_target:
            rows = np.concatenate([rows, held_out])
            domain = np.concatenate([domain, as_targets])
            # Labels of targets are not looked at; a constant would give nothing away.
            y = np.concatenate([y, np.full(len(held_out), y[0])])
        y = y.astype(float if sample.classes is None else sample.classes.dtype)
        labels = pd.Series(y, index=sample.X.index[rows], name=sample.label_name)
        model = self._candidate(parameters).fit(sample.X.iloc[rows], labels, sample_domain=domain)
        X = sample.X.iloc[held_out]
        if sample.classes is None:
            return np.asarray(model.predict(X, sample_domain=as_targets), dtype=float)
        probability = np.zeros((len(X), len(sample.classes)))
        known = np.searchsorted(sample.classes, model.classes_)
        probability[:, known] = model.predict_proba(X, sample_domain=as_targets)
        return probability


class DomainSearchRegressor(_DomainSearch, DomainRegressor):
    """The best of several candidates of a regressor, by leave-one-source-out.

    Parameters
    ----------
    estimator : a regressor with the common face.
    candidates : hyper-parameters to try, as dictionaries for ``set_params``; one is just fitted.
    n_folds : more sources than this are held out in groups. A single source is split by rows.
    random_state : of the groups. The estimator has its own.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_ : the candidate that was fitted on everything.
    results_ : DataFrame of the candidates and their loss: the mean over held-out domains of the
        squared error relative to the variance of all source labels, at most 2 for a domain.
    """

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """What the best estimator predicts."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, sample_domain=sample_domain)

    @available_if(lambda self: hasattr(self.estimator, "predict_interval"))
    def predict_interval(
        self, X: Any, coverage: float = 0.9, sample_domain: Any = None
    ) -> NDArray[np.float64]:
        """The best estimator's interval; only where the estimator has one."""
        check_is_fitted(self)
        return self.best_estimator_.predict_interval(X, coverage, sample_domain=sample_domain)


class DomainSearchClassifier(_DomainSearch, DomainClassifier):
    """The best of several candidates of a classifier, by leave-one-source-out.

    Parameters and attributes are those of `DomainSearchRegressor`; the loss is the mean over
    held-out domains of the log-loss.
    """

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """What the best estimator says of each of `classes_`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X, sample_domain=sample_domain)


def source_folds(sample: Sample, n_folds: int, random_state: int) -> list[NDArray[np.intp]]:
    """Labelled rows to hold out: every source once, in at most `n_folds` groups of whole sources.

    The rows of a single source are split at random.
    """
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}")
    rng = np.random.default_rng(random_state)
    rows = sample.labelled
    sources = rng.permutation(np.unique(sample.domain[rows]))
    if len(sources) == 1:
        return [np.sort(part) for part in np.array_split(rng.permutation(rows), n_folds)]
    groups = np.array_split(sources, min(n_folds, len(sources)))
    return [rows[np.isin(sample.domain[rows], group)] for group in groups]


def _domain_losses(
    sample: Sample, rows: NDArray[np.intp], predicted: NDArray[np.float64]
) -> list[float]:
    """One loss per domain among the rows."""
    domain, y = sample.domain[rows], sample.y[rows]
    if sample.classes is None:
        spread = float(np.var(sample.y[sample.labelled].astype(float))) or 1.0
        loss = (predicted - y.astype(float)) ** 2 / spread
        return [min(float(loss[domain == d].mean()), WORST_RATIO) for d in np.unique(domain)]
    code = np.searchsorted(sample.classes, y.astype(sample.classes.dtype))
    chosen = np.clip(predicted[np.arange(len(rows)), code], SMALLEST_PROBABILITY, 1.0)
    return [float(-np.log(chosen[domain == d]).mean()) for d in np.unique(domain)]
