"""The scikit-learn interface: DAPDAGRegressor and DAPDAGClassifier."""

from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

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
        label_bounds: Any = "auto",
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
        self.label_bounds = label_bounds
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

    def _sample(self, sample: Sample) -> Sample:
        if not self._regression and self.label_bounds not in (None, "auto"):
            raise ValueError(
                "label_bounds is for numbers, a class has none: leave it None, or predict a number "
                "(DAPDAGRegressor; --task regression on the command line)"
            )
        return super()._sample(sample)

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
        if self._regression:
            self.label_bounds_ = fit.model.label_bounds
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

        Columns are variables in the order of `graph_` (a categorical variable: the probability of
        each level as `name=level`), in the units of the table; the label's column is a probability
        of the second class for two classes. `env`, one value per dimension in the coordinates of
        `environment`, replaces the E inferred from the rows.
        """
        return self._reconstruct(X, y, sample_domain, env)


class DAPDAGRegressor(DAPDAGEstimator, NetworkRegressor):
    """Predict a number at a new site from labelled tables of several other sites.

    A new site needs no retraining: `predict` infers the site's environment E from its rows.

    Parameters
    ----------
    structure : "search" finds the graph first (`GraphSearch`), trains encoder and decoder on it,
        and then the label's experts; a `networkx.DiGraph` over the columns and the label is taken
        as it is. "paper" is the paper's system: the graph is learned by gradient under a penalty
        on cycles, and the label is predicted through its own structural filter.
    bayesian : True draws E from its posterior and learns noise scales (ELBO); False is the paper's
        point formulation with squared errors.
    env_dim : dimensions of E.
    hidden : width of all hidden layers.
    n_shared : hidden layers that all variables share, after their own first one.
    n_predictors : label networks with E as an input, as many without it, and as many of each
        mechanism of the label and its children; weights estimated on left-out sources combine them.
    n_members : trainings side by side. With a graph known beforehand they share the encoder that
        reconstructs best; in the paper's form they are whole models, averaged.
    max_epochs, patience : early stopping waits `patience` epochs for a better validation loss.
    learning_rate, weight_decay : of AdamW; the rate falls along a cosine.
    prediction_weight, reconstruction_weight, env_weight, structure_weight, acyclicity_weight,
    acyclicity_square, sparsity_weight : weights of the terms of the loss,
        prediction + γ·E² (or KL) + λ·(reconstruction + h + α·h² + β·group lasso); 0 switches a
        term off.
    prior_precision, prior_scale : ν₀ of the encoder and σ of the prior of E.
    acyclicity : of the paper's form, "trace_exp" (None, the paper's), "log_det" or "trace_power".
    edge_threshold : of the paper's form: an edge must move its child by this many standard
        deviations for one of the parent's (root mean square) to enter the graph.
    validation_fraction : share of every source's rows kept for early stopping.
    steps : per epoch: "size" (rows / mean batch size, at least 16 and at most 64), "domains"
        (one per domain), or a number.
    alternating : True moves the encoder, then the decoder, as the paper does; False moves both in
        one step, which is faster and no worse.
    n_draws : Monte Carlo draws of E at prediction.
    label_bounds : a pair of numbers that no label can leave, None where open, such as `(0, None)`;
        predictions and ends of intervals stay inside, and labels outside are refused. "auto" is
        `(0, None)` for labels that stop at 0: none is negative, and at least 20 are less than a
        tenth of their standard deviation above it (counts, amounts, durations); else open. None
        is open.
    categorical_features : columns whose numbers are codes of categories: names, positions or a
        mask, as in scikit-learn's boosters. Text and pandas categories need not be named.
    checkpoint : a file; an interrupted `fit` with the same data and settings goes on from it.
    random_state : one seed gives one result, to the bit on one machine.
    verbose : 1 shows a progress bar on a terminal.

    Attributes
    ----------
    graph_ : networkx.DiGraph over the columns and the label, always acyclic. Edges have `weight`
        (filter norm) and `effect` (root-mean-square derivative in standard deviations, with the
        sign of the mean one; without sign where a variable has several levels), nodes
        `environment` (how strongly E acts); `graph_.graph["removed"]` lists the edges that were
        removed to break cycles.
    edge_probability_ : DataFrame of the probability of every edge, causes in rows; not in the
        paper's form.
    mechanism_shift_ : DataFrame, one row per variable: the probability that its mechanism differs
        between the sources, and in what; not in the paper's form.
    expert_weights_ : share of each expert in the prediction: networks without E ("pooled"), with E
        ("environment"), and inference on the graph ("graph").
    between_sites_ : what left-out sources say about a new site: `slope` of the observed on the
        predicted level of the label (its mean, or class prevalence), `tau2`, the variance between
        sites that is left of it (of the standardised label, or of log-odds), `ratio` of squared
        errors to stated variances, and the number of `sites` behind them.
    label_bounds_ : the bounds of predictions, infinite where open.
    adjacency_ : DataFrame of filter norms before thresholding, parents in rows.
    source_environments_ : DataFrame of the sources' E.
    history_ : DataFrame of every term of the loss per epoch.
    n_epochs_ : epochs that were trained.
    record_ : `dapdag.record.Record` of the training data in aggregate numbers, for the report.
    reading_ : None, or how `dapdag fit` read the training tables: what stands for a missing value,
        the decimal mark, the columns that name sites and rows, and those of weights and groups;
        applied to new tables.
    assessment_ : None, or what `dapdag.evaluate.assess` found of left-out sources (or the scores of
        `dapdag.evaluate.leave_one_domain_out`), for the report; saved with the model.
    """


class DAPDAGClassifier(DAPDAGEstimator, NetworkClassifier):
    """Predict a class at a new site from labelled tables of several other sites.

    Parameters and attributes are those of `DAPDAGRegressor`, and `classes_` holds the classes; a
    class has no `label_bounds`.
    """
