"""Environments and a graph, for the estimators that have them."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from ..data.layout import Encoded, encode
from ..graph import to_networkx
from ..inference.fitted import Fit
from ..inference.reconstruction import decoded, encoded_label, reconstruct
from ..inference.site import KnownSite
from .network import NetworkEstimator
from .site_model import SiteClassifier, SiteModel, SiteRegressor
from .sites import adapt


class WithEnvironments(NetworkEstimator):
    """Every domain has an environment E, inferred from its features."""

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        super()._adopt(fit, sources)
        self.source_environments_ = self.coordinates_.describe_sources(list(sources))

    def at(self, X: Any, y: Any = None) -> SiteModel:
        """The site whose rows `X` are: its E, mechanisms and weights, inferred once and kept.

        The `SiteModel` then predicts any rows of the site, one at a time if need be. `y` holds the
        labels that are known there, NaN or None where one is not: they move the predictions as far
        as sites were found to differ, and with many labels towards a fit of the site's own.
        """
        return self._site_model().fit(X, y)

    def _site_model(self, known: KnownSite | None = None) -> SiteModel:
        """A site of this model: one that is known, or one to be fitted to its rows."""
        site = SiteRegressor(self) if self._regression else SiteClassifier(self)
        return site if known is None else site.know(known)

    def environment(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """Posterior of E of each domain in `X`, and whether it lies outside the sources' range.

        Returns a DataFrame with one row per domain and the columns `E1_mean`, `E1_sd`, …, and
        `outside`: E lies outside the range of the sources with a probability of 95 % or more, or
        some feature is out of distribution whatever E (see `unexplained`). Few rows leave that
        open. Of sites that are like k sources a share of 2 / (k + 1) lies outside them.
        """
        return adapt(self, X, sample_domain).environments

    def unexplained(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """How much less likely each feature is than in the source that it fits worst, given E.

        A posterior predictive check: mean negative log-density per cell, less that in the source,
        one row per domain. Above 1 the feature is out of distribution, and the domain counts as
        `outside`. NaN for features that are missing in the domain, and for those with the label as
        a parent in the graph, because it is not known there.
        """
        return adapt(self, X, sample_domain).unexplained()

    def sample_environment(self, X: Any, n: int, random_state: Any = 0) -> NDArray[np.float64]:
        """`n` draws from the posterior of E of the domain `X`: array of shape (n, env_dim)."""
        (q,) = adapt(self, X).env
        return self.coordinates_.draw(q, n, np.random.default_rng(random_state))


class WithGraph(NetworkEstimator):
    """Every variable is reconstructed from its parents in a graph."""

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        super()._adopt(fit, sources)
        table = fit.model.table
        names = table.names
        self.adjacency_ = pd.DataFrame(fit.adjacency, index=names, columns=names)
        self.graph_ = to_networkx(
            fit.dag.mask,
            fit.adjacency,
            names,
            effects=fit.strength,
            label=table.label.name,
        )
        self.graph_.graph["removed"] = [(names[i], names[j]) for i, j in fit.dag.removed]
        self.graph_.graph["threshold"] = fit.dag.threshold

    def impute(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """The table with its missing cells filled from the graph, each domain under its own E.

        A cell is estimated from its parents and children in `graph_`; what was observed stays.
        """
        return adapt(self, X, sample_domain).complete()

    def _reconstruct(
        self, X: Any, y: Any, sample_domain: Any = None, env: Any = None
    ) -> pd.DataFrame:
        """Expected value of every variable from its parents, and from E where there is one."""
        sites = adapt(self, X, sample_domain)
        table = sites.model.table
        label = encoded_label(table, y, len(sites.frame))
        data = encode(table, *table.encode(sites.frame), label)
        out = np.empty(data.values.shape)
        with compilation_cache():
            for rows, q in zip(sites.rows, sites.env, strict=True):
                members = q.mean if env is None else self._members_env(env)
                part = Encoded(data.values[rows], data.observed[rows])
                out[rows] = reconstruct(sites.model, part, members)
        return decoded(table, out, sites.frame.index)

    def _members_env(self, env: Any) -> NDArray[np.float64]:
        """A point of E in common coordinates in those of every member: [members, dim]."""
        dim = self.fitted_.model.sizes.env_dim
        point = np.atleast_1d(np.asarray(env, dtype=float))
        if point.shape != (dim,):
            raise ValueError(f"env must hold {dim} number(s), not shape {point.shape}")
        return self.coordinates_.to_members(point)
