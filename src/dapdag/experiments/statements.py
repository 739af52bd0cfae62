"""The paper's statements as numbers: an effect, its standard error, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from ..evaluate.metrics import WORST_R2, lower_is_better, metric_title

CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class Statement:
    """A claim, and an effect that is positive where the claim is true."""

    claim: str
    effect: float
    error: float
    n: int
    unit: str

    @property
    def verdict(self) -> str:
        if not np.isfinite(self.error):
            return "not measured"
        if self.effect > CLEAR * self.error:
            return "holds"
        return "does not hold" if self.effect < -CLEAR * self.error else "not resolved"

    def as_row(self) -> str:
        number = "–"
        if np.isfinite(self.error):
            number = f"{self.effect:+.3g} ± {self.error:.2g} {self.unit}".rstrip()
        return f"| {self.claim} | {number} | {self.n} | {self.verdict} |"


def per_seed(rows: pd.DataFrame, metric: str, method: str, by: Sequence[str] = ()) -> pd.Series:
    """A method's value of each seed, averaged over the settings not named in `by`."""
    part = rows[(rows["metric"] == metric) & (rows["method"] == method)]
    if metric == "r2":
        part = part.assign(value=part["value"].clip(lower=WORST_R2))
    return part.groupby([*by, "seed"])["value"].mean()


def better(claim: str, rows: pd.DataFrame, metric: str, winner: str, loser: str) -> Statement:
    """Whether one method beats another on the same seeds."""
    difference = (per_seed(rows, metric, winner) - per_seed(rows, metric, loser)).dropna()
    if lower_is_better(metric):
        difference = -difference
    return mean_effect(claim, difference, metric_title(metric))


def mean_effect(claim: str, values: ArrayLike, unit: str) -> Statement:
    """The mean of independent effects and its standard error."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    n = len(known)
    error = float(known.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Statement(claim, float(known.mean()) if n else np.nan, error, n, unit)


def slope(claim: str, x: ArrayLike, y: ArrayLike, unit: str) -> Statement:
    """Least-squares slope of y on x with its standard error."""
    points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    points = points[np.isfinite(points).all(axis=1)]
    n = len(points)
    if n < 3 or np.ptp(points[:, 0]) == 0:
        return Statement(claim, np.nan, np.nan, n, unit)
    across, up = (points - points.mean(axis=0)).T
    square = (across**2).sum()
    effect = (across * up).sum() / square
    error = np.sqrt(((up - effect * across) ** 2).sum() / (n - 2) / square)
    return Statement(claim, float(effect), float(error), n, unit)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's correlation; NaN where one side does not vary."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(spearmanr(x, y).statistic)
