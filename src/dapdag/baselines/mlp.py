"""The pooled MLP: DAPDAG's predictors of the label, without E, and nothing else."""

from typing import Any, ClassVar

from .._sklearn.descriptions import described_as
from .._sklearn.network import NetworkClassifier, NetworkEstimator, NetworkRegressor
from ..data.sample import Sample
from ..estimators import DAPDAGRegressor
from ..training import form
from .rows import pooled


class PooledMLP(NetworkEstimator):
    """What is taken out of DAPDAG: encoder, E and the whole decoder."""

    _form = form.MLP
    _absent_terms: ClassVar[tuple[str, ...]] = (
        "environment",
        "reconstruction",
        "acyclicity",
        "sparsity",
    )

    def __init__(
        self,
        *,
        hidden: int = 16,
        n_predictors: int = 4,
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
        self.n_predictors = n_predictors
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _sample(self, sample: Sample) -> Sample:
        return pooled(sample)


@described_as(DAPDAGRegressor, attributes=("history_", "n_epochs_", "record_"))
class MLPRegressor(PooledMLP, NetworkRegressor):
    """Predict a number with networks of two hidden layers trained on the pooled sources.

    As many networks as DAPDAG has for the label: `n_predictors` side by side in each of
    `n_members`.
    `sample_domain` only says at `fit` which rows are unlabelled targets (negative integers), and
    those are left out.
    """


@described_as(MLPRegressor)
class MLPClassifier(PooledMLP, NetworkClassifier):
    """Predict a class with networks of two hidden layers trained on the pooled sources.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """
