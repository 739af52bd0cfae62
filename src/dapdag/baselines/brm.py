"""BRM: DAPDAG's encoder of E and its predictors of the label, and nothing else.

No variable but the label is reconstructed and there is no graph, so E is learned from what helps
to predict the label alone.
"""

from typing import Any, ClassVar

from .._sklearn.descriptions import described_as
from .._sklearn.mixins import WithEnvironments
from .._sklearn.network import NetworkClassifier, NetworkRegressor
from ..data.sample import Sample
from ..estimators import DAPDAGRegressor
from ..training import form
from .rows import sources_only


class _BRM(WithEnvironments):
    """What is taken out of DAPDAG: the decoder."""

    _form = form.BRM
    _absent_terms: ClassVar[tuple[str, ...]] = ("reconstruction", "acyclicity", "sparsity")

    def __init__(
        self,
        *,
        bayesian: bool = True,
        env_dim: int = 1,
        hidden: int = 16,
        n_predictors: int = 4,
        n_members: int = 2,
        max_epochs: int = 100,
        patience: int = 20,
        learning_rate: float = 8e-3,
        weight_decay: float = 0.0,
        env_weight: float = 1.0,
        prior_precision: float = 1.0,
        prior_scale: float = 1.0,
        validation_fraction: float = 0.1,
        alternating: bool = False,
        n_draws: int = 32,
        categorical_features: Any = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.bayesian = bayesian
        self.env_dim = env_dim
        self.hidden = hidden
        self.n_predictors = n_predictors
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.env_weight = env_weight
        self.prior_precision = prior_precision
        self.prior_scale = prior_scale
        self.validation_fraction = validation_fraction
        self.alternating = alternating
        self.n_draws = n_draws
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _sample(self, sample: Sample) -> Sample:
        # Without a reconstruction, rows without a label have nothing to teach.
        return sources_only(sample)


@described_as(
    DAPDAGRegressor, attributes=("source_environments_", "history_", "n_epochs_", "record_")
)
class BRMRegressor(_BRM, NetworkRegressor):
    """Predict a number from the features and the site's environment E, without a graph.

    The label comes from the same predictors as DAPDAG's, fed with the features, E and E². (The
    label's own filter, the other form of DAPDAG, is one of them without E².) Rows of
    targets (negative `sample_domain`) are left out at `fit`.
    """


@described_as(BRMRegressor)
class BRMClassifier(_BRM, NetworkClassifier):
    """Predict a class from the features and the site's environment E, without a graph.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """
