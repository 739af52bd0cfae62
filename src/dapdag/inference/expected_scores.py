"""How well the labels of a site will be predicted, before any of them is known.

Labels drawn from a site's own predictions say what a score would be if these were right, and how
much it varies by the sampling of labels. How far they are not right is learned from the sources
that were left out of training: on a scale g without bounds, over sources m,

    g(score_m) = g(expected_m) + shift + δ_m + ε_m,    δ_m ~ N(0, between),

where ε_m is the sampling of the source's labels. At a new site `between` is known with few degrees
of freedom (Student's t).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import t as t_distribution

from ..model.constants import AUC_ENDS, SCORE_DRAWS, SCORE_SOURCES, SCORE_VARIATION
from .scores import auc, brier, log_loss, r2, rmse

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """What is predicted of rows of a site: a number's mean and variance, or probabilities.

    Attributes
    ----------
    mean : [rows, 1] of a number, or [rows, classes].
    variance : [rows], of a number within its site.
    """

    mean: Array
    variance: Array | None = None

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Labels of the rows: [n, rows], numbers or positions of classes."""
        shape = n, len(self.mean)
        if self.variance is not None:
            return np.asarray(self.mean[:, 0] + np.sqrt(self.variance) * rng.standard_normal(shape))
        reached = self.mean.cumsum(1) / self.mean.sum(1, keepdims=True)
        drawn = (rng.random(shape)[..., None] > reached[:, :-1]).sum(-1)
        return np.asarray(drawn, dtype=float)


@dataclass(frozen=True)
class Score:
    """A score of predictions [rows, columns] for labels [draws, rows], and its scale g."""

    of: Callable[[Array, Array], Array]
    scale: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    falls: bool = False  # g falls with the score


def _log(x: Array) -> Array:
    return np.asarray(np.log(np.maximum(x, 1e-9)))


CLASSES = {
    "auc": Score(auc, lambda x: logit(np.clip(x, AUC_ENDS, 1 - AUC_ENDS)), expit),
    "log_loss": Score(log_loss, _log, np.exp),
    "brier": Score(brier, _log, np.exp),
}
NUMBERS = {
    "r2": Score(r2, lambda x: _log(1 - x), lambda g: 1 - np.exp(g), falls=True),
    "rmse": Score(rmse, _log, np.exp),
}


def scores_of(kind: str) -> dict[str, Score]:
    """The scores of labels of this kind."""
    return NUMBERS if kind == "continuous" else CLASSES


@dataclass(frozen=True)
class ScoreErrors:
    """How far realised scores are from expected ones at left-out sources, on the scale g.

    Attributes
    ----------
    shift : mean difference, shrunk towards 0: [scores].
    between : variance between sites beside the sampling of labels: [scores].
    n_sites : sources for which the score is defined: [scores].
    """

    shift: Array
    between: Array
    n_sites: Array

    @staticmethod
    def none(kind: str) -> "ScoreErrors":
        """Without left-out sources."""
        return learn_score_errors((), kind)


def learn_score_errors(sources: Sequence[tuple[Prediction, Array]], kind: str) -> ScoreErrors:
    """From the predictions for left-out sources and their labels [rows].

    `SCORE_SOURCES` pseudo-sources with the usual variance and no shift keep few sources from
    claiming that predictions are always right.
    """
    found = []
    for score in scores_of(kind).values():
        differences = [_difference(score, *source) for source in sources]
        kept = np.array([d for d in differences if np.isfinite(d).all()]).reshape(-1, 2)
        n, total = len(kept), len(kept) + SCORE_SOURCES
        shift = kept[:, 0].sum() / total
        squares = ((kept[:, 0] - shift) ** 2 - kept[:, 1]).sum()
        between = (max(squares, 0.0) + SCORE_SOURCES * SCORE_VARIATION) / total
        found.append((shift, between, n))
    return ScoreErrors(*np.array(found, dtype=float).reshape(-1, 3).T)


def _difference(score: Score, prediction: Prediction, labels: Array) -> tuple[float, float]:
    """Realised less expected score, and the sampling variance of the latter, on the scale g."""
    realised = score.scale(score.of(prediction.mean, labels[None]))[0]
    expected, sampling = _on_scale(score, prediction)
    return float(realised - expected), sampling


def _on_scale(score: Score, prediction: Prediction) -> tuple[float, float]:
    """Mean and variance of the score over drawn labels; NaN where it is defined for none."""
    drawn = prediction.draw(SCORE_DRAWS, np.random.default_rng(0))
    values = score.of(prediction.mean, drawn)
    values = score.scale(values[np.isfinite(values)])
    if not len(values):
        return np.nan, np.nan
    return float(values.mean()), float(values.var())


def expected_scores(
    prediction: Prediction, kind: str, errors: ScoreErrors, n_rows: int, coverage: float
) -> dict[str, tuple[float, float, float]]:
    """Expected score, lower and upper end of its interval, for every score.

    `prediction` is of rows that stand for the `n_rows` of the site.
    """
    out = {}
    about = zip(errors.shift, errors.between, errors.n_sites, strict=True)
    for (name, score), (shift, between, n) in zip(scores_of(kind).items(), about, strict=True):
        middle, sampling = _on_scale(score, prediction)
        sampling *= len(prediction.mean) / max(n_rows, 1)
        total = n + SCORE_SOURCES
        dof = max(n - 1, 0) + SCORE_SOURCES
        reach = t_distribution.ppf(0.5 + coverage / 2, dof)
        reach *= np.sqrt(between * (1 + 1 / total) + sampling)
        ends = score.inverse(middle + shift + reach * np.array([0.0, -1.0, 1.0]))
        expected, low, high = (float(end) for end in ends)
        out[name] = (expected, high, low) if score.falls else (expected, low, high)
    return out
