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
from .site_estimators import SiteClassifier, SiteRegressor
from .site_model import SiteModel
from .sites import adapt


class WithEnvironments(NetworkEstimator):
    """Every domain has an environment E, inferred from its features."""

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        super()._adopt(fit, sources)
        self.source_environments_ = self.coordinates_.describe_sources(list(sources))

    def at(self, X: Any, y: Any = None) -> SiteModel:
        """The site whose rows `X` are: its E, mechanisms and weights, inferred once and kept.

        The `SiteModel` then predicts any rows of the site, one at a time if need be.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of one site.
        y : sequence, one per row, optional
            Labels that are known at the site, NaN or None where one is not: they move the
            predictions as far as sites were found to differ, and with many labels towards a fit of
            the site's own. By default none is known.

        Returns
        -------
        SiteModel
            The fitted site.

        Examples
        --------
        >>> from dapdag import DAPDAGRegressor
        >>> from dapdag.datasets import make_regression_domains
        >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
        >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
        >>> site = model.at(split.X_target)
        >>> site.predict_interval(split.X_target[:1]).shape
        (1, 2)
        """
        return self._site_model().fit(X, y)

    def _site_model(self, known: KnownSite | None = None) -> SiteModel:
        """A site of this model: one that is known, or one to be fitted to its rows."""
        site = SiteRegressor(self) if self._regression else SiteClassifier(self)
        return site if known is None else site.know(known)

    def environment(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """Posterior of E of each site in `X`, and whether it lies outside the sources' range.

        A site counts as outside if E lies outside the range of the sources with a probability of
        95 % or more, or some feature is out of distribution whatever E (see `unexplained`). Few
        rows leave that open. Of sites that are like k sources a share of 2 / (k + 1) lies outside
        them.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        DataFrame
            One row per site: `E1_mean`, `E1_sd`, …, and `outside`.
        """
        return adapt(self, X, sample_domain).environments

    def unexplained(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """How much less likely each feature is than in the source that it fits worst, given E.

        A posterior predictive check: mean negative log-density per cell, less that in the source,
        one row per domain. Above 1 the feature is out of distribution, and the domain counts as
        `outside`. NaN for features that are missing in the domain, and for those with the label as
        a parent in the graph, because it is not known there.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        DataFrame
            One row per site, one column per feature.
        """
        return adapt(self, X, sample_domain).unexplained()

    def sample_environment(self, X: Any, n: int, random_state: Any = 0) -> NDArray[np.float64]:
        """Draws from the posterior of E of one site.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of one site.
        n : int
            Number of draws, at least 1.
        random_state : int or numpy Generator, default=0
            Seed of the draws.

        Returns
        -------
        array of shape (n, env_dim)
            The draws.
        """
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

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        DataFrame
            The table; what was observed stays as it is.
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
