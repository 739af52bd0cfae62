"""Decision curves: net benefit of treating by a prediction, over thresholds."""

import numpy as np
import pandas as pd

from dapdag.evaluate.clinical.estimates import Array, Z
from dapdag.evaluate.clinical.extra import clinical
from dapdag.evaluate.clinical.influences import net_benefit

THRESHOLDS = tuple(np.arange(1, 100) / 100)


def decision_curve(y: Array, p: Array, thresholds: tuple[float, ...] = THRESHOLDS) -> pd.DataFrame:
    """Net benefit at each threshold, with its 95 % confidence interval.

    Columns threshold, net_benefit, low, high, treat_all and treat_none, per row of the table: 0.05
    is worth five true positives per 100 rows without a false one.
    """
    if np.ptp(y) == 0:
        raise ValueError("there is no decision curve: the outcome is the same in all rows")
    found = clinical("dcurves").dca(
        data=pd.DataFrame({"outcome": y.astype(int), "model": p}),
        outcome="outcome",
        modelnames=["model"],
        thresholds=list(thresholds),
    )
    wide = found.pivot_table(index="threshold", columns="model", values="net_benefit")
    errors = np.array([net_benefit(y, p, t).standard_error() for t in thresholds])
    model = wide["model"].to_numpy(dtype=np.float64)
    return pd.DataFrame(
        {
            "threshold": thresholds,
            "net_benefit": model,
            "low": model - Z * errors,
            "high": model + Z * errors,
            "treat_all": wide["all"].to_numpy(dtype=np.float64),
            "treat_none": wide["none"].to_numpy(dtype=np.float64),
        }
    )


def useful_thresholds(curve: pd.DataFrame) -> tuple[float, float] | None:
    """The longest range of thresholds at which the model beats treating all and treating none.

    A single threshold between others is no range.
    """
    best = curve[["treat_all", "treat_none"]].max(axis=1)
    better = (curve["net_benefit"] > best + 1e-12).to_numpy()
    thresholds = curve["threshold"].to_numpy(dtype=np.float64)
    starts = np.flatnonzero(better & ~np.concatenate([[False], better[:-1]]))
    ends = np.flatnonzero(better & ~np.concatenate([better[1:], [False]]))
    if not (starts < ends).any():
        return None
    longest = int(np.argmax(thresholds[ends] - thresholds[starts]))
    return float(thresholds[starts[longest]]), float(thresholds[ends[longest]])
