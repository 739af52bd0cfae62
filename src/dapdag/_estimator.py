"""What DAPDAGRegressor and DAPDAGClassifier share: fitting, environments, graph, saving."""

import warnings
from collections.abc import Hashable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import inference
from ._cache import compilation_cache
from .environments import EnvironmentMap
from .fitting import Fit, fit_models
from .graph import to_networkx
from .settings import Settings, check_settings
from .validation import as_frame, new_domains, training_sample


class DAPDAGEstimator(BaseEstimator):
    """The shared face; `_regression` says which of the two a subclass is."""

    # Routed by default inside scikit-learn's meta-estimators once routing is switched on.
    __metadata_request__fit: ClassVar = {"sample_domain": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__score: ClassVar = {"sample_domain": True}

    _regression: bool

    def __init__(
        self,
        *,
        bayesian: bool = True,
        env_dim: int = 1,
        hidden: int = 16,
        n_shared: int = 1,
        n_predictors: int = 4,
        n_members: int = 3,
        exact_graph: bool = True,
        max_epochs: int = 150,
        patience: int = 20,
        learning_rate: float = 5e-3,
        weight_decay: float = 0.0,
        prediction_weight: float = 1.0,
        reconstruction_weight: float = 1.0,
        env_weight: float = 1.0,
        structure_weight: float = 1.0,
        acyclicity_weight: float = 1.0,
        acyclicity_square: float = 1.0,
        sparsity_weight: float = 0.01,
        prior_precision: float = 1.0,
        prior_scale: float = 1.0,
        acyclicity: str | None = None,
        edge_threshold: float = 0.1,
        validation_fraction: float = 0.1,
        steps: str | int = "size",
        alternating: bool = False,
        n_draws: int = 32,
        checkpoint: str | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.bayesian = bayesian
        self.env_dim = env_dim
        self.hidden = hidden
        self.n_shared = n_shared
        self.n_predictors = n_predictors
        self.n_members = n_members
        self.exact_graph = exact_graph
        self.max_epochs = max_epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.prediction_weight = prediction_weight
        self.reconstruction_weight = reconstruction_weight
        self.env_weight = env_weight
        self.structure_weight = structure_weight
        self.acyclicity_weight = acyclicity_weight
        self.acyclicity_square = acyclicity_square
        self.sparsity_weight = sparsity_weight
        self.prior_precision = prior_precision
        self.prior_scale = prior_scale
        self.acyclicity = acyclicity
        self.edge_threshold = edge_threshold
        self.validation_fraction = validation_fraction
        self.steps = steps
        self.alternating = alternating
        self.n_draws = n_draws
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Learn from labelled sources, and from unlabelled targets if there are any.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, features)
        y : one label per row; ignored where `sample_domain` is negative
        sample_domain : one label per row, strings or integers; None means one domain.
            Negative integers are unlabelled targets whose rows help the reconstruction.
        """
        settings = self._settings()
        sample = training_sample(self, X, y, sample_domain, self._regression)
        self._adopt(fit_models([sample], settings)[0], sample.domain_labels[: sample.n_sources])
        return self

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        known = {f.name for f in fields(Settings)}
        return check_settings(Settings(**{k: v for k, v in given.items() if k in known}))

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        """Take over what was learned; also used when a model is loaded."""
        table = fit.model.table
        names = table.names
        self._fit_ = fit
        self._map_ = EnvironmentMap.align(fit.model)
        self.n_epochs_ = fit.n_epochs
        self.n_features_in_ = len(table.features)
        self.history_ = fit.history
        self.adjacency_ = pd.DataFrame(fit.adjacency, index=names, columns=names)
        self.graph_ = to_networkx(
            fit.dag.mask,
            fit.adjacency,
            names,
            effects=fit.strength,
            label=table.label.name,
            perturbed=fit.env_strength,
        )
        self.graph_.graph["removed"] = [(names[i], names[j]) for i, j in fit.dag.removed]
        self.graph_.graph["threshold"] = fit.dag.threshold
        self.source_environments_ = self._map_.describe_sources(list(sources))
        if not self._regression:
            self.classes_ = np.asarray(table.label.levels)  # type: ignore[union-attr]

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

    def reconstruct(
        self, X: Any, y: Any, env: Any = None, sample_domain: Any = None
    ) -> pd.DataFrame:
        """Expected value of every variable given its parents in `graph_` and E.

        Columns are variables in the order of `graph_` (a categorical variable: the probability of
        each level as `name=level`), in the units of the table; the label's column is a probability
        of the second class for two classes. `env`, one value per dimension in the coordinates of
        `environment`, replaces the E inferred from the rows.
        """
        from .reconstruction import reconstruct_frame

        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            return reconstruct_frame(model, self._map_, frame, y, codes, len(labels), env)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file; `dapdag.load` reads it."""
        from .persistence import save

        check_is_fitted(self)
        save(self, path)

    def _ready(self, X: Any) -> tuple[inference.Model, pd.DataFrame]:
        check_is_fitted(self)
        model, frame = self._fit_.model, as_frame(self, X, reset=False)
        for name, count in model.table.unseen(frame).items():
            warnings.warn(
                f"column {name!r}: {count} cell(s) hold a value that no source has; they count as "
                "missing",
                stacklevel=3,
            )
        return model, frame

    def _label_distribution(self, X: Any, sample_domain: Any) -> inference.LabelDistribution:
        """The label's distribution row by row, each domain under its own E."""
        model, frame = self._ready(X)
        labels, codes = new_domains(sample_domain, len(frame))
        with compilation_cache():
            parts = []
            for d in range(len(labels)):
                rows = frame if len(labels) == 1 else frame.iloc[np.flatnonzero(codes == d)]
                q = inference.infer_environment(model, rows)
                parts.append(inference.predict_label(model, rows, q))
        if len(parts) == 1:
            return parts[0]
        back = np.argsort(np.argsort(codes, kind="stable"), kind="stable")
        mean = np.concatenate([p.mean for p in parts])[back]
        if parts[0].variance is None:
            return inference.LabelDistribution(mean, None)
        return inference.LabelDistribution(
            mean,
            np.concatenate([p.variance for p in parts])[back],
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fit_")
