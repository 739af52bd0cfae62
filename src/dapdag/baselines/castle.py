"""CASTLE: DAPDAG's decoder on the pooled sources, without encoder and E (Kyono et al. 2020).

The label is predicted through its own structural filter, and the hidden layer after it is shared
with the reconstructions of all features: that is how the graph regularises the prediction.
DAPDAG's other form, predictors of the label beside an exact graph, would share nothing with the
graph here and be the pooled MLP.
"""

from typing import Any, ClassVar

import pandas as pd

from .._sklearn.descriptions import described_as
from .._sklearn.mixins import WithGraph
from .._sklearn.network import NetworkClassifier, NetworkRegressor
from ..data.sample import Sample
from ..estimators import DAPDAGRegressor
from ..training import form
from .rows import pooled


class _CASTLE(WithGraph):
    """What is taken out of DAPDAG: encoder and E."""

    _form = form.CASTLE
    _absent_terms: ClassVar[tuple[str, ...]] = ("environment",)

    def __init__(
        self,
        *,
        hidden: int = 16,
        n_members: int = 2,
        max_epochs: int = 100,
        patience: int = 20,
        learning_rate: float = 8e-3,
        weight_decay: float = 0.0,
        reconstruction_weight: float = 1.0,
        structure_weight: float = 1.0,
        acyclicity_weight: float = 1.0,
        acyclicity_square: float = 1.0,
        sparsity_weight: float = 0.01,
        acyclicity: str | None = None,
        edge_threshold: float = 0.1,
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
        self.reconstruction_weight = reconstruction_weight
        self.structure_weight = structure_weight
        self.acyclicity_weight = acyclicity_weight
        self.acyclicity_square = acyclicity_square
        self.sparsity_weight = sparsity_weight
        self.acyclicity = acyclicity
        self.edge_threshold = edge_threshold
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _sample(self, sample: Sample) -> Sample:
        return pooled(sample)

    def reconstruct(self, X: Any, y: Any) -> pd.DataFrame:
        """Expected value of every variable given all others, in the units of the table.

        Columns are variables in the order of `graph_` (a categorical variable: the probability of
        each level as `name=level`); the label's column is a probability of the second class for
        two classes.
        """
        return self._reconstruct(X, y)


@described_as(DAPDAGRegressor, attributes=("adjacency_", "history_", "n_epochs_", "record_"))
class CASTLERegressor(_CASTLE, NetworkRegressor):
    """Predict a number with a network that a graph over all variables regularises.

    `sample_domain` only says at `fit` which rows are unlabelled targets (negative integers), and
    those are left out.

    The constraint is soft, as in CASTLE: `graph_` is read off the strengths of the
    reconstructions after training, and is made acyclic by leaving out the weakest edge of every
    cycle, whatever the weights; `graph_.graph["removed"]` lists these.
    """


@described_as(CASTLERegressor)
class CASTLEClassifier(_CASTLE, NetworkClassifier):
    """Predict a class with a network that a graph over all variables regularises.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """
