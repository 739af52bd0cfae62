"""Statistics whose variance comes from what each row contributes."""

from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata

from dapdag.evaluate.clinical.estimates import Array, Influence
from dapdag.inference.scores import SMALLEST_PROBABILITY


def c_statistic(y: Array, p: Array) -> Influence:
    """Probability that an event has the higher prediction of an event and a non-event.

    The contributions are the placements of DeLong, DeLong and Clarke-Pearson (1988): of each event
    among the non-events, and the reverse.
    """
    event = y == 1
    events, others = p[event], p[~event]
    among_all = rankdata(p)
    placed_event = (among_all[event] - rankdata(events)) / len(others)
    placed_other = 1 - (among_all[~event] - rankdata(others)) / len(events)
    return Influence(float(placed_event.mean()), (placed_event, placed_other))


def brier(y: Array, p: Array) -> Influence:
    return _mean((p - y) ** 2)


def log_loss(y: Array, p: Array) -> Influence:
    happened = np.where(y == 1, p, 1 - p)
    return _mean(-np.log(np.clip(happened, SMALLEST_PROBABILITY, 1.0)))


def net_benefit(y: Array, p: Array, threshold: float) -> Influence:
    """True positives less false positives at the threshold's odds, per row (Vickers, Elkin 2006).

    A row counts as positive where its probability is at least the threshold.
    """
    odds = threshold / (1 - threshold)
    return _mean(np.where(p >= threshold, np.where(y == 1, 1.0, -odds), 0.0))


def explained(y: Array, p: Array) -> Influence:
    """R², of probabilities the scaled Brier score; a ratio of means by the delta method."""
    error, spread = (y - p) ** 2, (y - y.mean()) ** 2
    ratio = error.mean() / spread.mean()
    return Influence(float(1 - ratio), ((ratio * spread - error) / spread.mean(),))


def rmse(y: Array, p: Array) -> Influence:
    error = (y - p) ** 2
    root = float(np.sqrt(error.mean()))
    return Influence(root, (error / (2 * root) if root > 0 else np.zeros_like(error),))


def _mean(values: Array) -> Influence:
    return Influence(float(values.mean()), (values,))


def influence_of(statistic: str, threshold: float) -> Callable[[Array, Array], Influence]:
    """The function of labels and predictions by the statistic's name."""
    if statistic == "net_benefit":
        return lambda y, p: net_benefit(y, p, threshold)
    return {
        "c_statistic": c_statistic,
        "brier": brier,
        "scaled_brier": explained,
        "log_loss": log_loss,
        "r2": explained,
        "rmse": rmse,
    }[statistic]
