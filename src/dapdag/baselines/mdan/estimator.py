"""MDAN: the pooled MLP, on features that do not tell the domain (Zhao et al. 2018)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from ..._runtime.cache import compilation_cache
from ..._runtime.compile import jit
from ..._sklearn.descriptions import described_as
from ..._sklearn.network import NetworkClassifier, NetworkRegressor
from ..._sklearn.sites import adapt
from ...data.chunks import Chunks
from ...data.layout import Encoded
from ...data.sample import Sample, in_fixed_order
from ...inference.fitted import Fit
from ...model import Layout, Sizes
from ...model.parameters import unravel
from ...training.fit import fit_models
from ...training.problem import Problem
from ...training.settings import Settings
from ...training.step import Trainer
from ..mlp import MLPRegressor, PooledMLP
from .network import MODES, Bound, features_of
from .training import MDANProblem, MDANTrainer

TARGET = "target"


class _MDAN(PooledMLP):
    """The networks of the MLP, trained against one domain classifier per source."""

    _absent_terms: ClassVar[tuple[str, ...]] = ()
    needs_target: ClassVar[bool] = True

    def __init__(
        self,
        *,
        mode: str = "dynamic",
        mu: float = 1e-2,
        gamma: float = 10.0,
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
        self.mode = mode
        self.mu = mu
        self.gamma = gamma
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

    def _settings(self) -> Settings:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {list(MODES)}, not {self.mode!r}")
        if not 0 <= self.mu < np.inf:
            raise ValueError(f"mu must be a number of at least 0, not {self.mu!r}")
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma must be a positive number, not {self.gamma!r}")
        # Squared errors and cross-entropies: a learned noise scale would change with training what
        # mu and gamma mean.
        return replace(super()._settings(), bayesian=False)

    def _sample(self, sample: Sample) -> Sample:
        """All targets as one domain, after the sources."""
        if sample.is_source.all():
            raise ValueError(
                f"{type(self).__name__} adapts to a target at fit and was given none: add the "
                "unlabelled rows of the target to X, with a negative integer in sample_domain "
                "(their y is ignored)"
            )
        names = (*sample.domain_labels[: sample.n_sources], TARGET)
        domain = np.minimum(sample.domain, sample.n_sources)
        return in_fixed_order(replace(sample, domain=domain, domain_labels=names))

    def _train(self, samples: Sequence[Sample], settings: Settings) -> list[Fit]:
        if len({sample.n_sources for sample in samples}) > 1:
            raise ValueError("samples that train together must have equally many sources")

        def adversarial(trainer: Trainer, problem: Problem) -> tuple[MDANTrainer, MDANProblem]:
            lanes: Any = np.ones(len(samples) * settings.n_members, dtype=np.float32)
            bound = Bound(self.mu * lanes, self.gamma * lanes, (self.mode == "hard") * lanes)
            return (
                MDANTrainer(**vars(trainer), n_sources=samples[0].n_sources),
                MDANProblem(**vars(problem), bound=bound),
            )

        return fit_models(samples, settings, by=adversarial)

    def features(self, X: Any) -> NDArray[np.float32]:
        """What the label is predicted from: the last hidden layer of all networks, side by side."""
        sites = adapt(self, X)
        model = sites.model

        def part(data: Encoded, present: NDArray[np.float32]) -> NDArray[np.float32]:
            cells = data.values, data.observed
            found = np.asarray(_features(model.sizes, model.layout, model.vectors, *cells))
            return found[: int(present.sum())]

        with compilation_cache():
            return np.concatenate(
                [found for _, found in Chunks(model.table, sites.frame).map(part)]
            )


@described_as(MLPRegressor, attributes=())
class MDANRegressor(_MDAN, NetworkRegressor):
    """Predict a number from features that are alike in the sources and in the target.

    The networks are those of `MLPRegressor`. Against each stands one classifier per source that
    tells the source's rows from the target's by the last hidden layer, through a reversal of the
    gradient.

    Early stopping looks at the sources' validation rows, since the target has no labels. The target
    is needed at `fit`: rows with negative integers in `sample_domain`, whose `y` is
    ignored. Several targets count as one. `predict` needs no `sample_domain`.

    Parameters
    ----------
    mode : {"dynamic", "hard"}, default="dynamic"
        "dynamic" weights the sources by the softmax of γ times their part of the bound (the
        gradient of log Σ exp); "hard" trains on the worst source of each step alone.
    mu : float, default=0.01
        Weight of the domain loss against the label's, at least 0.
    gamma : float, default=10.0
        Factor γ of the dynamic mode, positive.

    Attributes
    ----------
    history_ : DataFrame
        Per epoch the mean over sources of the label's loss ("prediction") and of the
        domain classifiers' ("domain"; log 2 means that they can only guess), the bound ("total")
        and the sources' validation loss.
    n_epochs_ : int
        Epochs that were trained.
    """


@described_as(MDANRegressor)
class MDANClassifier(_MDAN, NetworkClassifier):
    """Predict a class from features that are alike in the sources and in the target.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.
    """


@jit()
def _features(
    sizes: Sizes, layout: Layout, vectors: Any, values: Any, observed: Any
) -> Float[Array, "rows all_hidden"]:
    inputs = layout.inputs(values, observed)
    found = jax.vmap(lambda v: features_of(unravel(sizes, v), layout, inputs))(vectors)
    return jnp.moveaxis(found, 2, 0).reshape(
        len(inputs), -1
    )  # from [members, networks, rows, hidden]
