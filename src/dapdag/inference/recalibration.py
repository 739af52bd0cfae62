"""Recalibration of the predicted class prevalence at a new site.

Where a site's features are shifted, its predicted class prevalence is shifted too. Often that is
only partly right, because what moved the features moved the label's own mechanism as well. The
slope of observed on predicted log-prevalence over left-out sources says how much of a predicted
deviation to keep.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Discrete
from ..model.constants import (
    LEAST_PROPORTION,
    OFFSET_STEPS,
    PREVALENCE_ROWS,
    SLOPE_PRIOR_SD,
)


@dataclass(frozen=True)
class Prevalence:
    """Class prevalence at the sources, and how much of a predicted deviation from it to keep.

    Attributes
    ----------
    overall : class proportions over all rows of the sources.
    mean_log : mean over the sources of the centred log-prevalence of each class.
    slope : of observed on predicted log-prevalence over left-out sources, in [0, 1].
    """

    overall: NDArray[np.float64]
    mean_log: NDArray[np.float64]
    slope: float

    @staticmethod
    def learn(
        label: Discrete, counts: NDArray, predicted: NDArray, came_true: NDArray
    ) -> "Prevalence":
        """From the sources' labels, counted by class [sources, classes], and from sums over rows
        of left-out sources: of predicted probabilities and of observed classes."""
        overall = class_proportions(label)
        rows = counts.sum(1)
        some = rows > 0
        observed = counts[some] / rows[some, None]
        mean_log = centred_log(_smoothed(observed, rows[some], overall)).mean(0)
        slope = _left_out_slope(predicted, came_true, overall) if len(came_true) else 1.0
        return Prevalence(overall, mean_log, slope)

    def applied(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities [rows, classes] of one site, with their mean moved by the slope."""
        return shifted(probabilities, self.offset(probabilities))

    def offset(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """What to add to the logarithms of a site's probabilities [rows, classes], so that their
        mean is moved by the slope: [classes]."""
        if self.slope == 1.0 or not len(probabilities):
            return np.zeros(probabilities.shape[1])
        predicted = probabilities.mean(0)
        smoothed = centred_log(site_proportions(probabilities, self.overall))
        wanted = centred_log(predicted) - (1.0 - self.slope) * (smoothed - self.mean_log)
        return _offset(probabilities, wanted)


def class_proportions(label: Discrete) -> NDArray[np.float64]:
    return np.asarray(label.shares, dtype=float) / np.sum(label.shares)


def all_classes(columns: NDArray) -> NDArray[np.float64]:
    """Probabilities of all classes from the label's columns, of which two classes share one."""
    columns = columns.astype(float)
    alone = columns.shape[-1] == 1
    return np.concatenate([1 - columns, columns], axis=-1) if alone else columns


def site_proportions(
    probabilities: NDArray[np.float64], overall: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Predicted class proportions of the site whose rows have these probabilities, smoothed."""
    return _smoothed(probabilities.mean(0), np.array(len(probabilities)), overall)


def centred_log(proportions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of proportions, less their mean over the classes."""
    logs = np.log(np.maximum(proportions, LEAST_PROPORTION))
    return logs - logs.mean(-1, keepdims=True)


def calibration_slope(predicted: NDArray[np.float64], observed: NDArray[np.float64]) -> float:
    """Slope of observed on predicted centred log-prevalence: [domains, classes] each.

    Deviations are from the mean of the other domains. The estimate is shrunk towards 1 by the prior
    N(1, `SLOPE_PRIOR_SD`²) and clipped to [0, 1].
    """
    n = len(observed)
    if n < 2:
        return 1.0
    others = (observed.sum(0) - observed) / (n - 1)
    x, y = predicted - others, observed - others
    square = (x**2).sum()
    if square == 0:
        return 1.0
    slope = (x * y).sum() / square
    # One pseudo-domain (at slope 1) regularises the residual variance when there are few domains.
    error = (((y - slope * x) ** 2).sum() + ((y - x) ** 2).sum() / n) / n
    pull = error / SLOPE_PRIOR_SD**2
    return float(np.clip((slope * square + pull) / (square + pull), 0.0, 1.0))


def _left_out_slope(
    predicted: NDArray[np.float64], observed: NDArray[np.float64], overall: NDArray[np.float64]
) -> float:
    """Slope from sums of probabilities and of classes over the rows of sites: [sites, classes]."""
    rows = observed.sum(1)
    return calibration_slope(
        *(centred_log(_smoothed(p / rows[:, None], rows, overall)) for p in (predicted, observed))
    )


def _smoothed(proportions: NDArray, rows: NDArray, overall: NDArray) -> NDArray[np.float64]:
    """Proportions [..., classes] of `rows` [...] with `PREVALENCE_ROWS` rows like all sources."""
    rows = rows[..., None]
    return (rows * proportions + PREVALENCE_ROWS * overall) / (rows + PREVALENCE_ROWS)


def _offset(probabilities: NDArray, wanted: NDArray) -> NDArray[np.float64]:
    """What to add to the logarithms of probabilities so that the log-prevalence is as wanted."""
    offset = np.zeros_like(wanted)
    for _ in range(OFFSET_STEPS):
        offset += wanted - centred_log(shifted(probabilities, offset).mean(0))
    return offset


def shifted(probabilities: NDArray, offset: NDArray) -> NDArray[np.float64]:
    """Probabilities [rows, classes] with an offset [classes] added to their logarithms."""
    if not offset.any():
        return probabilities
    moved = probabilities * np.exp(offset - offset.max())
    return moved / np.maximum(moved.sum(1, keepdims=True), 1e-300)
