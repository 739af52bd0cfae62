"""Sites whose rows come in parts: from a file in batches, or from partitions on other machines.

Every part is turned into evidence, evidence adds up, and then any rows are predicted, part by part.
No site needs to be in memory as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from ..data.chunks import Chunks
from ..inference.coordinates import EnvironmentMap
from ..inference.evidence import Evidence, gather
from ..inference.fitted import FittedModel
from ..inference.novelty import is_novel
from ..inference.prediction import LabelDistribution
from ..inference.site import KnownSite
from .checks import as_frame, new_domains
from .notices import (
    warn_of_contradiction,
    warn_of_few_values,
    warn_of_novel_features,
    warn_of_outsiders,
    warn_of_unseen,
)
from .sites import class_intervals


@dataclass(frozen=True, eq=False)
class PartialSites:
    """What is known so far about the sites of a table, in the order in which they appeared.

    Attributes
    ----------
    evidence : of the rows so far, by site.
    present : how many values each feature has, by site: [features].
    unseen : values of discrete columns that no source has, and how often they are there.
    """

    evidence: Mapping[Hashable, Evidence]
    present: Mapping[Hashable, NDArray[np.int64]]
    unseen: Mapping[Hashable, pd.Series]

    def __add__(self, other: PartialSites) -> PartialSites:
        return PartialSites(
            _added(self.evidence, other.evidence),
            _added(self.present, other.present),
            _added(self.unseen, other.unseen, _counts),
        )


def no_sites() -> PartialSites:
    return PartialSites({}, {}, {})


def gather_sites(estimator: Any, X: Any, sample_domain: Any = None) -> PartialSites:
    """The evidence of some rows, by site; all rows are one site without `sample_domain`."""
    model = estimator.fitted_.model
    frame = as_frame(estimator, X, reset=False)
    evidence, present = {}, {}
    with compilation_cache():
        for label, rows in _by_site(frame, sample_domain):
            evidence[label] = gather(model, Chunks(model.table, rows))
            present[label] = rows.notna().to_numpy().sum(0)
    return PartialSites(evidence, present, model.table.unseen(frame))


class KnownSites:
    """Sites of which all rows have been seen: E, novelty, and predictions of any of their rows."""

    def __init__(self, estimator: Any, found: PartialSites) -> None:
        self.model: FittedModel = estimator.fitted_.model
        self._coordinates: EnvironmentMap = estimator.coordinates_
        self._found = found
        self.sites = {label: KnownSite(self.model, e) for label, e in found.evidence.items()}

    @functools.cached_property
    def environments(self) -> pd.DataFrame:
        """E of each site and `outside`, as `estimator.environment` gives them."""
        sites = self.sites.values()
        with compilation_cache():
            novel = is_novel(np.stack([site.unexplained for site in sites]))
            return self._coordinates.describe(list(self.sites), [s.env for s in sites], novel)

    def tell(self) -> None:
        """Warn of what a reader of predictions at these sites should know."""
        model, labels = self.model, list(self.sites)
        warn_of_unseen(model.table, self._found.unseen)
        with compilation_cache():
            excess = np.stack([site.unexplained for site in self.sites.values()])
        warn_of_novel_features(model, labels, excess)
        if model.formulation.uses_environment:
            sources = self._coordinates.describe_sources(range(model.source_mean.shape[1]))
            warn_of_outsiders(model, sources, self.environments, is_novel(excess))
        for label, site in self.sites.items():
            present = self._found.present[label]
            warn_of_few_values(model, present, site.evidence.n_rows, label)
            with compilation_cache():
                warn_of_contradiction(model, label, site.estimate)

    def score(self, estimator: Any, X: Any, sample_domain: Any = None) -> LabelDistribution:
        """The label's distribution of some rows, each site under its own E."""
        frame = as_frame(estimator, X, reset=False)
        n, width = len(frame), self.model.table.label.width
        mean, variance = np.empty((n, width)), None
        with compilation_cache():
            for label, rows in _by_site(frame, sample_domain):
                found = self.sites[label].score(rows)
                at = rows.index.to_numpy()
                mean[at] = found.mean
                if found.variance is not None:
                    variance = np.empty((n, 1)) if variance is None else variance
                    variance[at] = found.variance
        return LabelDistribution(mean, variance)

    def class_intervals(
        self, estimator: Any, X: Any, sample_domain: Any, found: LabelDistribution, coverage: float
    ) -> NDArray[np.float64]:
        """Lower and upper end of the probability of each class of some rows, whose label is
        `found`."""
        frame = as_frame(estimator, X, reset=False)
        out = np.empty((len(frame), len(estimator.classes_), 2))
        with compilation_cache():
            for label, rows in _by_site(frame, sample_domain):
                at = rows.index.to_numpy()
                out[at] = class_intervals(self.sites[label], rows, found.take(at), coverage)
        return out


def _by_site(frame: pd.DataFrame, sample_domain: Any) -> list[tuple[Hashable, pd.DataFrame]]:
    """The rows of each site, with their positions as index."""
    frame = frame.reset_index(drop=True)
    labels, codes = new_domains(sample_domain, len(frame))
    if len(labels) == 1:
        return [(labels[0], frame)]
    return [(label, frame.iloc[np.flatnonzero(codes == k)]) for k, label in enumerate(labels)]


def _counts(one: pd.Series, other: pd.Series) -> pd.Series:
    both = one.add(other, fill_value=0).astype(np.int64)
    return both.sort_values(ascending=False, kind="stable")


def _added(one: Mapping, other: Mapping, add: Any = lambda a, b: a + b) -> dict[Hashable, Any]:
    found = dict(one)
    for key, value in other.items():
        found[key] = add(found[key], value) if key in found else value
    return found
