"""How well the new table was predicted, where its labels are known after all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..evaluate.metrics import class_scores, number_scores
from ..evaluate.prediction import ClassPrediction, NumberPrediction
from ..inference.reliability import equal_bins
from ..record import Bin

MEANING = {
    "log_loss": "how surprised the model is by what happened; 0 is best, lower is better",
    "auc": (
        "how often a row with the event has the higher probability of two rows, one with and one "
        "without it; 0.5 is a coin, 1 is perfect"
    ),
    "apr": "average precision: the share of true alarms, averaged over all thresholds",
    "brier": "mean squared distance between probability and outcome; 0 is best",
    "calibration": "mean probability less observed share; 0 is right on average",
    "r2": "share of the label's variation that is explained; 1 is perfect, 0 is no better than "
    "the site's own mean, below 0 is worse",
    "rmse": "typical size of an error, in the label's units",
    "nll": "how surprised the model is, its stated uncertainty included; lower is better",
    "coverage": "share of rows inside their 90 % interval; it should be 0.9",
    "width": "mean width of the 90 % intervals, in the label's units",
}


@dataclass(frozen=True, eq=False)
class NewScores:
    """Scores over all labelled rows and per domain, and what pictures need."""

    overall: dict[str, float]
    rows: int  # labelled
    by_domain: list[dict[str, float]]
    labelled: list[int]
    bins: list[Bin]  # of probabilities; none for numbers


def score_new(
    model: Any,
    truth: NDArray,
    mean: NDArray[np.float64],
    std: NDArray[np.float64] | None,
    interval: NDArray[np.float64] | None,
    probability: NDArray[np.float64] | None,
    codes: NDArray[np.intp],
) -> NewScores:
    known = np.asarray(pd.notna(truth))

    def scores(rows: NDArray[np.bool_]) -> dict[str, float]:
        if not rows.any():
            return {}
        if probability is None:
            assert std is not None and interval is not None
            found: Mapping = number_scores(
                truth[rows], NumberPrediction(mean[rows], std[rows], interval[rows])
            )
        else:
            found = class_scores(truth[rows], ClassPrediction(probability[rows], model.classes_))
        return {name: score.value for name, score in found.items() if not np.isnan(score.value)}

    inside = [known & (codes == d) for d in range(int(codes.max()) + 1)]
    return NewScores(
        overall=scores(known),
        rows=int(known.sum()),
        by_domain=[scores(rows) for rows in inside],
        labelled=[int(rows.sum()) for rows in inside],
        bins=_bins(model, truth[known], None if probability is None else probability[known]),
    )


def _bins(model: Any, truth: NDArray, probability: NDArray[np.float64] | None) -> list[Bin]:
    if probability is None:
        return []
    if probability.shape[1] == 2:
        return equal_bins(truth == model.classes_[1], probability[:, 1])
    right = model.classes_[probability.argmax(1)] == truth
    return equal_bins(right, probability.max(1))
