"""What some estimators have beside their prediction: environments, a graph."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from ..graph import to_networkx
from ..inference.coordinates import EnvironmentMap
from ..inference.environment import infer_environment
from ..inference.fitted import EnvPosterior, Fit, Model
from ..inference.novelty import unexplained, unlike_features, unlike_sources
from .checks import new_domains
from .network import NetworkEstimator

# Domains, and features of one, that a warning names.
MOST_REPORTED = 5


class WithEnvironments(NetworkEstimator):
    """Every domain has an environment E, read off its features."""

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        super()._adopt(fit, sources)
        self._map_ = EnvironmentMap.align(fit.model)
        self.source_environments_ = self._map_.describe_sources(list(sources))

    def environment(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """Posterior of E of each domain in `X`, and whether it lies beyond what the sources span.

        Returns a DataFrame with one row per domain and the columns `E1_mean`, `E1_sd`, …, and
        `outside`: E lies beyond that of the sources, or some feature is unlike theirs whatever E
        (see `unexplained`).
        """
        model, frame = self._ready(X)
        labels, found, excess = self._sites(model, frame, sample_domain)
        _report_unlike(model, labels, excess)
        return self._map_.describe(labels, found, unlike_sources(excess))

    def unexplained(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """How much less likely each feature is than in the source that it fits worst, given E.

        In logarithms per cell, one row per domain: above 1 the feature is unlike the sources, and
        the domain counts as `outside`. NaN for features that the domain lacks, and for those whose
        parent in the graph is the label, which is not known there.
        """
        model, frame = self._ready(X)
        labels, _, excess = self._sites(model, frame, sample_domain)
        names = [variable.name for variable in model.table.features]
        return pd.DataFrame(excess, index=pd.Index(list(labels), name="domain"), columns=names)

    def _sites(
        self, model: Model, frame: pd.DataFrame, sample_domain: Any
    ) -> tuple[Sequence[Hashable], list[EnvPosterior], NDArray[np.float64]]:
        """Label, posterior of E and unexplained features of each domain."""
        labels, codes = new_domains(sample_domain, len(frame))
        parts = [frame.iloc[np.flatnonzero(codes == d)] for d in range(len(labels))]
        with compilation_cache():
            found = [infer_environment(model, part) for part in parts]
            excess = [unexplained(model, *site) for site in zip(parts, found, strict=True)]
        return labels, found, np.stack(excess)

    def sample_environment(self, X: Any, n: int, random_state: Any = 0) -> NDArray[np.float64]:
        """`n` draws from the posterior of E of the domain `X`: array of shape (n, env_dim)."""
        model, frame = self._ready(X)
        with compilation_cache():
            q = infer_environment(model, frame)
        return self._map_.draw(q, n, np.random.default_rng(random_state))


def _report_unlike(model: Model, labels: Sequence[Hashable], excess: NDArray[np.float64]) -> None:
    """Say which features of which domains no E explains; of many domains, how many more."""
    unlike = np.flatnonzero(unlike_sources(excess))
    for d in unlike[:MOST_REPORTED]:
        features = unlike_features(model, excess[d])
        which = ", ".join(map(repr, features[:MOST_REPORTED]))
        warnings.warn(
            f"the domain {labels[d]!r} is unlike the sources in {which}"
            f"{' and more' if len(features) > MOST_REPORTED else ''}, whatever its E: it counts as "
            "outside, and its predictions are extrapolated",
            stacklevel=3,
        )
    if len(unlike) > MOST_REPORTED:
        warnings.warn(
            f"{len(unlike) - MOST_REPORTED} more domains are unlike the sources", stacklevel=3
        )


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

        A cell is judged by its parents and children in `graph_`; what was observed stays.
        """
        from ..inference.imputation import impute_frame

        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            return impute_frame(model, frame, codes, len(labels))

    def _reconstruct(
        self, X: Any, y: Any, sample_domain: Any = None, env: Any = None
    ) -> pd.DataFrame:
        """Expected value of every variable from its parents, and from E where there is one."""
        from ..inference.reconstruction import reconstruct_frame

        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            env_map = EnvironmentMap.align(model)
            return reconstruct_frame(model, env_map, frame, y, codes, len(labels), env)
