"""A site that is known: its E, mechanisms and weights are inferred once, and any rows are scored.

`estimator.at(X)` gives one. It is a fitted scikit-learn estimator of one site: tools that perturb
rows (partial dependence, permutation importance, Shapley values) leave the site's E as it is.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._runtime.cache import compilation_cache
from ..data.chunks import Chunks
from ..data.layout import encode
from ..data.rows import RowEncoder
from ..inference import uncertainty
from ..inference.combination import EXPERTS
from ..inference.evidence import Evidence, add_rows, gather
from ..inference.fitted import Fit
from ..inference.novelty import is_novel
from ..inference.one_row import OneRow
from ..inference.prediction import LabelDistribution, score_rows
from ..inference.site import KnownSite
from ..inference.site_mechanisms import mechanisms_at
from ..inference.uncertainty import Spread, probability_interval
from ..model.constants import EFFECT_ROWS
from .base import MixedTableEstimator
from .checks import NEW_DOMAIN, as_frame, site_label
from .notices import (
    warn_of_absent_features,
    warn_of_contradiction,
    warn_of_novel_features,
    warn_of_outsiders,
    warn_of_unknown_values,
)
from .sites import interval_of, numbers_of, probabilities_of


class SiteModel(MixedTableEstimator):
    """A fitted estimator at one site.

    Parameters
    ----------
    estimator : a fitted DAPDAG estimator, which stays as it is.

    Attributes
    ----------
    environment_ : DataFrame of one row, as `estimator.environment` gives it.
    expert_weights_ : share of each expert in the predictions at this site.
    mechanisms_ : DataFrame, one row for the label and each of its children in the graph: how its
        mechanism at this site differs from the sources', see `docs/sites.md`.
    n_rows_, n_labels_ : rows of the site that were seen, and how many of their labels.
    """

    estimator: Any
    known_: KnownSite
    _one: tuple[RowEncoder, OneRow] | None

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the site from its rows; what was known of another one is forgotten.

        `y` holds the labels that are known, NaN or None where one is not; it may be left out.
        """
        check_is_fitted(self.estimator)
        return self._add(None, X, y)

    def update(self, X: Any, y: Any = None) -> Self:
        """Add rows of the same site: afterwards the site is known as if all rows had come at once.

        Changes this object and returns it.
        """
        check_is_fitted(self)
        return self._add(self.known_.evidence, X, y)

    def _add(self, before: Evidence | None, X: Any, y: Any) -> Self:
        model = self.fitted_.model
        frame = self._checked(X)
        label = site_label(model.table, y, len(frame))
        chunks = Chunks(model.table, frame)
        with compilation_cache():
            if before is None:
                evidence = gather(model, chunks, label)
            else:
                evidence = add_rows(model, before, chunks, label)
            self.know(KnownSite(model, evidence))
        self._tell(frame)
        return self

    def mean_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Interval of the mean label that these rows of the site will show.

        Lower and upper end, of a number (2,), or of the share of each of `classes_` (classes, 2).
        It counts that sites differ, as left-out sources did, and the sampling of the rows' labels.
        """
        model, site, label = self.known_.model, self.known_.estimate, self._label(X)
        spread = Spread.at(model, site, label, coverage)
        return self._in_units(uncertainty.mean_interval(model, site, label, spread))

    def expected_score(self, coverage: float = 0.9) -> pd.DataFrame:
        """How well the labels of this site's rows will be predicted, though none is known.

        One row per score, with `expected` and the ends `low` and `high` of an interval, which
        counts how far such expectations were off at left-out sources, and the sampling of labels:
        AUC, log-loss and Brier score of classes, R² and RMSE of a number, and calibration in the
        large (log odds ratio of two classes, mean error of a number).
        """
        known, kept = self.known_, self.known_.evidence.kept
        if len(kept.key) < 2:
            raise ValueError(f"a score takes two rows of this site: {len(kept.key)} is here")
        with compilation_cache():
            label = score_rows(known.model, known.estimate, kept.data)
        about = known.model, known.estimate, label, known.evidence.n_rows, coverage
        found = pd.DataFrame(uncertainty.expected_performance(*about)).T
        found = found.set_axis(["expected", "low", "high"], axis=1).rename_axis("score")
        return self._scores_in_units(found)

    def expected_gain(self, n_labels: int) -> float:
        """What that many labels of this site are expected to gain, given how sites differ.

        R² of a number, nats of log-loss per row of classes, over no labels: by recalibration
        alone, so that more may be gained by many labels.
        """
        known = self.known_
        if not len(known.evidence.kept.key):
            raise ValueError("no row of this site is here: ask where its rows are")
        with compilation_cache():
            label = score_rows(known.model, known.estimate, known.evidence.kept.head(EFFECT_ROWS))
        return uncertainty.expected_gain(known.model, known.estimate, label, n_labels)

    def _in_units(self, standardised: NDArray[np.float64]) -> NDArray[np.float64]:
        return standardised

    def _scores_in_units(self, standardised: pd.DataFrame) -> pd.DataFrame:
        return standardised

    def save(self, path: Any) -> None:
        """Write the model and the site to one file; `dapdag.load` reads it."""
        from ..persistence import save

        check_is_fitted(self)
        save(self, path)

    @property
    def fitted_(self) -> Fit:
        """The fitted state of the estimator."""
        return self.estimator.fitted_

    @property
    def environment_(self) -> pd.DataFrame:
        known, coordinates = self.known_, self.estimator.coordinates_
        with compilation_cache():
            return coordinates.describe(
                [NEW_DOMAIN], [known.env], is_novel(known.unexplained[None])
            )

    @property
    def expert_weights_(self) -> pd.Series:
        return pd.Series(self.known_.estimate.weights, index=list(EXPERTS))

    @property
    def mechanisms_(self) -> pd.DataFrame:
        with compilation_cache():
            return mechanisms_at(self.known_)

    @property
    def n_rows_(self) -> int:
        return self.known_.evidence.n_rows

    @property
    def n_labels_(self) -> int:
        return len(self.known_.evidence.labelled.key)

    @property
    def reading_(self) -> Any:
        """How the training tables were read, for new tables."""
        return self.estimator.reading_

    def know(self, known: KnownSite) -> Self:
        """Take what is known of the site; also used when a site is loaded."""
        known.estimate  # noqa: B018 - inferred now, not with the first row
        table = known.model.table
        self.known_ = known
        self.n_features_in_ = len(table.features)
        if hasattr(self.estimator, "feature_names_in_"):
            self.feature_names_in_ = self.estimator.feature_names_in_
        self._one = None
        return self

    def _checked(self, X: Any) -> pd.DataFrame:
        frame = as_frame(self.estimator, X, reset=False)
        warn_of_unknown_values(self.fitted_.model.table, frame)
        return frame

    def _tell(self, X: pd.DataFrame) -> None:
        """Warn of what a reader of predictions at this site should know."""
        warn_of_absent_features(self.known_.model, X, NEW_DOMAIN)
        self._tell_of_site()

    def _tell_of_site(self) -> None:
        """Warn of what was inferred."""
        model = self.known_.model
        warn_of_contradiction(model, NEW_DOMAIN, self.known_.estimate)
        novel = self.known_.unexplained[None]
        warn_of_novel_features(model, [NEW_DOMAIN], novel)
        if model.formulation.uses_environment:
            sources = self.estimator.source_environments_
            warn_of_outsiders(model, sources, self.environment_, is_novel(novel))

    def _label(self, X: Any) -> LabelDistribution:
        """The label's distribution of rows of this site."""
        check_is_fitted(self)
        found = self._label_of_one(X)
        if found is not None:
            return found
        with compilation_cache():
            return self.known_.score(self._checked(X))

    def _label_of_one(self, X: Any) -> LabelDistribution | None:
        """The same for one row, by a shorter way; None for anything but a usual row."""
        if self._one is not None:
            encode, score = self._one
            row = encode(X)
            return None if row is None else score(row)
        if len(X) != 1:
            return None
        names = getattr(self, "feature_names_in_", None)
        encode = RowEncoder(self.known_.model.table, names)
        row = encode(X)
        if row is None:
            return None
        with compilation_cache():
            score = OneRow(self.known_.model, self.known_.estimate)
            found = score(row)
        self._one = encode, score
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Compiled programs are not pickled."""
        return super().__getstate__() | {"_one": None}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "known_")

    def __sklearn_clone__(self) -> Self:
        """A site to be fitted anew, with the same fitted estimator."""
        return type(self)(self.estimator)


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

    def _scores_in_units(self, standardised: pd.DataFrame) -> pd.DataFrame:
        label: Any = self.known_.model.table.label
        in_units = standardised.index != "r2"
        return standardised.mul(np.where(in_units, label.deviation, 1.0), axis=0)

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
        model, site = self.known_.model, self.known_.estimate
        frame = self._checked(X)
        rows = encode(model.table, *model.table.encode(frame), None)
        with compilation_cache():
            label = self.known_.score(frame)
            spread = Spread.at(model, site, label, coverage)
            return probability_interval(model, site, rows, label, spread)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))
