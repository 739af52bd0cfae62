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
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from .._runtime.cache import compilation_cache
from ..data.columns import Discrete
from ..data.sample import Sample
from ..data.schema import duplicates, schema_frame
from ..inference.fitted import Fit, Model
from ..inference.prediction import LabelDistribution, predict_domain
from ..training.fit import fit_models
from ..training.settings import Settings, check_settings
from .base import DomainClassifier, DomainEstimator, DomainRegressor
from .checks import as_frame, new_domains

# A feature that few rows lack says nothing about their domain.
FEWEST_ROWS_TO_TELL = 5
# A feature that matters and has values in fewer rows than this is as good as absent.
NEARLY_ABSENT = 0.05
# A smaller share would be called 0 %.
LEAST_TO_TELL = 0.005


class NetworkEstimator(DomainEstimator):
    """Fits a network to a sample and predicts the label; `_regression` says of which kind.

    A subclass takes pieces out of the network by `_settings` and rows out of the sample by
    `_sample`.
    """

    _absent_terms: ClassVar[tuple[str, ...]] = ()  # of the loss

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Learn from labelled sources.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, features)
        y : one label per row; ignored where `sample_domain` is negative
        sample_domain : one label per row, strings or integers; None means one domain.
            Negative integers are unlabelled targets, whose rows help the reconstruction where
            there is one.
        """
        settings = self._settings()
        sample = self._sample(self._training_sample(X, y, sample_domain))
        _report_idle_columns(sample)
        fit = self._train([sample], settings)[0]
        self._adopt(fit, sample.domain_labels[: sample.n_sources])
        return self

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        known = {f.name for f in fields(Settings)}
        return check_settings(Settings(**{k: v for k, v in given.items() if k in known}))

    def _sample(self, sample: Sample) -> Sample:
        """The rows to train on."""
        return sample

    def _train(self, samples: Sequence[Sample], settings: Settings) -> list[Fit]:
        """One fit per sample; samples of one shape train as lanes of one program."""
        return fit_models(samples, settings)

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        """Take over what was learned; also used when a model is loaded."""
        table = fit.model.table
        assert fit.record is not None
        self._fit_ = fit
        self._sources_ = sources
        self.n_epochs_ = fit.n_epochs
        self.n_features_in_ = len(table.features)
        self.history_ = fit.history.drop(columns=list(self._absent_terms))
        self.record_ = fit.record
        self.schema_ = schema_frame(
            table, fit.record.missing(), [source.rows for source in fit.record.sources]
        )
        self.assessment_: pd.DataFrame | None = None
        if not self._regression:
            self.classes_ = np.asarray(table.label.levels)  # type: ignore[union-attr]

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file; `dapdag.load` reads it."""
        from ..persistence import save

        check_is_fitted(self)
        save(self, path)

    def _ready(self, X: Any) -> tuple[Model, pd.DataFrame]:
        check_is_fitted(self)
        model, frame = self._fit_.model, as_frame(self, X, reset=False)
        for name, count in model.table.unseen(frame).items():
            warnings.warn(
                f"column {name!r}: {count} cell(s) hold a value that no source has, or too few "
                f"rows of them had; they count as {model.table.unknown(name)}",
                stacklevel=3,
            )
        return model, frame

    def _label_distribution(self, X: Any, sample_domain: Any) -> LabelDistribution:
        """The label's distribution row by row, each domain under its own E."""
        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            parts = []
            for d in range(len(labels)):
                rows = frame if len(labels) == 1 else frame.iloc[np.flatnonzero(codes == d)]
                _report_absent_features(model, rows, labels[d])
                parts.append(predict_domain(model, rows))
        if len(parts) == 1:
            return parts[0]
        back = np.argsort(np.argsort(codes, kind="stable"), kind="stable")
        mean = np.concatenate([p.mean for p in parts])[back]
        if parts[0].variance is None:
            return LabelDistribution(mean, None)
        return LabelDistribution(
            mean,
            np.concatenate([p.variance for p in parts])[back],
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fit_")


def fit_or_interrupt(estimator: NetworkEstimator, X: Any, y: Any, sample_domain: Any) -> None:
    """Fit; Ctrl-C, which otherwise only ends the training early, raises KeyboardInterrupt."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="training was interrupted")
        estimator.fit(X, y, sample_domain=sample_domain)
    if estimator._fit_.interrupted:
        raise KeyboardInterrupt


def _report_absent_features(model: Model, X: pd.DataFrame, domain: Hashable) -> None:
    """Say which features a domain lacks in all rows, or in nearly all, and what each is worth."""
    if len(X) < FEWEST_ROWS_TO_TELL:
        return
    for j, variable in enumerate(model.table.features):
        if not any(variable.scale):
            continue
        values = int(X.iloc[:, j].notna().sum())
        nearly = values <= NEARLY_ABSENT * len(X) and model.lacking.worth[j] >= LEAST_TO_TELL
        if values and not nearly:
            continue
        has = f"a value in only {values} of {len(X)} rows of" if values else "no value in"
        warnings.warn(
            f"column {variable.name!r} has {has} the domain {domain!r}: {_worth(model, j)}",
            stacklevel=4,
        )


def _worth(model: Model, feature: int) -> str:
    worth = model.lacking.worth[feature]
    if not np.isfinite(worth):
        return "too few held-out rows of the sources tell what it is worth"
    error, allowing = "root mean squared error", "intervals are wider for it"
    if isinstance(model.table.label, Discrete):
        error, allowing = "log-loss", "probabilities are less sure for it"
    error = f"without it alone the {error} of held-out rows of the sources"
    if worth < LEAST_TO_TELL:
        return f"{error} does not grow"
    return f"{error} grows by {worth:.0%}; {allowing}"


def _report_idle_columns(sample: Sample) -> None:
    sources = sample.X.iloc[np.flatnonzero(sample.is_source)]
    empty = [name for name in sources if sources[name].isna().all()]
    if empty:
        warnings.warn(
            f"column(s) {', '.join(map(repr, empty))} have no value in any source: nothing can be "
            "learned from them, and they are not used",
            stacklevel=3,
        )
    for first, second in duplicates(sources.drop(columns=empty)):
        warnings.warn(
            f"columns {first!r} and {second!r} hold the same values: the graph cannot tell which "
            "of them acts; drop one",
            stacklevel=3,
        )


class NetworkRegressor(DomainRegressor, NetworkEstimator):
    """Predicts numbers."""

    def predict(
        self, X: Any, sample_domain: Any = None, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected label of every row; with `return_std` also its predictive standard deviation.

        All rows are one new domain, or several with `sample_domain`; each is given its own E.
        """
        found = self._label_distribution(X, sample_domain)
        label = self._fit_.model.table.label
        mean = label.decode(found.mean)
        if not return_std:
            return mean
        assert found.variance is not None
        return mean, np.sqrt(found.variance[:, 0]) * label.deviation  # type: ignore[union-attr]

    def predict_interval(
        self, X: Any, coverage: float = 0.9, sample_domain: Any = None
    ) -> NDArray[np.float64]:
        """Lower and upper end of the central predictive interval of every row: (rows, 2)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, not {coverage}")
        mean, std = self.predict(X, sample_domain, return_std=True)
        half = norm.ppf(0.5 + coverage / 2) * std
        return np.column_stack([mean - half, mean + half])


class NetworkClassifier(DomainClassifier, NetworkEstimator):
    """Predicts classes."""

    __metadata_request__predict_log_proba: ClassVar = {"sample_domain": True}

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_` for every row, averaged over E."""
        mean = self._label_distribution(X, sample_domain).mean
        if len(self.classes_) == 2:
            return np.column_stack([1 - mean[:, 0], mean[:, 0]])
        return mean / mean.sum(1, keepdims=True)

    def predict_log_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X, sample_domain))
