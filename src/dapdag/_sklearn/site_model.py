"""A site that is known: its E, mechanisms and weights are inferred once, and any rows are scored.

`estimator.at(X)` gives one. It is a fitted scikit-learn estimator of one site: tools that perturb
rows (partial dependence, permutation importance, Shapley values) leave the site's E as it is.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._runtime.cache import compilation_cache
from ..data.chunks import Chunks
from ..data.rows import RowEncoder
from ..inference import uncertainty
from ..inference.combination import EXPERTS
from ..inference.evidence import Evidence, add_rows, gather
from ..inference.fitted import Fit
from ..inference.novelty import is_novel
from ..inference.one_row import OneRow
from ..inference.prediction import LabelDistribution
from ..inference.site import KnownSite
from ..inference.site_mechanisms import mechanisms_at
from ..inference.uncertainty import Spread
from ..model.constants import EFFECT_ROWS
from .base import MixedTableEstimator
from .checks import NEW_DOMAIN, as_frame
from .notices import (
    warn_of_absent_features,
    warn_of_contradiction,
    warn_of_novel_features,
    warn_of_outsiders,
    warn_of_unknown_values,
)
from .site_labels import site_label


class SiteModel(MixedTableEstimator):
    """A fitted estimator at one site.

    What it predicts follows the estimator. Numbers: `predict(X, return_std=False)` and
    `predict_interval(X, coverage=0.9)`, lower and upper ends in an array of shape (rows, 2).
    Classes: `predict(X)`, `predict_proba(X)`, `predict_log_proba(X)`, and
    `predict_interval(X, coverage=0.9)`, lower and upper ends of the probability of every class in
    an array of shape (rows, classes, 2).

    Parameters
    ----------
    estimator : fitted DAPDAG estimator
        It stays as it is.

    Attributes
    ----------
    environment_ : DataFrame
        One row, as `estimator.environment` gives it.
    expert_weights_ : Series
        Share of each expert in the predictions at this site.
    mechanisms_ : DataFrame
        One row for the label and for each of its children in the graph: how its mechanism at this
        site differs from the sources' (see `docs/sites.md`).
    n_rows_ : int
        Rows of the site that were seen.
    n_labels_ : int
        How many of them had a label.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> site = model.at(split.X_target, split.y_target)
    >>> site.n_rows_, site.n_labels_
    (60, 60)
    >>> site.predict_interval(split.X_target[:1]).shape
    (1, 2)
    """

    estimator: Any
    known_: KnownSite
    _one: tuple[RowEncoder, OneRow] | None

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the site from its rows; what was known of another one is forgotten.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of one site.
        y : sequence, one per row, optional
            Labels that are known, NaN or None where one is not. By default none is.

        Returns
        -------
        self
            The fitted site.
        """
        check_is_fitted(self.estimator)
        return self._add(None, X, y)

    def update(self, X: Any, y: Any = None) -> Self:
        """Add rows of the same site: afterwards it is known as if all rows had come at once.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Further rows of the site.
        y : sequence, one per row, optional
            Labels that are known, NaN or None where one is not. By default none is.

        Returns
        -------
        self
            This object, which was changed.
        """
        check_is_fitted(self)
        return self._add(self.known_.evidence, X, y)

    def _add(self, before: Evidence | None, X: Any, y: Any) -> Self:
        model = self.fitted_.model
        frame = self._checked(X)
        label = site_label(model, y, len(frame))
        chunks = Chunks(model.table, frame)
        with compilation_cache():
            own = chunks, label
            found = gather(model, *own) if before is None else add_rows(model, before, *own)
            self.know(KnownSite(model, found))
        self._tell(frame)
        return self

    def mean_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Interval of the mean label that these rows of the site will show.

        It counts that sites differ, as left-out sources did, and the sampling of the rows' labels.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of the site.
        coverage : float, default=0.9
            Share of the labels that the interval is to hold, between 0 and 1.

        Returns
        -------
        array of shape (2,) or (classes, 2)
            Lower and upper end for a number, or for the share of each of `classes_`.
        """
        model, site, label = self.known_.model, self.known_.estimate, self._label(X)
        spread = Spread.at(site, model.site_variation(label.mean), coverage)
        return self._in_units(uncertainty.mean_interval(model, site, label, spread))

    def expected_score(self, coverage: float = 0.9) -> pd.DataFrame:
        """How well the labels of this site's rows will be predicted, though none is known.

        The intervals count how far such expectations were off at left-out sources, and the
        sampling of labels.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability with which an interval is to hold its score, between 0 and 1.

        Returns
        -------
        DataFrame
            `expected`, `low` and `high` of every score: AUC, log-loss and Brier score of classes,
            R² and RMSE of a number, and calibration in the large (log odds ratio of two classes,
            mean error of a number).
        """
        known = self.known_
        label = known.label_of_some(fewest=2)
        about = known.model, known.estimate, label, known.evidence.n_rows, coverage
        return uncertainty.expected_performance(*about)

    def expected_gain(self, n_labels: int) -> float:
        """What that many labels of this site are expected to gain, given how sites differ.

        R² of a number, nats of log-loss per row of classes, over no labels: by recalibration
        alone, so that more may be gained by many labels.

        Parameters
        ----------
        n_labels : int
            Number of labels, at least 0.

        Returns
        -------
        float
            R² of a number, nats of log-loss per row of classes.
        """
        known = self.known_
        label = known.label_of_some(most=EFFECT_ROWS)
        return uncertainty.expected_gain(known.model, known.estimate, label, n_labels)

    def _in_units(self, standardised: NDArray[np.float64]) -> NDArray[np.float64]:
        return standardised

    def save(self, path: Any) -> None:
        """Write the model and the site to one file; `dapdag.load` reads it.

        Parameters
        ----------
        path : path-like
            File to write.
        """
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
