"""Sites whose rows come in parts: from a file in batches, or from partitions on other machines.

Every part is turned into evidence, evidence adds up, and then any rows are predicted, part by part.
No site needs to be in memory as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from ..data.chunks import Chunks
from ..inference.coordinates import EnvironmentMap
from ..inference.evidence import Evidence, gather
from ..inference.fitted import EnvPosterior, FittedModel
from ..inference.imputation import completed, impute_rows
from ..inference.labels import SiteVariation
from ..inference.novelty import is_novel
from ..inference.prediction import LabelDistribution, SiteEstimate, score_table
from ..inference.site import KnownSite
from .checks import as_frame, new_domains
from .notices import (
    warn_of_contradiction,
    warn_of_few_values,
    warn_of_novel_features,
    warn_of_outsiders,
    warn_of_unmeasured,
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


@dataclass(frozen=True, eq=False)
class Described:
    """How a site differs from the sources, with none of its rows in it.

    Attributes
    ----------
    n_rows, present : rows, and how many values each feature has: [features].
    env : posterior of E.
    unexplained : [features], see `KnownSite.unexplained`.
    """

    n_rows: int
    present: NDArray[np.int64]
    env: EnvPosterior
    unexplained: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inferred(Described):
    """All that follows from the rows of a site.

    Attributes
    ----------
    estimate : E, effects on mechanisms, and weights: what scores rows.
    variation : how far predictions there may be off.
    """

    estimate: SiteEstimate
    variation: SiteVariation


S = TypeVar("S", bound=Described)


def describe(estimator: Any, found: PartialSites) -> dict[Hashable, Described]:
    """E of each site, from the evidence of all its rows."""
    return {
        label: Described(site.evidence.n_rows, found.present[label], site.env, site.unexplained)
        for label, site in _known(estimator, found)
    }


def infer(estimator: Any, found: PartialSites) -> dict[Hashable, Inferred]:
    """The same with what scores rows of the site, which takes longer."""
    sites = {}
    for label, site in _known(estimator, found):
        about = site.evidence.n_rows, found.present[label], site.env, site.unexplained
        variation = site.variation
        assert variation is not None  # its rows are here
        sites[label] = Inferred(*about, site.estimate, variation)
    return sites


def _known(estimator: Any, found: PartialSites) -> Iterator[tuple[Hashable, KnownSite]]:
    with compilation_cache():
        for label, evidence in found.evidence.items():
            yield label, KnownSite(estimator.fitted_.model, evidence)


class DescribedSites(Generic[S]):
    """Sites of which all rows have been seen: their E, and novelty."""

    def __init__(
        self,
        estimator: Any,
        sites: Mapping[Hashable, S],
        unseen: Mapping[Hashable, pd.Series],
    ) -> None:
        self.model: FittedModel = estimator.fitted_.model
        self._coordinates: EnvironmentMap = estimator.coordinates_
        self.sites, self._unseen = sites, unseen

    @functools.cached_property
    def _unexplained(self) -> NDArray[np.float64]:
        return np.stack([site.unexplained for site in self.sites.values()])

    @functools.cached_property
    def environments(self) -> pd.DataFrame:
        """E of each site and `outside`, as `estimator.environment` gives them."""
        posteriors = [site.env for site in self.sites.values()]
        with compilation_cache():
            novel = is_novel(self._unexplained)
            return self._coordinates.describe(list(self.sites), posteriors, novel)

    def tell_environments(self) -> None:
        """Warn of unknown values, and of sites beyond the sources."""
        model = self.model
        warn_of_unseen(model.table, self._unseen)
        warn_of_novel_features(model, list(self.sites), self._unexplained)
        if model.formulation.uses_environment:
            sources = self._coordinates.describe_sources(range(model.source_mean.shape[1]))
            warn_of_outsiders(model, sources, self.environments, is_novel(self._unexplained))


class KnownSites(DescribedSites[Inferred]):
    """Sites of which all rows have been seen, with answers about any of their rows."""

    def tell(self) -> None:
        """Warn of what a reader of predictions at these sites should know."""
        self.tell_environments()
        for label, site in self.sites.items():
            warn_of_few_values(self.model, site.present, site.n_rows, label)
            warn_of_contradiction(self.model, label, site.estimate)

    def tell_unmeasured(self) -> None:
        """Warn of columns that nobody measured at a site, and that are filled in there."""
        names = [variable.name for variable in self.model.table.features]
        for label, site in self.sites.items():
            warn_of_unmeasured(names, site.present, label)

    def score(self, estimator: Any, X: Any, sample_domain: Any = None) -> LabelDistribution:
        """The label's distribution of some rows, each site under its own E."""
        frame = as_frame(estimator, X, reset=False)
        n, width = len(frame), self.model.table.label.width
        mean, variance = np.empty((n, width)), None
        with compilation_cache():
            for label, rows in _by_site(frame, sample_domain):
                found = self._score(label, rows)
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
                site = self._site(label)
                about = self.model, site.estimate, site.variation
                out[at] = class_intervals(*about, rows, found.take(at), coverage)
        return out

    def complete(self, estimator: Any, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """Some rows with every missing cell filled; what was observed stays as it is."""
        frame = as_frame(estimator, X, reset=False)
        if not frame.isna().to_numpy().any():
            return frame.copy()
        filled = np.empty((len(frame), self.model.table.feature_width))
        with compilation_cache():
            for label, rows in _by_site(frame, sample_domain):
                env, mean = self._site(label).estimate.env, self._score(label, rows).mean
                filled[rows.index.to_numpy()] = impute_rows(self.model, rows, mean, env)
        return completed(self.model.table, frame, filled)

    def _score(self, label: Hashable, rows: pd.DataFrame) -> LabelDistribution:
        estimate = self._site(label).estimate
        return score_table(self.model, estimate, Chunks(self.model.table, rows))

    def _site(self, label: Hashable) -> Inferred:
        if label not in self.sites:
            raise ValueError(
                f"the domain {label!r} was not there when the rows were read for the first time: "
                "the table was changed meanwhile, run it again"
            )
        return self.sites[label]


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
