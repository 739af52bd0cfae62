"""The pooled MLP: DAPDAG with one filter, the label's, and neither encoder nor graph."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._estimator import NetworkClassifier, NetworkEstimator, NetworkRegressor
from ..fitting import Sample
from ..settings import Settings

POOL = "pool"


class _PooledMLP(NetworkEstimator):
    """What is taken out of DAPDAG."""

    def __init__(
        self,
        *,
        hidden: int = 16,
        n_members: int = 3,
        max_epochs: int = 150,
        patience: int = 20,
        learning_rate: float = 5e-3,
        weight_decay: float = 0.0,
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.hidden = hidden
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self) -> Settings:
        return replace(
            super()._settings(),
            uses_environment=False,
            env_weight=0.0,
            structure_weight=0.0,
            # No graph is read off, so the label's filter sees all features to the end, and the
            # best weights may come from any epoch.
            exact_graph=False,
            # The penalty has no weight, but is computed: this one is the cheapest.
            acyclicity="trace_power",
            # There is no encoder to alternate with.
            alternating=False,
        )

    def _sample(self, sample: Sample) -> Sample:
        return pooled(sample)


class MLPRegressor(_PooledMLP, NetworkRegressor):
    """Predict a number with a network of two hidden layers trained on the pooled sources.

    Parameters are those of `DAPDAGRegressor` that still mean something. `sample_domain` only says
    at `fit` which rows are unlabelled targets (negative integers), and those are left out.
    """


class MLPClassifier(_PooledMLP, NetworkClassifier):
    """Predict a class with a network of two hidden layers trained on the pooled sources.

    Parameters are those of `DAPDAGClassifier` that still mean something. `sample_domain` only says
    at `fit` which rows are unlabelled targets (negative integers), and those are left out.
    """


def pooled(sample: Sample) -> Sample:
    """The rows of all sources as one domain."""
    rows = np.flatnonzero(sample.is_source)
    return replace(
        sample,
        X=sample.X.iloc[rows],
        y=sample.y[rows],
        domain=np.zeros(len(rows), dtype=np.intp),
        domain_labels=(POOL,),
        n_sources=1,
    )
