"""Scores of one target domain, each a number or the reason why there is none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import average_precision_score

from dapdag.evaluate.prediction import COVERAGE, ClassPrediction, NumberPrediction
from dapdag.inference import scores
from dapdag.inference.scores import over_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """What a score is called, and where it should be: as high or as low as can be, or at a goal.

    Attributes
    ----------
    title : str
        Name in tables and figures.
    task : str
        "regression" or "classification".
    goal : float
        Where it should be: ∞ as high as can be, −∞ as low as can be, or a value.
    short : str
        Name in narrow tables, if it has a shorter one.
    """

    title: str
    task: str
    goal: float
    short: str = ""  # the title in narrow tables, if it has a shorter one

    def merit(self, value: pd.DataFrame) -> pd.DataFrame:
        """Scores turned so that more is better.

        Parameters
        ----------
        value : DataFrame
            Scores.

        Returns
        -------
        DataFrame
            Scores of the same shape, more is better.
        """
        if np.isinf(self.goal):
            return value if self.goal > 0 else -value
        return -(value - self.goal).abs()


HIGH, LOW = np.inf, -np.inf
METRICS = {
    "log_loss": Metric("log-loss", "classification", LOW),
    "auc": Metric("AUC", "classification", HIGH),
    "apr": Metric("APR", "classification", HIGH),
    "brier": Metric("Brier score", "classification", LOW, "Brier"),
    "calibration": Metric("mean predicted − observed", "classification", 0.0),
    "r2": Metric("R²", "regression", HIGH),
    "rmse": Metric("RMSE", "regression", LOW),
    "nll": Metric("negative log-likelihood", "regression", LOW),
    "coverage": Metric("coverage of 90 % intervals", "regression", COVERAGE, "90 % coverage"),
    "width": Metric("mean width of 90 % intervals", "regression", LOW),
}


# Of experiments on graphs and on time, whose tables show them like scores.
OTHERS = {"shd": Metric("SHD", "graph", LOW), "seconds": Metric("s", "time", LOW)}
# An R² below this says no more than that the method failed, but would decide every mean.
WORST_R2 = -1.0


@dataclass(frozen=True)
class Score:
    """A value, or NaN and why."""

    value: float
    reason: str = ""


def metrics_of(task: str) -> list[str]:
    """Names of the task's metrics."""
    return [name for name, metric in METRICS.items() if metric.task == task]


def primary_metric(task: str) -> str:
    """What methods are ranked by: log-loss for classes, R² for numbers.

    Parameters
    ----------
    task : {"regression", "classification"}
        What is predicted.

    Returns
    -------
    str
        Name in `METRICS`.
    """
    return metrics_of(task)[0]


def metric_title(metric: str) -> str:
    """A metric's name in tables and figures."""
    known = METRICS | OTHERS
    return known[metric].title if metric in known else metric.replace("_", " ")


def short_title(metric: str) -> str:
    """A metric's name in narrow tables."""
    return METRICS[metric].short or metric_title(metric)


def lower_is_better(metric: str) -> bool:
    known = METRICS | OTHERS
    return metric in known and known[metric].goal == LOW


def undefined(reason: str) -> Score:
    return Score(np.nan, reason)


def class_scores(
    y: NDArray, predicted: ClassPrediction, weight: Array | None = None
) -> dict[str, Score]:
    """Scores of predicted probabilities; `weight` says how much each row counts.

    With two classes AUC, APR and calibration are those of the second one. With more, AUC and APR
    are means over the classes against the rest, and calibration is the mean absolute difference.
    The Brier score of two classes is the squared error of one of them, of more the sum over all. A
    class that the sources do not have counts as predicted with probability 0.
    """
    classes = np.unique(np.concatenate([np.asarray(predicted.classes, object), y.astype(object)]))
    probability = np.zeros((len(y), len(classes)))
    probability[:, np.searchsorted(classes, predicted.classes)] = predicted.probability
    label = np.searchsorted(classes, y.astype(object))
    happened = label[:, None] == np.arange(len(classes))
    difference = over_rows(probability.T, weight) - over_rows(happened.T, weight)
    two = len(classes) == 2
    counted = happened if weight is None else happened[weight > 0]
    split = np.flatnonzero(counted.any(0) & ~counted.all(0)).tolist()
    split = [k for k in split if k == 1] if two else split
    about = probability, label[None].astype(float), weight
    return {
        "log_loss": Score(float(scores.log_loss(*about)[0])),
        "auc": _mean_over(split, lambda k: _area(probability[:, k], happened[:, k], weight)),
        "apr": _mean_over(
            split,
            lambda k: average_precision_score(
                happened[:, k], probability[:, k], sample_weight=weight
            ),
        ),
        "brier": Score(float(scores.brier(*about)[0])),
        "calibration": Score(float(difference[1] if two else np.abs(difference).mean())),
    }


def _area(score: Array, positive: NDArray, weight: Array | None) -> float:
    return float(scores.area_under_roc(score, positive[None], weight)[0])


def _mean_over(classes: Sequence[int], score: Callable[[int], float]) -> Score:
    """Mean over the classes that some rows of the target have and some have not."""
    if not classes:
        return undefined("the target has one class only")
    return Score(float(np.mean([score(k) for k in classes])))


def number_scores(
    y: NDArray, predicted: NumberPrediction, weight: Array | None = None
) -> dict[str, Score]:
    """Scores of predicted numbers, and of their uncertainty where the method states it.

    `weight` says how much each row counts.
    """
    error = y - predicted.mean
    found = {
        "r2": _r2(y, predicted.mean, weight),
        "rmse": Score(float(scores.rmse(predicted.mean[:, None], y[None], weight)[0])),
        "nll": undefined("the method gives no standard deviation"),
        "coverage": undefined("the method gives no interval"),
        "width": undefined("the method gives no interval"),
    }
    if predicted.std is not None and predicted.std.min() <= 0:
        found["nll"] = undefined("a predicted standard deviation is 0")
    elif predicted.std is not None:
        found["nll"] = Score(float(-over_rows(norm.logpdf(error, scale=predicted.std), weight)))
    if predicted.interval is not None:
        low, high = predicted.interval.T
        found["coverage"] = Score(float(over_rows((low <= y) & (y <= high), weight)))
        found["width"] = Score(float(over_rows(high - low, weight)))
    return found


def _r2(y: NDArray, mean: Array, weight: Array | None) -> Score:
    if weight is not None:
        y, mean, weight = y[weight > 0], mean[weight > 0], weight[weight > 0]
    if len(y) < 2:
        return undefined("the target has one labelled row only")
    if np.ptp(y) == 0:
        return undefined("the label is constant in the target")
    return Score(float(scores.r2(mean[:, None], y[None], weight)[0]))
