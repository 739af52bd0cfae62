"""All statistics of one site, from its outcomes and its predictions."""

import numpy as np
from scipy.optimize import brentq

from dapdag.evaluate.clinical.calibration import in_the_large, observed_to_expected, slope
from dapdag.evaluate.clinical.estimates import (
    BINARY,
    STATISTICS,
    Array,
    Estimate,
    Influence,
    Z,
    statistics_of,
    undefined,
)
from dapdag.evaluate.clinical.influences import c_statistic, influence_of, net_benefit


def site_statistics(y: Array, p: Array, task: str, threshold: float) -> dict[str, Estimate]:
    """Every statistic of the task.

    Parameters
    ----------
    y : outcomes; of classes 1 for the event and 0 otherwise.
    p : predictions; of classes the probability of the event.
    threshold : probability from which one would treat, for the net benefit.
    """
    binary = task == BINARY
    found = {}
    for name in statistics_of(task):
        why = _no_reason(y, name)
        found[name] = undefined(why) if why else _statistic(name, y, p, binary, threshold)
    return found


def paired_difference(
    name: str, y: Array, p: Array, reference: Array, threshold: float
) -> Estimate:
    """Statistic of one method less that of another on the same rows, on its own units.

    The standard error is of pairs: rows' contributions are subtracted before their variance is
    taken (for the c-statistic, DeLong's test for correlated curves).
    """
    why = _no_reason(y, name)
    if why:
        return undefined(why)
    contribution = influence_of(name, threshold)
    found = contribution(y, p).minus(contribution(y, reference))
    return Estimate(found.value, found.standard_error())


def _no_reason(y: Array, name: str) -> str:
    """Why the outcomes do not allow a statistic; empty where they do."""
    if len(y) < 2:
        return "fewer than two rows have a label"
    if name in ("oe_ratio", "brier", "log_loss", "net_benefit", "rmse"):
        return ""
    if np.ptp(y) == 0:
        return "the outcome is the same in all rows"
    return ""


def _statistic(name: str, y: Array, p: Array, binary: bool, threshold: float) -> Estimate:
    if name == "oe_ratio":
        return observed_to_expected(y, p)
    if name == "calibration_in_the_large":
        return in_the_large(y, p, binary)
    if name == "calibration_slope":
        return slope(y, p, binary)
    if name == "c_statistic":
        return _concordance(y, p)
    if name == "net_benefit":
        return _benefit(y, p, threshold)
    return _from_influence(name, influence_of(name, threshold)(y, p))


def _from_influence(name: str, found: Influence) -> Estimate:
    scale = STATISTICS[name].scale
    if scale.name != "identity" and found.value == (1.0 if scale.name == "log(1 − x)" else 0.0):
        return Estimate(found.value, note="the predictions are exact")
    return Estimate(found.value, found.standard_error() * abs(scale.slope(found.value)))


def _benefit(y: Array, p: Array, threshold: float) -> Estimate:
    """Net benefit; where all rows contribute the same, the standard error is that of half a row."""
    found = net_benefit(y, p, threshold)
    error = found.standard_error()
    if error > 0:
        return Estimate(found.value, error)
    largest = max(1.0, threshold / (1 - threshold))
    note = "all rows count alike: the standard error is that of half a row"
    return Estimate(found.value, largest * float(np.sqrt(0.5)) / len(y), note)


def _concordance(y: Array, p: Array) -> Estimate:
    """c-statistic with DeLong's standard error on the logit scale.

    Where events and non-events do not overlap, that error is 0, and with one event there is none.
    Then half a pair counts as discordant at least, and the interval reaches to the limit of
    Newcombe's method 5 (2006): the c-statistic that is 1.96 of its own standard errors away.
    """
    if np.ptp(p) == 0:
        return Estimate(0.5, note="all predictions are equal")
    found, scale = c_statistic(y, p), STATISTICS["c_statistic"].scale
    error = found.standard_error()
    if error > 0 and 0 < found.value < 1:
        return Estimate(found.value, error * scale.slope(found.value))
    events = int(y.sum())
    others = len(y) - events
    half = 0.5 / (events * others)
    c = min(max(found.value, half), 1 - half)
    error = abs(scale.forward(c) - scale.forward(_far_limit(found.value, events, others))) / Z
    note = "events and non-events do not overlap: half a pair corrected"
    if c == found.value:
        note = "one row only has the event, or has it not: Newcombe's standard error"
    return Estimate(found.value, error, note, c)


def _far_limit(c: float, events: int, others: int) -> float:
    """The limit of Newcombe's interval on the side of 0.5 from a c-statistic of 1 or 0."""
    if c < 0.5:
        return 1 - _far_limit(1 - c, events, others)
    return float(brentq(lambda x: c - x - Z * newcombe(x, events, others), 1e-9, c - 1e-12))


def newcombe(c: float, events: int, others: int) -> float:
    """Standard error of a c-statistic from the numbers of events and non-events alone.

    With m* = n* = (events + non-events)/2 − 1 (Newcombe 2006, method 4):

        c (1 − c) (1 + n* (1 − c)/(2 − c) + m* c/(1 + c)) / (events · non-events)
    """
    star = (events + others) / 2 - 1
    spread = 1 + star * (1 - c) / (2 - c) + star * c / (1 + c)
    return float(np.sqrt(c * (1 - c) * spread / (events * others)))
