"""DA-Infer: domain adaptation as inference on a graphical model (Zhang et al., 2020)."""

import warnings
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._runtime.cache import compilation_cache
from ..._runtime.warning import MethodWarning
from ..._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor
from ..._sklearn.checks import as_frame, new_domains
from ..._sklearn.descriptions import described_as
from ...data.columns import Standardised
from ...data.sample import Sample, learn_table
from .graph import learn_blanket
from .inference import infer_theta, label_posterior
from .training import learn_generators


class _DAInfer(DomainEstimator):
    needs_target = True

    def __init__(
        self,
        *,
        latent_dim: int = 1,
        hidden: int = 32,
        n_steps: int = 3000,
        learning_rate: float = 1e-2,
        alpha: float = 0.01,
        max_condition: int = 3,
        categorical_features: Any = None,
        random_state: int = 0,
    ) -> None:
        self.latent_dim = latent_dim
        self.hidden = hidden
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.max_condition = max_condition
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Learn graph and modules on the sources, and θ of the targets from their features.

        Rows with a negative `sample_domain` are targets; `y` is not looked at there.
        """
        self._check_settings()
        sample = self._training_sample(X, y, sample_domain)
        self._table_ = learn_table(sample)
        values, observed, rows = self._labelled(sample)
        domain = sample.domain[rows]
        _, domain = np.unique(domain, return_inverse=True)
        self._blanket_ = learn_blanket(self._table_, values, domain, self.alpha, self.max_condition)
        if not self._blanket_.found:
            warnings.warn(
                f"nothing is next to {sample.label_name!r} in the graph: it is predicted from all "
                "features, without adaptation",
                MethodWarning,
                stacklevel=2,
            )
        with compilation_cache():
            self._generators_ = learn_generators(
                self._table_,
                self._blanket_,
                values,
                observed,
                domain,
                latent_dim=self.latent_dim,
                hidden=self.hidden,
                n_steps=self.n_steps,
                learning_rate=self.learning_rate,
                random_state=self.random_state,
            )
            self._targets_ = {
                label: self._theta(sample.X.iloc[np.flatnonzero(sample.domain == d)])
                for d, label in enumerate(sample.domain_labels)
                if d >= sample.n_sources
            }
        self.graph_ = self._blanket_.graph
        known = np.unique(sample.domain[rows]).tolist()
        theta = dict(zip(known, self._generators_.theta, strict=True))
        self.latents_ = self._named(
            {sample.domain_labels[d]: theta[d] for d in sample.sources_in_order if d in theta}
        )
        return self

    def _check_settings(self) -> None:
        at_least = {"latent_dim": 0, "hidden": 1, "n_steps": 1, "max_condition": 0}
        for name, least in at_least.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)!r}")

    def _labelled(self, sample: Sample) -> tuple[NDArray, NDArray, NDArray]:
        """Encoded cells and observed variables of the labelled sources, and their positions."""
        rows = sample.labelled
        label = self._table_.encode_label(sample.y[rows])
        values, observed = self._table_.encode(sample.X.iloc[rows])
        ones = np.ones((len(rows), 1), dtype=np.float32)
        return np.concatenate([values, label], 1), np.concatenate([observed, ones], 1), rows

    def _unlabelled(self, frame: pd.DataFrame) -> tuple[NDArray, NDArray]:
        values, observed = self._table_.encode(frame)
        label = np.zeros((len(frame), self._table_.label.width), dtype=np.float32)
        zeros = np.zeros((len(frame), 1), dtype=np.float32)
        return np.concatenate([values, label], 1), np.concatenate([observed, zeros], 1)

    def _theta(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        cells = self._unlabelled(frame)
        return infer_theta(self._generators_, self._table_, *cells, self.random_state)

    def _posterior(self, X: Any, sample_domain: Any) -> tuple[NDArray, NDArray]:
        """p(y | x, θ) on a grid, each domain under its own θ."""
        check_is_fitted(self)
        frame = as_frame(self, X, reset=False)
        labels, codes = new_domains(sample_domain, len(frame))
        found: NDArray | None = None
        grid = np.zeros(0)
        with compilation_cache():
            for d, label in enumerate(labels):
                rows = np.flatnonzero(codes == d)
                part = frame.iloc[rows]
                theta = self._theta_of(label, part, sample_domain is None)
                probability, grid = label_posterior(
                    self._generators_, self._table_, *self._unlabelled(part), theta
                )
                if found is None:
                    found = np.zeros((len(frame), probability.shape[1]))
                found[rows] = probability
        assert found is not None
        return found, grid

    def _theta_of(self, label: Hashable, rows: pd.DataFrame, unnamed: bool) -> NDArray[np.float64]:
        if unnamed and len(self._targets_) == 1:
            return next(iter(self._targets_.values()))
        if not unnamed and label in self._targets_:
            return self._targets_[label]
        return self._theta(rows)

    def _named(self, thetas: dict[Hashable, NDArray]) -> pd.DataFrame:
        names = self._table_.names
        changing = [
            (m, names[v])
            for m, v in enumerate(self._blanket_.modules)
            if self._blanket_.changing[m]
        ]
        columns = [f"{name} θ{k + 1}" for _, name in changing for k in range(self.latent_dim)]
        rows = [
            [t[m, k] for m, _ in changing for k in range(self.latent_dim)] for t in thetas.values()
        ]
        return pd.DataFrame(rows, index=list(thetas), columns=columns)


class DAInferRegressor(_DAInfer, DomainRegressor):
    """Predict a number in a target by inference on an augmented graphical model.

    Stage 1 learns a graph over the features, the label and the index of the domain (CD-NOD, from
    causal-learn, with a test that takes the index for a label). It gives the label's Markov
    blanket, and the modules P(variable | parents) that change between domains.

    Stage 2 learns the modules of the label and of its children. A module that changes has a
    latent θ per domain, of `latent_dim` dimensions. The target's θ is the one that makes its
    features most probable with the label summed out, and the label is predicted from its
    posterior given the blanket and θ.

    The original trains the modules as conditional generative adversarial networks, and reads the
    posterior off samples. Here a module is a conditional density of the same size (one hidden
    layer; a normal distribution with mean and scale, or a categorical one) trained by maximum
    likelihood: the quantities that stage 2 needs are then computed instead of sampled, and
    training neither oscillates nor collapses. What is lost is noise of any other shape.

    Undirected edges of the graph are oriented without new colliders or cycles. If nothing is
    next to the label, it is predicted from all features without adaptation, and a warning says
    so. A missing cell counts as its column's mean where it is a parent, and its own module is
    left out.

    Parameters
    ----------
    latent_dim : int, default=1
        Dimensions of θ, at least 0; 0 is the same inference without adaptation.
    hidden : int, default=32
        Width of the hidden layer, at least 1.
    n_steps : int, default=3000
        Steps of Adam with batches of 300 rows, at least 1.
    learning_rate : float, default=0.01
        Learning rate of Adam, positive.
    alpha : float, default=0.01
        Level of the independence tests, between 0 and 1.
    max_condition : int, default=3
        Largest conditioning set of the independence tests, at least 0.
    categorical_features : sequence of str or int, or mask, optional
        Columns whose numbers are codes of levels.
    random_state : int, default=0
        Seed: one seed gives one result.

    Attributes
    ----------
    graph_ : networkx.DiGraph
        Networkx.DiGraph; ``graph_.graph["changing"]`` names the variables whose module changes.
    latents_ : DataFrame
        The sources' θ, one row per source.
    """

    def predict(
        self, X: Any, sample_domain: Any = None, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected label of every row; with `return_std` also its standard deviation.

        A domain that `fit` has seen as a target keeps its θ; without `sample_domain` that is the
        only target there was. For any other domain θ is inferred from the rows given here.
        """
        probability, grid = self._posterior(X, sample_domain)
        label = self._table_.label
        assert isinstance(label, Standardised)
        mean = probability @ grid
        if not return_std:
            return label.decode(mean)
        variance = probability @ grid**2 - mean**2
        return label.decode(mean), np.sqrt(np.maximum(variance[:, 0], 0.0)) * label.deviation


@described_as(DAInferRegressor)
class DAInferClassifier(_DAInfer, DomainClassifier):
    """Predict a class in a target by inference on an augmented graphical model.

    Graph, modules and the choice of θ at prediction are those of `DAInferRegressor`.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_` for every row."""
        return self._posterior(X, sample_domain)[0]
