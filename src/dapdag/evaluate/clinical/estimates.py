"""A statistic with its standard error, and the catalogue of all statistics."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dapdag.evaluate.clinical.scales import SCALES, Scale

Array = NDArray[np.float64]
LEVEL = 0.95
Z = float(norm.ppf((1 + LEVEL) / 2))


@dataclass(frozen=True)
class Statistic:
    """What a statistic is called, where it should be, and on which scale it is pooled.

    Attributes
    ----------
    title : str
        Name in tables and figures.
    short : str
        Name in narrow tables.
    tasks : tuple of str
        Tasks that it belongs to.
    scale : Scale
        On which it is pooled.
    goal : float, "high" or "low"
        Where it should be.
    difference : bool
        Methods are compared by their difference in it.
    """

    title: str
    short: str
    tasks: tuple[str, ...]
    scale: Scale
    goal: float | Literal["high", "low"]
    difference: bool = False  # methods are compared by their difference in it

    @property
    def aim(self) -> str:
        """Where it should be, in words."""
        if isinstance(self.goal, str):
            return f"{self.goal} is good"
        return f"best at {self.goal:g}"

    @property
    def null(self) -> float | None:
        """The value that a forest plot marks: where a model is right on average, or a coin."""
        if not isinstance(self.goal, str):
            return self.goal
        return {"logit": 0.5, "log(1 − x)": 0.0}.get(self.scale.name)

    @property
    def is_ratio(self) -> bool:
        """Whether it is drawn on a logarithmic axis: half and twice as much are as far from 1."""
        return self.goal == 1.0 and self.scale.name == "log"


BINARY, NUMBERS = "classification", "regression"
_IDENTITY, _LOG = SCALES["identity"], SCALES["log"]
STATISTICS = {
    "c_statistic": Statistic(
        "c-statistic (AUC)", "c-statistic", (BINARY,), SCALES["logit"], "high", True
    ),
    "r2": Statistic("R²", "R²", (NUMBERS,), SCALES["log(1 − x)"], "high", True),
    "rmse": Statistic("RMSE", "RMSE", (NUMBERS,), _LOG, "low", True),
    "oe_ratio": Statistic("observed : expected events", "O:E", (BINARY,), _LOG, 1.0),
    "calibration_in_the_large": Statistic(
        "calibration in the large", "intercept", (BINARY, NUMBERS), _IDENTITY, 0.0
    ),
    "calibration_slope": Statistic("calibration slope", "slope", (BINARY, NUMBERS), _IDENTITY, 1.0),
    "brier": Statistic("Brier score", "Brier", (BINARY,), _LOG, "low", True),
    "scaled_brier": Statistic(
        "scaled Brier score", "scaled Brier", (BINARY,), SCALES["log(1 − x)"], "high", True
    ),
    "log_loss": Statistic("log-loss", "log-loss", (BINARY,), _LOG, "low", True),
    "net_benefit": Statistic("net benefit", "net benefit", (BINARY,), _IDENTITY, "high", True),
}


def statistics_of(task: str) -> list[str]:
    """Names of the task's statistics."""
    return [name for name, statistic in STATISTICS.items() if task in statistic.tasks]


@dataclass(frozen=True)
class Estimate:
    """A statistic of one site.

    Attributes
    ----------
    value : NaN where it cannot be computed.
    standard_error : on the statistic's scale of analysis; NaN where there is none.
    note : why something is missing, or how a limiting case was treated.
    at : what stands for the value on the scale of analysis, where the value itself is at its limit.
    """

    value: float
    standard_error: float = np.nan
    note: str = ""
    at: float | None = None

    def transformed(self, scale: Scale) -> float:
        """The value on the scale of analysis; NaN where it has no standard error."""
        if not self.standard_error > 0:
            return np.nan
        return scale.forward(self.value if self.at is None else self.at)

    def interval(self, scale: Scale) -> tuple[float, float]:
        centre = self.transformed(scale)
        if np.isnan(centre):
            return np.nan, np.nan
        low, high = scale.interval(centre, Z * self.standard_error)
        return min(low, self.value), max(high, self.value)


def undefined(note: str) -> Estimate:
    return Estimate(np.nan, note=note)


@dataclass(frozen=True, eq=False)
class Influence:
    """A statistic and what each row contributes to it.

    Its variance is the sum over `parts` of the variance of the rows' contributions, divided by
    their number; so is that of the difference of two statistics of the same rows, from the
    differences of the contributions.
    """

    value: float
    parts: tuple[Array, ...]

    def standard_error(self) -> float:
        if min(map(len, self.parts)) < 2:
            return np.nan
        return float(np.sqrt(sum(part.var(ddof=1) / len(part) for part in self.parts)))

    def minus(self, other: "Influence") -> "Influence":
        parts = tuple(a - b for a, b in zip(self.parts, other.parts, strict=True))
        return Influence(self.value - other.value, parts)
