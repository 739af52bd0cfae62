"""The sites of a new table under a fitted estimator: E, novelty and predictions, inferred once.

Every method of an estimator that takes new rows goes through `adapt`. Who wants several answers
about the same rows, as the report does, keeps the `Sites`.
"""

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._runtime.cache import compilation_cache
from ..data.chunks import CHUNK_ROWS
from ..data.layout import encode
from ..inference.coordinates import EnvironmentMap
from ..inference.fitted import EnvPosterior, FittedModel
from ..inference.imputation import completed, impute
from ..inference.labels import SiteVariation
from ..inference.novelty import is_novel, novel_features
from ..inference.prediction import LabelDistribution, SiteEstimate
from ..inference.site import Site
from ..inference.uncertainty import Spread, probability_interval
from .checks import as_frame, new_domains
from .notices import (
    warn_of_absent_features,
    warn_of_contradiction,
    warn_of_novel_features,
    warn_of_outsiders,
    warn_of_unknown_values,
    warn_of_unmeasured,
)


def adapt(estimator: Any, X: Any, sample_domain: Any = None) -> "Sites":
    """The sites of `X`: all rows are one, or as many as `sample_domain` has labels."""
    check_is_fitted(estimator)
    model = estimator.fitted_.model
    frame = as_frame(estimator, X, reset=False)
    warn_of_unknown_values(model.table, frame)
    return Sites(model, frame, sample_domain, estimator.coordinates_)


class Sites:
    """Several sites of one table; answers come row by row, in its order, or one per site."""

    def __init__(
        self,
        model: FittedModel,
        frame: pd.DataFrame,
        sample_domain: Any = None,
        coordinates: EnvironmentMap | None = None,
    ) -> None:
        self.model, self.frame = model, frame
        self.coordinates = coordinates or EnvironmentMap.align(model)
        self.labels, self.codes = new_domains(sample_domain, len(frame))
        alone = len(self.labels) == 1
        self.rows = [np.flatnonzero(self.codes == d) for d in range(len(self.labels))]
        self.sites = [Site(model, frame if alone else frame.iloc[rows]) for rows in self.rows]

    @functools.cached_property
    def env(self) -> list[EnvPosterior]:
        """Posterior of E of each site."""
        with compilation_cache():
            return [site.env for site in self.sites]

    @functools.cached_property
    def excess(self) -> NDArray[np.float64]:
        """`Site.unexplained` of each site: [sites, features]."""
        with compilation_cache():
            return np.stack([site.unexplained for site in self.sites])

    @functools.cached_property
    def environments(self) -> pd.DataFrame:
        """E of each site in common coordinates, and `outside`; warns of those that are."""
        novel = is_novel(self.excess)
        found = self.coordinates.describe(self.labels, self.env, novel)
        warn_of_novel_features(self.model, self.labels, self.excess)
        known = self.coordinates.describe_sources(range(self.model.source_mean.shape[1]))
        warn_of_outsiders(self.model, known, found, novel)
        return found

    def unexplained(self) -> pd.DataFrame:
        names = [variable.name for variable in self.model.table.features]
        index = pd.Index(list(self.labels), name="domain")
        return pd.DataFrame(self.excess, index=index, columns=names)

    def novel_features(self) -> dict[Hashable, list[Hashable]]:
        """The features that are out of distribution, for the sites that have any."""
        found = {
            label: novel_features(self.model, row)
            for label, row in zip(self.labels, self.excess, strict=True)
        }
        return {label: features for label, features in found.items() if features}

    @functools.cached_property
    def label(self) -> LabelDistribution:
        """The label's distribution of every row, each site under its own E."""
        if self.model.formulation.uses_environment:
            _ = self.environments  # for its warnings
        parts = []
        for name, site in zip(self.labels, self.sites, strict=True):
            warn_of_absent_features(self.model, site.X, name)
            with compilation_cache():
                parts.append(site.label)
            warn_of_contradiction(self.model, name, site.known.estimate)
        if len(parts) == 1:
            return parts[0]
        mean = self._in_order([p.mean for p in parts])
        if any(p.variance is None for p in parts):
            return LabelDistribution(mean, None)
        return LabelDistribution(mean, self._in_order([p.variance for p in parts]))

    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of a number, in its units."""
        return numbers_of(self.model, self.label)

    def interval(self, coverage: float) -> NDArray[np.float64]:
        """Lower and upper end of the central predictive interval of a number: [rows, 2]."""
        return interval_of(self.model, self.label, coverage)

    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each class: [rows, classes]."""
        return probabilities_of(self.label)

    def class_intervals(self, coverage: float) -> NDArray[np.float64]:
        """Lower and upper end of the probability of each class: [rows, classes, 2]."""
        with compilation_cache():
            parts = [
                class_intervals(
                    *(self.model, site.known.estimate, site.known.variation),
                    *(site.X, site.label, coverage),
                )
                for site in self.sites
            ]
        return self._in_order(parts)

    def complete(self) -> pd.DataFrame:
        """The table with every missing cell filled; what was observed stays as it is."""
        if not self.frame.isna().to_numpy().any():
            return self.frame.copy()
        for name, site in zip(self.labels, self.sites, strict=True):
            warn_of_unmeasured(list(site.X), site.X.notna().to_numpy().sum(0), name)
        with compilation_cache():
            filled = self._in_order([impute(site) for site in self.sites])
        return completed(self.model.table, self.frame, filled)

    def _in_order(self, parts: list[Any]) -> NDArray[Any]:
        """Rows of the sites, one after the other, in the order of the table."""
        back = np.argsort(np.concatenate(self.rows), kind="stable")
        return np.concatenate(parts)[back]


def numbers_of(
    model: FittedModel, found: LabelDistribution
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of a number, in its units."""
    assert found.variance is not None
    label: Any = model.table.label
    # decoding may round to beyond the bounds
    mean = np.clip(label.decode(found.mean), *model.label_bounds)
    return mean, np.sqrt(found.variance[:, 0]) * label.deviation


def probabilities_of(found: LabelDistribution) -> NDArray[np.float64]:
    """Probability of each class: [rows, classes]."""
    if found.mean.shape[1] == 1:
        return np.column_stack([1 - found.mean[:, 0], found.mean[:, 0]])
    return found.mean / found.mean.sum(1, keepdims=True)


def interval_of(
    model: FittedModel, found: LabelDistribution, coverage: float
) -> NDArray[np.float64]:
    """Lower and upper end of the central predictive interval of a number: [rows, 2]."""
    assert found.variance is not None
    label: Any = model.table.label
    mean = label.decode(found.mean)
    about = found.mean[:, 0], found.variance[:, 0]
    half = model.calibration.half_width(coverage, *about) * label.deviation
    return np.clip(np.column_stack([mean - half, mean + half]), *model.label_bounds)


def class_intervals(
    model: FittedModel,
    site: SiteEstimate,
    variation: SiteVariation | None,
    rows: pd.DataFrame,
    found: LabelDistribution,
    coverage: float,
) -> NDArray[np.float64]:
    """Lower and upper end of the probability of each class at rows of a site: [rows, classes, 2].

    `variation` is the site's, so that an interval does not depend on which rows are asked about;
    without it that of these rows is taken. `found` is the label's distribution there.
    """
    spread = Spread.at(site, variation or model.site_variation(found.mean), coverage)
    parts = []
    for start in range(0, len(rows), CHUNK_ROWS):
        some = np.arange(start, min(start + CHUNK_ROWS, len(rows)))
        data = encode(model.table, *model.table.encode(rows.iloc[some]), None)
        parts.append(probability_interval(model, site, data, found.take(some), spread))
    return np.concatenate(parts)
