"""Is a model better than what anyone could do without it? Judged on sites that were left out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as t_distribution

from .._runtime.text import fixed, plural
from ..evaluate.references import CONSTANT, REGRESSION

OWN = "dapdag"
CONFIDENCE = 0.95
# The loss by which methods are compared, and its name in a sentence.
LOSSES = {"log_loss": "log-loss", "rmse": "RMSE"}
REFERENCES = {
    CONSTANT["classification"]: "the share of events at the other sites, given to everyone",
    CONSTANT["regression"]: "the mean of the other sites, given to everyone",
    REGRESSION: "a regression without adaptation",
}


@dataclass(frozen=True)
class Comparison:
    """Mean difference of the loss, ours less the reference's, over sites that were left out."""

    reference: str
    ours: float
    theirs: float
    low: float  # 95 % confidence interval of the difference; NaN for fewer than two sites
    high: float
    sites: int

    @property
    def difference(self) -> float:
        return self.ours - self.theirs

    @property
    def better(self) -> bool:
        return self.high < 0

    @property
    def worse(self) -> bool:
        return self.low > 0


@dataclass(frozen=True)
class Verdict:
    """The comparisons by one loss, and what follows from them."""

    loss: str
    comparisons: tuple[Comparison, ...]

    @property
    def is_good(self) -> bool:
        """Better than every reference that is a constant, and not worse than any other."""
        constant = [c for c in self.comparisons if c.reference in CONSTANT.values()]
        return all(c.better for c in constant) and not any(c.worse for c in self.comparisons)

    def sentences(self) -> list[str]:
        """One for each reference, with figures."""
        return [_sentence(self.loss, c) for c in self.comparisons]


def verdict_of(assessment: pd.DataFrame | None) -> Verdict | None:
    """The verdict by the scores of `leave_one_domain_out`; None without references."""
    if assessment is None or not len(assessment):
        return None
    methods = list(dict.fromkeys(assessment["method"]))
    own = OWN if OWN in methods else methods[0]
    for loss in LOSSES:
        scores = assessment[assessment["metric"] == loss]
        wide = scores.pivot_table("value", index="target", columns="method", aggfunc="mean")
        if own not in wide:
            continue
        known = [name for name in REFERENCES if name in wide and name != own]
        found = [_compared(wide[[own, name]].dropna(), name) for name in known]
        found = [comparison for comparison in found if comparison.sites]
        return Verdict(loss, tuple(found)) if found else None
    return None


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Plain values."""
    return {
        "loss": verdict.loss,
        "better_than_constant": verdict.is_good,
        "comparisons": [
            {
                "reference": c.reference,
                "ours": c.ours,
                "theirs": c.theirs,
                "low": None if np.isnan(c.low) else c.low,
                "high": None if np.isnan(c.high) else c.high,
                "sites": c.sites,
            }
            for c in verdict.comparisons
        ],
    }


def _compared(pairs: pd.DataFrame, reference: str) -> Comparison:
    """Sites are the unit: their differences have a t-interval."""
    values = pairs.to_numpy(dtype=float)
    n = len(values)
    if not n:
        return Comparison(reference, np.nan, np.nan, np.nan, np.nan, 0)
    gap = values[:, 0] - values[:, 1]
    half = np.nan
    if n > 1:
        quantile = float(t_distribution.ppf(0.5 + CONFIDENCE / 2, n - 1))
        half = quantile * float(gap.std(ddof=1)) / np.sqrt(n)
    ours, theirs = values.mean(0)
    return Comparison(
        reference, float(ours), float(theirs), float(gap.mean() - half), float(gap.mean() + half), n
    )


def _sentence(loss: str, c: Comparison) -> str:
    than = REFERENCES[c.reference]
    if c.better:
        word = "better than"
    elif c.worse:
        word = "worse than"
    else:
        word = "no better than" if c.difference >= 0 else "not clearly better than"
    interval = ""
    if not np.isnan(c.low):
        interval = f", 95 % confidence interval {_number(c.low)} to {_number(c.high)}"
    return (
        f"Over {plural(c.sites, 'site')} that were left out, the model is {word} {than}: "
        f"{LOSSES[loss]} {_number(c.ours)} against {_number(c.theirs)} (difference "
        f"{_number(c.difference)}{interval})."
    )


def _number(value: float) -> str:
    size = abs(value)
    return fixed(value, 3) if size < 10 else fixed(value, 1) if size < 1000 else f"{value:,.0f}"
