"""Scales on which a statistic is closer to normal, where its interval is computed and pooled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[[float], float]


@dataclass(frozen=True)
class Scale:
    """A transformation; `slope` is its derivative, for the delta method."""

    name: str
    forward: Function
    backward: Function
    slope: Function

    def interval(self, centre: float, half: float) -> tuple[float, float]:
        """centre ± half, given on the scale, in the statistic's own units, low end first."""
        ends = self.backward(centre - half), self.backward(centre + half)
        return min(ends), max(ends)


def _expit(z: float) -> float:
    return float(1.0 / (1.0 + np.exp(-z)))


SCALES = {
    scale.name: scale
    for scale in (
        Scale("identity", float, float, lambda value: 1.0),
        Scale("log", lambda v: float(np.log(v)), lambda z: float(np.exp(z)), lambda v: 1 / v),
        Scale("logit", lambda c: float(np.log(c / (1 - c))), _expit, lambda c: 1 / (c * (1 - c))),
        # Of shares explained, which have no lower limit: log of the share that is not explained.
        Scale(
            "log(1 − x)",
            lambda r: float(np.log1p(-r)),
            lambda z: float(-np.expm1(z)),
            lambda r: -1 / (1 - r),
        ),
    )
}
