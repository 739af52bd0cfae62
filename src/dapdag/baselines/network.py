"""What the baselines on our network share: the parameters, at DAPDAG's values, and pooled rows."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._sklearn.network import NetworkEstimator
from ..data.sample import Sample

POOL = "pool"


class NetworkBaseline(NetworkEstimator):
    """DAPDAG with pieces taken out; what is left keeps DAPDAG's name and default."""

    def __init__(
        self,
        *,
        hidden: int = 16,
        n_members: int = 2,
        max_epochs: int = 100,
        patience: int = 20,
        learning_rate: float = 8e-3,
        weight_decay: float = 0.0,
        validation_fraction: float = 0.1,
        categorical_features: Any = None,
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
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose


def sources_only(sample: Sample) -> Sample:
    """The sample without the rows of targets."""
    rows = np.flatnonzero(sample.is_source)
    return replace(
        sample,
        X=sample.X.iloc[rows],
        y=sample.y[rows],
        domain=sample.domain[rows],
        domain_labels=sample.domain_labels[: sample.n_sources],
    )


def pooled(sample: Sample) -> Sample:
    """The rows of all sources as one domain."""
    sources = sources_only(sample)
    return replace(
        sources, domain=np.zeros_like(sources.domain), domain_labels=(POOL,), n_sources=1
    )
