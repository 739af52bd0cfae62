"""How sure a site's predictions are: a row's probability, the mean label, what labels would gain.

On the scale of the link a site's predictions are off by an intercept a ~ N(0, τ²), where τ² is the
variance between left-out sources, or after some labels that of a's posterior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t as t_distribution

from ..data.layout import Encoded
from ..model.constants import LEAST_PROBABILITY, LINEAR
from .expected_scores import Prediction, expected_scores
from .fitted import FittedModel
from .labels import SiteVariation, link
from .prediction import LabelDistribution, SiteEstimate, ask_experts, moments_at, within_site
from .recalibration import all_classes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """What is uncertain about a site's predictions beside the label's own noise."""

    intercept: float  # variance on the scale of the link
    slope: float
    quantile: float  # of a standardised deviation, for a central interval

    @staticmethod
    def at(site: SiteEstimate, variation: SiteVariation, coverage: float) -> "Spread":
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, not {coverage}")
        found = site.correction
        intercept = variation.intercept if found is None else found.intercept_variance
        quantile = t_distribution.ppf(0.5 + coverage / 2, variation.dof)
        return Spread(intercept, variation.slope, float(quantile))


def probability_interval(
    model: FittedModel, site: SiteEstimate, rows: Encoded, label: LabelDistribution, spread: Spread
) -> Array:
    """Lower and upper end of every class's probability: [rows, classes, 2]."""
    p = np.clip(all_classes(label.mean), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    slope = 1.0 if site.correction is None else site.correction.slope
    between = slope**2 * _variance_between(model, site, rows)
    deviation = np.sqrt(spread.intercept + between)
    eta = np.log(p) - np.log1p(-p)
    reach = spread.quantile * deviation
    return np.stack([expit(eta - reach), expit(eta + reach)], axis=-1)


def _variance_between(model: FittedModel, site: SiteEstimate, rows: Encoded) -> Array:
    """Variance of log-odds over experts, members, draws of E and networks, from that of
    probabilities: [rows, classes]."""
    found = ask_experts(model, site, rows, *moments_at(model, site.env, rows))
    experts = np.tensordot(site.weights[:2], found.networks, 1)
    squares = np.tensordot(site.weights[:2], found.squares, 1)
    if found.graph is not None:
        experts = experts + site.weights[2] * found.graph
        squares = squares + site.weights[2] * found.graph**2
    p = np.clip(experts, LINEAR, 1 - LINEAR)
    variance = np.maximum(squares - experts**2, 0.0) / (p * (1 - p)) ** 2
    return np.repeat(variance, 2, axis=1) if variance.shape[1] == 1 else variance


def mean_interval(
    model: FittedModel, site: SiteEstimate, label: LabelDistribution, spread: Spread
) -> Array:
    """Interval of the mean label that rows of a site will show: [2], in the label's standardised
    units, or [classes, 2] of the classes' shares."""
    n = len(label.mean)
    if label.variance is not None:
        middle = float(label.mean.mean())
        deviation = np.sqrt(spread.intercept + within_site(model, site, label).mean() / n)
        return middle + spread.quantile * deviation * np.array([-1.0, 1.0])
    p = np.clip(all_classes(label.mean), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    eta = np.log(p) - np.log1p(-p)
    within = (p * (1 - p)).mean(0)
    # sampling of n labels, brought to the scale of the link
    reach = spread.quantile * np.sqrt(spread.intercept + 1.0 / (n * within))
    return np.stack([expit(eta - reach).mean(0), expit(eta + reach).mean(0)], axis=-1)


def expected_gain(
    model: FittedModel, site: SiteEstimate, label: LabelDistribution, n_labels: int
) -> float:
    """What `n_labels` labels are expected to gain by intercept and slope alone: nats of log-loss
    per row, or R².

    With the information I of a row about a, labels lower its variance from τ² to
    1 / (1/τ² + n I), and the loss by half of I times the difference.
    """
    if n_labels < 0:
        raise ValueError(f"n_labels must be 0 or more, not {n_labels}")
    variation, kind = model.site_variation(label.mean), model.table.label.kind
    eta = link(label.mean, kind)
    if label.variance is not None:
        information = np.full(eta.shape, 1.0 / within_site(model, site, label).mean())
    else:
        p = all_classes(label.mean)[:, 1:]
        information = p * (1 - p)
    rows = information.sum(1)
    about = rows.mean(), (information * (eta - eta.mean(0)) ** 2).sum(1).mean()
    gain = 0.0
    for variance, each in zip((variation.intercept, variation.slope), about, strict=True):
        left = variance / (1.0 + variance * n_labels * each)
        gain += 0.5 * each * (variance - left)
    if label.variance is None:
        return float(gain)
    noise = within_site(model, site, label).mean()
    return float(2 * noise * gain / (noise + eta.var()))


IN_THE_LARGE = "calibration_in_the_large"


def expected_performance(
    model: FittedModel, site: SiteEstimate, label: LabelDistribution, n_rows: int, coverage: float
) -> pd.DataFrame:
    """Every score of a site of `n_rows`, of which `label` has some: expected, low and high.

    Calibration in the large is that of two classes, or the mean error of a number.
    """
    spread, unit = Spread.at(site, model.site_variation(label.mean), coverage), 1.0
    if label.variance is None:
        prediction, within = Prediction(all_classes(label.mean)), 0.0
        if label.mean.shape[1] == 1:
            within = 1.0 / max(float((label.mean * (1 - label.mean)).mean()), LEAST_PROBABILITY)
    else:
        variable: Any = model.table.label
        own = within_site(model, site, label)
        within, unit = float(own.mean()), float(variable.deviation)
        prediction = Prediction(label.mean, own)
    errors, kind = model.score_errors, model.table.label.kind
    found = expected_scores(prediction, kind, errors, n_rows, coverage)
    if within:
        reach = spread.quantile * float(np.sqrt(spread.intercept + within / n_rows))
        found[IN_THE_LARGE] = (0.0, -reach, reach)
    index = pd.Index(list(found), name="score")
    frame = pd.DataFrame(list(found.values()), index, ["expected", "low", "high"])
    return frame.mul(np.where(index == "r2", 1.0, unit), axis=0)
