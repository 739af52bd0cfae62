"""The scikit-learn face: DAPDAGRegressor and DAPDAGClassifier."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from ._estimator import DAPDAGEstimator


class DAPDAGRegressor(RegressorMixin, DAPDAGEstimator):
    """Predict a number at a new site from labelled tables of several other sites.

    A new site needs no retraining: `predict` reads the site's environment E off its rows.

    Parameters
    ----------
    bayesian : True draws E from its posterior and learns noise scales (ELBO); False is the paper's
        point formulation with squared errors.
    env_dim : dimensions of E.
    hidden : width of all hidden layers.
    n_shared : hidden layers that all variables share, after their own first one.
    n_predictors : networks side by side that predict the label; their mean is the prediction.
    n_members : whole models in an ensemble; they train as lanes of one program and share a graph.
    exact_graph : True reads the graph off at 60 % of training and masks the filters by it, so that
        no reconstruction depends on a variable that is not a parent in `graph_`, and predicts the
        label from all features and E. False is the paper's form: a soft constraint, and the label
        through its own filter.
    max_epochs, patience : early stopping waits `patience` epochs for a better validation loss.
    learning_rate, weight_decay : of AdamW; the rate falls along a cosine.
    prediction_weight, reconstruction_weight, env_weight, structure_weight, acyclicity_weight,
    acyclicity_square, sparsity_weight : weights of the terms of the loss,
        prediction + γ·E² (or KL) + λ·(reconstruction + h + α·h² + β·group lasso); 0 switches a
        term off.
    prior_precision, prior_scale : ν₀ of the encoder and σ of the prior of E.
    acyclicity : "trace_exp", "log_det", "trace_power"; None takes the fast "trace_power", or the
        paper's "trace_exp" with `exact_graph=False`.
    edge_threshold : an edge must move its child by this many standard deviations for one of the
        parent's (root mean square) to enter the graph.
    validation_fraction : share of every source's rows kept for early stopping.
    steps : per epoch: "size" (rows / mean batch size), "domains" (one per domain), or a number.
    alternating : True moves the encoder, then the decoder, as the paper does; False moves both in
        one step, which is faster and no worse.
    n_draws : Monte Carlo draws of E at prediction.
    checkpoint : a file; an interrupted `fit` with the same data and settings goes on from it.
    random_state : one seed gives one result, to the bit on one machine.
    verbose : 1 shows a progress bar on a terminal.

    Attributes
    ----------
    graph_ : networkx.DiGraph over the columns and the label, always acyclic. Edges have `weight`
        (filter norm) and `effect` (root-mean-square derivative in standard deviations), nodes
        `environment` (how strongly E acts); `graph_.graph["removed"]` lists the edges that were
        given up to break cycles.
    adjacency_ : DataFrame of filter norms before thresholding, parents in rows.
    source_environments_ : DataFrame of the sources' E.
    history_ : DataFrame of every term of the loss per epoch.
    n_epochs_ : epochs that were trained.
    """

    _regression = True

    def predict(
        self, X: Any, sample_domain: Any = None, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected label of every row; with `return_std` also its predictive standard deviation.

        All rows are one new domain, or several with `sample_domain`; each is given its own E.
        """
        found = self._label_distribution(X, sample_domain)
        label = self._fit_.model.table.label
        mean = label.decode(found.mean)
        if not return_std:
            return mean
        assert found.variance is not None
        return mean, np.sqrt(found.variance[:, 0]) * label.deviation  # type: ignore[union-attr]

    def score(self, X: Any, y: Any, sample_weight: Any = None, sample_domain: Any = None) -> float:
        """R² of the prediction."""
        return float(r2_score(y, self.predict(X, sample_domain), sample_weight=sample_weight))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, sample_domain: Any = None
    ) -> NDArray[np.float64]:
        """Lower and upper end of the central predictive interval of every row: (rows, 2)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, not {coverage}")
        mean, std = self.predict(X, sample_domain, return_std=True)
        half = norm.ppf(0.5 + coverage / 2) * std
        return np.column_stack([mean - half, mean + half])


class DAPDAGClassifier(ClassifierMixin, DAPDAGEstimator):
    """Predict a class at a new site from labelled tables of several other sites.

    Parameters and attributes are those of `DAPDAGRegressor`, and `classes_` holds the classes.
    """

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    __metadata_request__predict_log_proba: ClassVar = {"sample_domain": True}

    _regression = False

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_` for every row, averaged over E."""
        mean = self._label_distribution(X, sample_domain).mean
        if len(self.classes_) == 2:
            return np.column_stack([1 - mean[:, 0], mean[:, 0]])
        return mean / mean.sum(1, keepdims=True)

    def predict_log_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X, sample_domain))

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray:
        """The most probable class of every row."""
        best = self.predict_proba(X, sample_domain).argmax(1)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None, sample_domain: Any = None) -> float:
        """Accuracy of the prediction."""
        predicted = self.predict(X, sample_domain)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
