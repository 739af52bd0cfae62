"""Calibration of one site: regressions of the outcome on the prediction, and a smooth curve."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dapdag.evaluate.clinical.estimates import Array, Estimate, undefined
from dapdag.evaluate.clinical.extra import clinical

# Predictions of exactly 0 or 1 have no logit.
SMALLEST = 1e-8
# Quantiles of the prediction at which the curve has knots (Harrell 2015, table 2.3), by how many
# rows of the rarer outcome there are; with fewer rows it is a line.
KNOTS = {
    25: (0.10, 0.50, 0.90),
    100: (0.05, 0.35, 0.65, 0.95),
    500: (0.05, 0.275, 0.50, 0.725, 0.95),
}
# The curve is drawn where 98 % of the predictions lie.
SHOWN = (0.01, 0.99)
POINTS = 61


def logit(p: Array) -> Array:
    kept = np.clip(p, SMALLEST, 1 - SMALLEST)
    return np.log(kept / (1 - kept))


def in_the_large(y: Array, p: Array, binary: bool) -> Estimate:
    """Intercept at slope 1: log odds ratio of outcome and prediction, or mean error of a number."""
    ones = np.ones((len(y), 1))
    if binary:
        return _coefficient(lambda: _binomial(y, ones, logit(p)), 0)
    return _coefficient(lambda: clinical("statsmodels.api").OLS(y - p, ones).fit(), 0)


def slope(y: Array, p: Array, binary: bool) -> Estimate:
    """Coefficient of the prediction (of its logit); below 1 where predictions are too extreme."""
    x = logit(p) if binary else p
    if np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max())):
        return undefined("all predictions are equal")
    design = np.column_stack([np.ones(len(y)), x])
    if binary:
        return _coefficient(lambda: _binomial(y, design), 1)
    return _coefficient(lambda: clinical("statsmodels.api").OLS(y, design).fit(), 1)


def observed_to_expected(y: Array, p: Array) -> Estimate:
    """Events over the sum of predictions; binomial standard error of its logarithm.

    Where no row or every row has the event, half an event is added or taken for the analysis.
    """
    n, events, expected = len(y), float(y.sum()), float(p.sum())
    if expected <= 0:
        return undefined("no event is expected")
    counted = min(max(events, 0.5), n - 0.5)
    error = float(np.sqrt((1 - counted / n) / counted))
    if counted == events:
        return Estimate(events / expected, error)
    note = "no row has the event" if events == 0 else "every row has the event"
    return Estimate(events / expected, error, f"{note}: half a row corrected", counted / expected)


def calibration_curve(y: Array, p: Array, binary: bool) -> pd.DataFrame:
    """Flexible calibration curve: outcome against prediction as a natural cubic spline.

    Columns predicted, observed, and the pointwise 95 % confidence band low, high. The spline is of
    the prediction's logit for an event, with 3 to 5 knots; with fewer than 25 rows of the rarer
    outcome it is a line.
    """
    rarer = int(min(y.sum(), len(y) - y.sum())) if binary else len(y)
    if rarer < 2 or np.ptp(p) == 0:
        why = "all predictions are equal" if np.ptp(p) == 0 else "too few rows have the outcome"
        raise ValueError(f"there is no calibration curve: {why}")
    x = logit(p) if binary else p
    basis = _spline(x, rarer)
    first, last = np.quantile(p, SHOWN)
    grid = np.linspace(first, last, POINTS)
    at = basis(logit(grid) if binary else grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if binary:
            # The band is that of the linear predictor, so that it stays between 0 and 1.
            found = _binomial(y, basis(x))
        else:
            found = clinical("statsmodels.api").OLS(y, basis(x)).fit()
        band = found.get_prediction(at).summary_frame()
    columns = ["mean", "mean_ci_lower", "mean_ci_upper"]
    observed, low, high = band[columns].to_numpy(dtype=np.float64).T
    return pd.DataFrame({"predicted": grid, "observed": observed, "low": low, "high": high})


def _spline(x: Array, rarer: int) -> Callable[[Array], Array]:
    """Function that gives the columns of the regression: a natural spline, or a line."""
    quantiles = [knots for fewest, knots in KNOTS.items() if rarer >= fewest]
    places = np.unique(np.quantile(x, quantiles[-1])) if quantiles else np.empty(0)
    if len(places) < 3:
        return lambda z: np.column_stack([np.ones(len(z)), z])
    cr = clinical("patsy").cr
    inner, ends = places[1:-1], (places[0], places[-1])
    return lambda z: np.asarray(
        cr(z, knots=inner, lower_bound=ends[0], upper_bound=ends[1]), dtype=np.float64
    )


def _binomial(y: Array, design: Array, offset: Array | None = None) -> Any:
    sm = clinical("statsmodels.api")
    return sm.GLM(y, design, family=sm.families.Binomial(), offset=offset).fit()


def _coefficient(fit: Callable[[], Any], position: int) -> Estimate:
    """A coefficient and its standard error; a regression without a finite solution has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = fit()
        except (Warning, ArithmeticError, np.linalg.LinAlgError):
            return undefined("the regression has no finite solution")
    value, error = float(found.params[position]), float(found.bse[position])
    if not np.isfinite([value, error]).all():
        return undefined("the regression has no finite solution")
    return Estimate(value, error)
