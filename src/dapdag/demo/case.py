"""The case: nine simulated sites to learn from, a tenth to predict, and who predicts it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from .._sklearn.network import NetworkClassifier, NetworkRegressor, fit_or_interrupt
from ..baselines import MLPClassifier, MLPRegressor
from ..datasets import DomainData, Split, make_classification_domains, make_regression_domains
from ..estimators import DAPDAGClassifier, DAPDAGRegressor
from ..evaluate.metrics import class_scores, number_scores
from ..evaluate.prediction import COVERAGE, ClassPrediction, NumberPrediction, normal_interval

N_SITES = 10
FEWEST_ROWS = 20

Array = NDArray[np.float64]
Model = DAPDAGRegressor | DAPDAGClassifier
Predictor = TypeVar("Predictor", bound=NetworkRegressor | NetworkClassifier)


@dataclass(frozen=True)
class Prediction:
    """What a method says of every row: a number or the probability of class 1, and its interval."""

    mean: Array
    interval: Array | None = None  # (rows, 2), for numbers only


@dataclass(frozen=True, eq=False)
class Demo:
    """All that the demonstration found, before anything is written or shown."""

    data: DomainData
    seed: int
    site: int
    split: Split
    model: Model
    environment: pd.DataFrame  # of the new site
    predictions: Mapping[str, Prediction]
    scores: pd.DataFrame  # one row per method


def run_demo(
    *,
    seed: int,
    classification: bool = False,
    rows: int = 500,
    epochs: int = 150,
    verbose: int = 0,
    on_step: Callable[[str], None] = lambda step: None,
) -> Demo:
    """Simulate the sites, leave the last one out, and let every method predict it."""
    if seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, not {seed}")
    if rows < FEWEST_ROWS:
        raise ValueError(f"rows must be at least {FEWEST_ROWS} per site, not {rows}")
    make = make_classification_domains if classification else make_regression_domains
    data = make(n_domains=N_SITES, n_samples=rows, random_state=seed)
    site = data.domains[-1]
    split = data.leave_out(site)
    dapdag: type[Model] = DAPDAGClassifier if classification else DAPDAGRegressor
    mlp: type[MLPClassifier | MLPRegressor] = MLPClassifier if classification else MLPRegressor
    on_step(f"Training dapdag on {N_SITES - 1} sites of {rows} rows")
    model = _fitted(dapdag(max_epochs=epochs, random_state=seed, verbose=verbose), split)
    on_step("Training the methods to compare with")
    pooled = _fitted(mlp(max_epochs=epochs, random_state=seed, verbose=verbose), split)

    predictions = {
        "dapdag": _prediction(model, split.X_target),
        "pooled MLP": _prediction(pooled, split.X_target),
        "gradient boosting": _boosting(split, classification, seed),
        "oracle": _oracle(data, split.X_target, data.env[site]),
    }
    return Demo(
        data=data,
        seed=seed,
        site=site,
        split=split,
        model=model,
        environment=model.environment(split.X_target, np.full(len(split.X_target), site)),
        predictions=predictions,
        scores=pd.DataFrame({m: _scores(split.y_target, p) for m, p in predictions.items()}).T,
    )


def _fitted(model: Predictor, split: Split) -> Predictor:
    fit_or_interrupt(model, split.X, split.y, split.sample_domain)
    return model


def _prediction(model: NetworkRegressor | NetworkClassifier, X: pd.DataFrame) -> Prediction:
    if isinstance(model, NetworkClassifier):
        return Prediction(model.predict_proba(X)[:, 1])
    return Prediction(np.asarray(model.predict(X)), model.predict_interval(X, COVERAGE))


def _boosting(split: Split, classification: bool, seed: int) -> Prediction:
    """Trees on the pooled sources; two more models give the ends of the interval."""

    def fitted(**loss: Any) -> Array:
        trees = HistGradientBoostingRegressor(random_state=seed, **loss).fit(split.X, split.y)
        return np.asarray(trees.predict(split.X_target))

    # On so few rows, threads that wait for each other cost more than they save: much more where
    # the cores are busy.
    with threadpool_limits(1, user_api="openmp"):
        if classification:
            trees = HistGradientBoostingClassifier(random_state=seed).fit(split.X, split.y)
            return Prediction(trees.predict_proba(split.X_target)[:, 1])
        ends = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
        interval = np.column_stack([fitted(loss="quantile", quantile=q) for q in ends])
        return Prediction(fitted(), interval)


def _oracle(data: DomainData, X: pd.DataFrame, env: float) -> Prediction:
    mean = data.oracle(X, env)
    if data.task == "classification":
        return Prediction(mean)
    return Prediction(mean, normal_interval(mean, data.oracle_std(X, env)))


def _scores(y: pd.Series, found: Prediction) -> dict[str, float]:
    """What the table of the demonstration shows of a method."""
    labels = y.to_numpy()
    if found.interval is None:
        both = np.column_stack([1 - found.mean, found.mean])
        scores = class_scores(labels, ClassPrediction(both, np.array([0, 1])))
        shown = ("log_loss", "auc", "brier")
    else:
        scores = number_scores(labels, NumberPrediction(found.mean, interval=found.interval))
        shown = ("r2", "rmse", "coverage")
    return {name: scores[name].value for name in shown}
