"""Random-effects meta-analysis of a statistic over sites."""

from dataclasses import dataclass

import numpy as np

from dapdag.evaluate.clinical.estimates import LEVEL, Array
from dapdag.evaluate.clinical.extra import clinical
from dapdag.evaluate.clinical.scales import Scale

# A mean needs two sites, an interval for the next one three.
FEWEST, FEWEST_FOR_PREDICTION = 2, 3


@dataclass(frozen=True)
class Pooled:
    """Summary over sites, in the statistic's own units; tau² is on the scale of analysis.

    Attributes
    ----------
    low, high : 95 % confidence interval of the mean over sites.
    prediction_low, prediction_high : 95 % prediction interval for the next site.
    tau2, i2 : between-site variance (REML), and its share of the variance of a site's estimate.
    sites : how many entered.
    """

    estimate: float
    low: float
    high: float
    prediction_low: float
    prediction_high: float
    tau2: float
    i2: float
    sites: int
    scale: str


def pool(values: Array, standard_errors: Array, scale: Scale) -> Pooled:
    """Pool estimates that are on the scale of analysis; those without an error are left out.

    REML for the between-site variance, Hartung and Knapp's confidence interval, and the prediction
    interval of Higgins, Thompson and Spiegelhalter (2009) with their standard error (t, k − 2).
    """
    usable = np.isfinite(values) & (standard_errors > 0)
    k = int(usable.sum())
    if k < FEWEST:
        alone = scale.backward(float(values[usable][0])) if k else np.nan
        nothing = float("nan")
        return Pooled(
            *(alone, nothing, nothing, nothing, nothing, nothing, nothing),
            sites=k,
            scale=scale.name,
        )
    found = clinical("meta_analyze").meta_analysis(
        effect=values[usable],
        variance=standard_errors[usable] ** 2,
        model="random",
        tau2_method="REML",
        ci_method="hartung_knapp",
        confidence_level=LEVEL,
    )
    low, high = _ends((found.ci_low, found.ci_high), scale)
    next_low, next_high = _ends(found.prediction_interval, scale)
    return Pooled(
        estimate=scale.backward(found.estimate),
        low=low,
        high=high,
        prediction_low=next_low,
        prediction_high=next_high,
        tau2=float(found.tau2),
        i2=float(found.i2),
        sites=k,
        scale=scale.name,
    )


def _ends(interval: tuple[float, float] | None, scale: Scale) -> tuple[float, float]:
    if interval is None:
        return np.nan, np.nan
    ends = scale.backward(interval[0]), scale.backward(interval[1])
    return min(ends), max(ends)
