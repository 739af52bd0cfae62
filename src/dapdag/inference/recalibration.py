"""Recalibration at a new site: what left-out sources say about its level, and how sure that is.

The level of a site is the mean of its label: of a number as it is, of classes as centred
log-prevalence. Where a site's features are shifted, its predicted level is shifted too, often only
partly right, because what moved the features moved the label's own mechanism as well. Over
left-out sources m, with ȳ the observed and μ̄ the predicted level,

    ȳ_m = level + slope (μ̄_m − level) + δ_m,    δ_m ~ N(0, τ²),

and within a source the squared error is `ratio` times the variance that the model states. At a new
site the predicted deviation from the usual level is multiplied by the slope, and a number has the
variance h · (ratio · stated + (1 + 1/M) τ²), where h depends on its prediction (`row_noise`) and τ²
is known with M − 1 degrees of freedom.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as t_distribution

from ..data.columns import Discrete
from ..model.constants import (
    LEAST_PROPORTION,
    LEVEL_ROWS,
    NOISE_LEVELS,
    OFFSET_STEPS,
    SLOPE_PRIOR_SD,
)
from .row_noise import RowNoise, learn_row_noise, learn_widths

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """What left-out sources say about the level of a new site and the errors there.

    Attributes
    ----------
    level : the usual level: mean over the sources of their labels' means, or of the centred
        log-prevalence of each class.
    slope : of the observed on the predicted level over left-out sources, in [0, 1].
    tau2 : variance between sites of what is left of the level, less that of sampling labels given
        their rows: of the standardised number, or of the log-odds of two classes.
    ratio : squared error within left-out sources over the variance stated for them, at least 1;
        1 for classes.
    n_sites : how many left-out sources that was.
    overall : class proportions over all rows of the sources; None for numbers.
    row_noise : how the variance of a number depends on its prediction.
    """

    level: Array
    slope: float = 1.0
    tau2: float = 0.0
    ratio: float = 1.0
    n_sites: int = 0
    overall: Array | None = None
    row_noise: RowNoise = field(default_factory=RowNoise.constant)

    @property
    def between(self) -> float:
        """Variance of a new site's level around the one predicted."""
        return self.tau2 * (1.0 + 1.0 / self.n_sites) if self.n_sites else 0.0

    def half_width(self, coverage: float, mean: Array, variance: Array) -> Array:
        """Half the central interval of numbers of this mean and variance at a new site.

        Student's t: few sources know τ² badly (Satterthwaite's degrees of freedom).
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, not {coverage}")
        between = self.row_noise.factor(mean) * self.between
        share = np.maximum(between / np.maximum(variance, 1e-300), 1e-6)
        dof = max(self.n_sites - 1, 1) / share**2
        quantile = t_distribution.ppf(0.5 + coverage / 2, dof)
        return np.asarray(self.row_noise.width(coverage) * quantile * np.sqrt(variance))

    def offset(self, means: Array) -> Array:
        """What to add to the outputs for the rows of a site, so that their level is moved by the
        slope: to numbers [rows, 1], or to the logarithms of probabilities [rows, classes]."""
        if self.slope == 1.0 or not len(means):
            return np.zeros(means.shape[1])
        away = (1.0 - self.slope) * (_level(means, self.overall, self.level) - self.level)
        if self.overall is None:
            return -away
        return _offset(means, centred_log(means.mean(0)) - away)


@dataclass(frozen=True)
class LeftOutLevel:
    """A left-out source: observed and predicted means, [rows, 1] of numbers or [rows, classes]."""

    observed: Array
    predicted: Array
    stated: Array | None = None  # [rows], variance of a number


def learn_calibration(
    sites: Sequence[LeftOutLevel], level: Array, overall: Array | None
) -> Calibration:
    """From left-out sources; `level` is the usual one, `overall` the proportions of classes."""
    if len(sites) < 2:
        return Calibration(level, overall=overall)
    observed, predicted = (
        np.stack([_level(getattr(s, name), overall, level) for s in sites])
        for name in ("observed", "predicted")
    )
    slope = calibration_slope(predicted, observed)
    others = (observed.sum(0) - observed) / (len(sites) - 1)
    moved = (1.0 - _slopes_of_others(predicted, observed)) * (predicted - others)
    left = np.stack([_residual(s, overall) for s in sites]) + moved
    chance = np.mean([_chance(s, overall) for s in sites])
    tau2 = max(float(_spread(left, overall).mean() - chance), 0.0)
    ratio = _variance_ratio(sites) if overall is None else 1.0
    found = Calibration(level, slope, tau2, ratio, len(sites), overall)
    return replace(found, row_noise=_row_noise(found, sites)) if overall is None else found


def mean_level(labels: Sequence[Array], overall: Array | None) -> Array:
    """Mean over sites of the level of their labels, [rows, 1] or [rows, classes] each."""
    if overall is None:
        return np.asarray(np.mean([y.mean(0) for y in labels], axis=0))
    return np.asarray(np.mean([_level(y, overall, overall) for y in labels], axis=0))


def _level(means: Array, overall: Array | None, usual: Array) -> Array:
    """Level of a site, smoothed by `LEVEL_ROWS` rows like the sources."""
    if overall is not None:
        return centred_log(site_proportions(means, overall))
    n = len(means)
    return np.asarray((means.sum(0) + LEVEL_ROWS * usual) / (n + LEVEL_ROWS))


def _spread(left: Array, overall: Array | None) -> Array:
    """Squares of what is left of the levels [sites, columns]: of classes that of log-odds."""
    squares = (left**2).mean(1)
    # log-odds of two of K classes: differences of two of the K independent parts
    return squares if overall is None else 2.0 * squares / (1.0 - 1.0 / left.shape[1])


def _residual(site: LeftOutLevel, overall: Array | None) -> Array:
    """Observed less predicted level: [columns].

    Without the smoothing of `_level`, which would make sites look alike. Half a label of every
    class keeps log-odds finite (Haldane 1956).
    """
    if overall is None:
        return np.asarray((site.observed - site.predicted).mean(0))
    n, width = site.observed.shape
    shares = (site.observed.sum(0) + 0.5) / (n + 0.5 * width)
    return centred_log(shares) - centred_log(site.predicted.mean(0))


def _chance(site: LeftOutLevel, overall: Array | None) -> float:
    """Sampling variance of the observed level of a site given its rows: of classes that of
    log-odds, as `_spread` has it."""
    n = len(site.observed)
    if overall is None:
        return float((site.observed - site.predicted).var() / n)
    p = np.maximum(site.predicted, LEAST_PROPORTION)
    # linear in the labels: log of the mean of class k moves by (y_k - p_k) / sum of p_k
    weight = 1.0 / p.sum(0)
    single = (weight**2 * p * (1 - p)).sum()
    whole = ((weight**2 * p).sum(1) - (weight * p).sum(1) ** 2).sum()
    width = p.shape[1]
    return float(2.0 * (single - whole / width) / (width - 1))


def _variance_ratio(sites: Sequence[LeftOutLevel]) -> float:
    """Geometric mean over sources of the variance of errors over the one stated, at least 1."""
    logs = [
        np.log(max((s.observed - s.predicted).var(), 1e-12) / max(s.stated.mean(), 1e-12))
        for s in sites
        if s.stated is not None and len(s.observed) > 1
    ]
    return float(max(np.exp(np.mean(logs)), 1.0)) if logs else 1.0


def _row_noise(found: Calibration, sites: Sequence[LeftOutLevel]) -> RowNoise:
    predicted = [s.predicted + found.offset(s.predicted) for s in sites]
    errors = [s.observed - p for s, p in zip(sites, predicted, strict=True)]
    stated = [s.stated for s in sites if s.stated is not None]
    mean, error = (np.concatenate(parts)[:, 0] for parts in (predicted, errors))
    variance = found.ratio * np.concatenate(stated) + found.between
    noise = learn_row_noise(mean, error, variance)
    found, about = replace(found, row_noise=noise), (mean, noise.factor(mean) * variance)
    sizes = [np.abs(error) / found.half_width(level, *about) for level in NOISE_LEVELS]
    return replace(noise, log_width=learn_widths(sizes, len(sites)))


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
    """Slope of observed on predicted levels: [domains, columns] each.

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


def _slopes_of_others(predicted: Array, observed: Array) -> Array:
    """For every site the slope without it, as a new site has it: [domains, 1]."""
    rest = [np.delete(np.arange(len(observed)), k) for k in range(len(observed))]
    return np.array([[calibration_slope(predicted[k], observed[k])] for k in rest])


def _smoothed(proportions: NDArray, rows: NDArray, overall: NDArray) -> NDArray[np.float64]:
    """Proportions [..., classes] of `rows` [...] with `LEVEL_ROWS` rows like all sources."""
    rows = rows[..., None]
    return (rows * proportions + LEVEL_ROWS * overall) / (rows + LEVEL_ROWS)


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
