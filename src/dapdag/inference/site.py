"""A site that has been adapted to: its rows, its E, and what follows from both, computed once."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from ..data.chunks import Chunks
from ..model.constants import EFFECT_ROWS, NOVELTY_ROWS, REFINE_ROWS, SITE_ROWS
from . import novelty
from .environment import environment_at
from .evidence import Evidence, gather, sampling_keys
from .fitted import EnvPosterior, FittedModel
from .label_learning import add_labels
from .labels import SiteVariation
from .prediction import LabelDistribution, SiteEstimate, infer_site, score_rows, score_table
from .unknown_levels import with_unknown_levels


@dataclass(frozen=True)
class Told:
    """What was said about a site whose rows stayed elsewhere.

    Attributes
    ----------
    unexplained : [features], see `KnownSite.unexplained`; NaN where it was not said.
    mechanisms : [slots, 4], effect of the label, its standard deviation, shift and that of it, as
        `mechanisms_at` gives them; no slots where it was not said.
    """

    unexplained: NDArray[np.float64]
    mechanisms: NDArray[np.float64]


class KnownSite:
    """What the rows of a site say about it under a fitted model, inferred when first asked for.

    `given` is the estimate, where it was saved with the rows. `told` goes with it where the site's
    rows are elsewhere and `evidence` keeps none.
    """

    def __init__(
        self,
        model: FittedModel,
        evidence: Evidence,
        given: SiteEstimate | None = None,
        told: Told | None = None,
    ) -> None:
        self.model, self.evidence, self._given, self.told = model, evidence, given, told

    @functools.cached_property
    def env(self) -> EnvPosterior:
        """Posterior of E under each member."""
        if self._given is not None:
            return self._given.env
        evidence = self.evidence
        some = evidence.kept.head(REFINE_ROWS)
        return environment_at(self.model, evidence.summary, some, evidence.n_rows)

    @functools.cached_property
    def _inferred(self) -> tuple[SiteEstimate, LabelDistribution]:
        evidence = self.evidence
        kept, labelled = evidence.kept.data, evidence.labelled.data
        found, label = infer_site(self.model, kept, self.env)
        if not len(labelled.values):
            return found, label
        return add_labels(self.model, found, kept, labelled)

    @property
    def estimate(self) -> SiteEstimate:
        """E, the site's effects on mechanisms, and the experts' weights: what scores rows."""
        return self._inferred[0] if self._given is None else self._given

    @property
    def label_of_kept(self) -> LabelDistribution:
        """The label's distribution at the rows that are kept of the site."""
        return self._inferred[1]

    @functools.cached_property
    def variation(self) -> SiteVariation | None:
        """How far predictions may be off here, whichever rows are asked about; None where no row
        of the site is here."""
        if not len(self.evidence.kept.key):
            return None
        return self.model.site_variation(self.label_of_some(EFFECT_ROWS).mean)

    @functools.cached_property
    def unexplained(self) -> NDArray[np.float64]:
        """How much less likely each feature is than in its worst source, unknown levels included:
        [features]."""
        if self.told is not None:
            return self.told.unexplained
        model, evidence = self.model, self.evidence
        excess = novelty.unexplained(model, evidence.kept.head(NOVELTY_ROWS), self.env)
        return with_unknown_levels(model.table, evidence.levels, excess)

    def label_of_some(self, most: int | None = None, fewest: int = 1) -> LabelDistribution:
        """The label's distribution at rows that are kept of the site, which stand for all."""
        kept = self.evidence.kept
        if not len(kept.key):
            raise ValueError("no row of this site is here: ask where its rows are")
        if len(kept.key) < fewest:
            raise ValueError(f"this takes {fewest} rows of the site, and {len(kept.key)} is known")
        rows = kept.data if most is None else kept.head(most)
        with compilation_cache():
            return score_rows(self.model, self.estimate, rows)

    def score(self, X: pd.DataFrame) -> LabelDistribution:
        """The label's distribution for rows of this site, row by row."""
        return score_table(self.model, self.estimate, Chunks(self.model.table, X))


class Site:
    """A site and all of its rows. Everything is inferred when first asked for."""

    def __init__(self, model: FittedModel, X: pd.DataFrame) -> None:
        self.model, self.X = model, X
        self._chunks = Chunks(model.table, X)

    @functools.cached_property
    def known(self) -> KnownSite:
        """What the rows say about the site."""
        return KnownSite(self.model, gather(self.model, self._chunks))

    @property
    def _place(self) -> NDArray[np.intp]:
        """Where each row of a small site stands among those that are kept, all of them."""
        every = self._chunks.encoded(np.arange(len(self.X)))
        return np.argsort(np.argsort(sampling_keys(every), kind="stable"), kind="stable")

    @property
    def env(self) -> EnvPosterior:
        return self.known.env

    @property
    def unexplained(self) -> NDArray[np.float64]:
        return self.known.unexplained

    @functools.cached_property
    def label(self) -> LabelDistribution:
        """The label's distribution, row by row."""
        if len(self.X) <= SITE_ROWS:
            return self.known.label_of_kept.take(self._place)
        return score_table(self.model, self.known.estimate, self._chunks)
