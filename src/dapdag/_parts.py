"""What some estimators have beside their prediction: environments, a graph."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from . import inference
from ._cache import compilation_cache
from ._estimator import NetworkEstimator
from .environments import EnvironmentMap
from .fitting import Fit
from .graph import to_networkx
from .validation import new_domains


class WithEnvironments(NetworkEstimator):
    """Every domain has an environment E, read off its features."""

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        super()._adopt(fit, sources)
        self._map_ = EnvironmentMap.align(fit.model)
        self.source_environments_ = self._map_.describe_sources(list(sources))

    def environment(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """Posterior of E of each domain in `X`, and whether it lies beyond the sources' span.

        Returns a DataFrame with one row per domain and the columns `E1_mean`, `E1_sd`, …, and
        `outside`.
        """
        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            found = [
                inference.infer_environment(model, frame.iloc[np.flatnonzero(codes == d)])
                for d in range(len(labels))
            ]
        return self._map_.describe(labels, found)

    def sample_environment(self, X: Any, n: int, random_state: Any = 0) -> NDArray[np.float64]:
        """`n` draws from the posterior of E of the domain `X`: array of shape (n, env_dim)."""
        model, frame = self._ready(X)
        with compilation_cache():
            q = inference.infer_environment(model, frame)
        return self._map_.draw(q, n, np.random.default_rng(random_state))


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
        from .imputation import impute_frame

        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            return impute_frame(model, frame, codes, len(labels))

    def _reconstruct(
        self, X: Any, y: Any, sample_domain: Any = None, env: Any = None
    ) -> pd.DataFrame:
        """Expected value of every variable from its parents, and from E where there is one."""
        from .reconstruction import reconstruct_frame

        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            env_map = EnvironmentMap.align(model)
            return reconstruct_frame(model, env_map, frame, y, codes, len(labels), env)
