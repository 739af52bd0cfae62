"""The scikit-learn interface: DAPDAGRegressor and DAPDAGClassifier."""

from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from ._sklearn.descriptions import described_as
from ._sklearn.mixins import WithEnvironments, WithGraph
from ._sklearn.network import NetworkClassifier, NetworkRegressor
from .data.sample import Sample
from .inference.combination import EXPERTS
from .inference.fitted import Fit
from .structure.shifts import shift_table
from .training.fit import fit_models
from .training.form import DAPDAG, PAPER, Form
from .training.settings import Settings


class DAPDAGEstimator(WithEnvironments, WithGraph):
    """The whole network: environments and a graph."""

    def __init__(
        self,
        *,
        structure: str | nx.DiGraph = "search",
        bayesian: bool = True,
        env_dim: int = 1,
        hidden: int = 16,
        n_shared: int = 1,
        n_predictors: int = 4,
        n_members: int = 2,
        max_epochs: int = 100,
        patience: int = 20,
        learning_rate: float = 8e-3,
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
        categorical_features: Any = None,
        checkpoint: str | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.bayesian = bayesian
        self.env_dim = env_dim
        self.hidden = hidden
        self.n_shared = n_shared
        self.n_predictors = n_predictors
        self.n_members = n_members
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
        self.categorical_features = categorical_features
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _form(self) -> Form:  # type: ignore[override]
        given = isinstance(self.structure, nx.Graph)
        if not given and self.structure not in ("search", "paper"):
            raise ValueError(
                "structure must be 'search', 'paper' or a networkx.DiGraph over the columns and "
                f"the label, not {self.structure!r}"
            )
        return PAPER if not given and self.structure == "paper" else DAPDAG

    def _train(self, samples: Sequence[Sample], settings: Settings) -> list[Fit]:
        given = self.structure if isinstance(self.structure, nx.Graph) else None
        return fit_models(samples, settings, graph=given)

    def _adopt(self, fit: Fit, sources: tuple[Hashable, ...]) -> None:
        super()._adopt(fit, sources)
        names = list(self.graph_)
        strength = dict(zip(names, fit.env_strength.tolist(), strict=True))
        nx.set_node_attributes(self.graph_, strength, "environment")
        self.expert_weights_ = pd.Series(fit.model.combination.weights, index=list(EXPERTS))
        found = fit.model.calibration
        self.between_sites_ = pd.Series(
            {"slope": found.slope, "tau2": found.tau2, "ratio": found.ratio, "sites": found.n_sites}
        )
        if np.isnan(fit.shifts).all():  # the graph was learned by the decoder, not searched
            return
        index = pd.Index(names, tupleize_cols=False)
        self.edge_probability_ = pd.DataFrame(
            fit.edge_probability, index=index.rename("cause"), columns=index.rename("effect")
        )
        self.mechanism_shift_ = shift_table(fit.shifts, names)
        for i, j in np.argwhere(fit.dag.mask).tolist():
            edge = self.graph_.edges[names[i], names[j]]
            edge["probability"] = float(fit.edge_probability[i, j])

    def reconstruct(
        self, X: Any, y: Any, env: Any = None, sample_domain: Any = None
    ) -> pd.DataFrame:
        """Expected value of every variable given its parents in `graph_` and E.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        y : sequence, one per row
            Labels of the rows, None or NaN where one is missing.
        env : sequence of float, optional
            One value per dimension, in the coordinates of `environment`, in place of the E inferred
            from the rows.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        DataFrame
            Columns are variables in the order of `graph_` (a categorical variable: the probability
            of each level as `name=level`), in the units of the table; the label's column is a
            probability of the second class for two classes.
        """
        return self._reconstruct(X, y, sample_domain, env)


class DAPDAGRegressor(DAPDAGEstimator, NetworkRegressor):
    """Predict a number at a new site from labelled tables of several other sites.

    A new site needs no retraining: `predict` infers the site's environment E from its rows.

    Parameters
    ----------
    structure : {"search", "paper"} or networkx.DiGraph, default="search"
        "search" finds the graph first (`GraphSearch`), trains encoder and decoder on it, and then
        the label's experts; a `networkx.DiGraph` over the columns and the label is taken as it is.
        "paper" is the paper's system: the graph is learned by gradient under a penalty on cycles,
        and the label is predicted through its own structural filter.
    bayesian : bool, default=True
        True draws E from its posterior and learns noise scales (ELBO); False is the paper's point
        formulation with squared errors.
    env_dim : int, default=1
        Dimensions of E, at least 1.
    hidden : int, default=16
        Width of all hidden layers, at least 1.
    n_shared : int, default=1
        Hidden layers that all variables share, after their own first one; at least 0.
    n_predictors : int, default=4
        Label networks with E as an input, as many without it, and as many of each mechanism of the
        label and its children; at least 1. Weights estimated on left-out sources combine them.
    n_members : int, default=2
        Trainings side by side, at least 1. With a graph known beforehand they share the encoder
        that reconstructs best; in the paper's form they are whole models, averaged.
    max_epochs : int, default=100
        Most epochs of each stage, at least 1.
    patience : int, default=20
        Epochs that early stopping waits for a better validation loss, at least 1.
    learning_rate : float, default=0.008
        Learning rate of AdamW, positive; it falls along a cosine.
    weight_decay : float, default=0.0
        Weight decay of AdamW, at least 0.
    prediction_weight : float, default=1.0
        Weight of the prediction in the loss, prediction + γ·E² (or KL) + λ·(reconstruction + h +
        α·h² + β·group lasso). All weights are at least 0, and 0 switches the term off.
    reconstruction_weight : float, default=1.0
        Weight of the reconstruction, λ.
    env_weight : float, default=1.0
        Weight γ of E² or of the Kullback-Leibler divergence from the prior of E.
    structure_weight : float, default=1.0
        Factor of all terms of the graph.
    acyclicity_weight : float, default=1.0
        Weight of h, which measures cycles.
    acyclicity_square : float, default=1.0
        Weight α of h².
    sparsity_weight : float, default=0.01
        Weight β of the group lasso.
    prior_precision : float, default=1.0
        Precision ν₀ of the encoder, positive.
    prior_scale : float, default=1.0
        Standard deviation σ of the prior of E, positive.
    acyclicity : {"trace_exp", "log_det", "trace_power"}, optional
        Measure of cycles, in the paper's form only. By default the paper's, "trace_exp".
    edge_threshold : float, default=0.1
        In the paper's form an edge must move its child by this many standard deviations for one of
        the parent's (root mean square) to enter the graph; at least 0.
    validation_fraction : float, default=0.1
        Share of every source's rows kept for early stopping, between 0 and 1.
    steps : {"size", "domains"} or int, default="size"
        Steps per epoch: "size" (rows / mean batch size, at least 16 and at most 64), "domains" (one
        per domain), or a number of at least 1.
    alternating : bool, default=False
        True moves the encoder, then the decoder, as the paper does; False moves both in one step,
        which is faster and no worse.
    n_draws : int, default=32
        Monte Carlo draws of E at prediction, at least 1.
    categorical_features : sequence of str or int, or mask, optional
        Columns whose numbers are codes of categories: names, positions or a mask, as in
        scikit-learn's boosters. Text and pandas categories need not be named.
    checkpoint : path-like, optional
        File from which an interrupted `fit` with the same data and settings goes on.
    random_state : int, RandomState or None, default=0
        Seed, at least 0: one seed gives one result, to the bit on one machine.
    verbose : int, default=0
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    graph_ : networkx.DiGraph
        Graph over the columns and the label, always acyclic. Edges have `weight` (filter norm) and
        `effect` (root-mean-square derivative in standard deviations, with the sign of the mean one;
        without sign where a variable has several levels), nodes `environment` (how strongly E
        acts); `graph_.graph["removed"]` lists the edges that were removed to break cycles.
    edge_probability_ : DataFrame
        Probability of every edge, causes in rows; not in the paper's form.
    mechanism_shift_ : DataFrame
        One row per variable: the probability that its mechanism differs between the sources, and in
        what; not in the paper's form.
    expert_weights_ : Series
        Share of each expert in the prediction: networks without E ("pooled"), with E
        ("environment"), and inference on the graph ("graph").
    between_sites_ : Series
        What left-out sources say about a new site: `slope` of the observed on the predicted level
        of the label (its mean, or class prevalence), `tau2`, the variance between sites that is
        left of it (of the standardised label, or of log-odds), `ratio` of squared errors to stated
        variances, and the number of `sites` behind them.
    adjacency_ : DataFrame
        Filter norms before thresholding, parents in rows.
    source_environments_ : DataFrame
        E of the sources: columns `E1_mean`, `E1_sd`, ….
    history_ : DataFrame
        Every term of the loss, one row per epoch.
    n_epochs_ : int
        Epochs that were trained.
    record_ : Record
        The training data in aggregate numbers, for the report.
    reading_ : dict or None
        How `dapdag fit` read the training tables: what stands for a missing value, the decimal
        mark, the columns that name sites and rows, and those of weights and groups; applied to new
        tables.
    assessment_ : DataFrame or None
        What `dapdag.evaluate.assess` found of left-out sources (or the scores of
        `dapdag.evaluate.leave_one_domain_out`), for the report; saved with the model.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> model.predict(split.X_target).shape
    (60,)
    >>> list(model.environment(split.X_target).columns)
    ['E1_mean', 'E1_sd', 'outside']
    """


@described_as(DAPDAGRegressor)
class DAPDAGClassifier(DAPDAGEstimator, NetworkClassifier):
    """Predict a class at a new site from labelled tables of several other sites.

    A new site needs no retraining: `predict_proba` infers the site's environment E from its rows.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The classes, sorted.

    Examples
    --------
    >>> from dapdag import DAPDAGClassifier
    >>> from dapdag.datasets import make_classification_domains
    >>> split = make_classification_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGClassifier().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> model.classes_
    array([0, 1])
    >>> model.predict_proba(split.X_target).shape
    (60, 2)
    """
