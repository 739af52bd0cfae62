"""A validation as rows of an assessment, which a model keeps: no row of a site among them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dapdag.evaluate.clinical.calibration import calibration_curve
from dapdag.evaluate.clinical.decision import decision_curve
from dapdag.evaluate.clinical.estimates import BINARY
from dapdag.evaluate.clinical.validation import Validation, pooled_over_sites

# What a row of an assessment is; rows of scores alone have no such column.
PART = "part"
SCORE, STATISTIC, EVENT, CALIBRATION, DECISION = (
    *("score", "statistic", "event"),
    *("calibration curve", "decision curve"),
)


@dataclass(frozen=True, eq=False)
class Assessed:
    """What an assessment says of the left-out sites.

    `calibration` and `decision` are curves over the rows of all left-out sites together, of the
    model's own method, and None where they cannot be drawn.
    """

    task: str
    event: str | None
    threshold: float
    methods: tuple[str, ...]
    sites: pd.DataFrame
    summary: pd.DataFrame
    calibration: pd.DataFrame | None
    decision: pd.DataFrame | None

    def of(self, method: str, statistic: str) -> pd.DataFrame:
        """Sites' rows of one method and statistic, by target."""
        chosen = (self.sites["method"] == method) & (self.sites["statistic"] == statistic)
        return self.sites[chosen].set_index("target")


def to_rows(scores: pd.DataFrame, validation: Validation, method: str) -> pd.DataFrame:
    """Scores, statistics of all sites and methods, and the curves of one method."""
    sites = validation.sites.rename(columns={"statistic": "metric", "estimate": "value"})
    about = pd.DataFrame(
        {
            "method": [method],
            "metric": [validation.task],
            "value": [validation.threshold],
            "note": [validation.event],
        }
    )
    parts = {SCORE: scores, STATISTIC: sites, EVENT: about, **_curves(validation, method)}
    named = [part.assign(**{PART: name}).astype(object) for name, part in parts.items()]
    table = pd.concat(named, ignore_index=True)
    return table.where(table.notna(), None)


def _curves(validation: Validation, method: str) -> dict[str, pd.DataFrame]:
    rows = validation.outcomes[validation.outcomes["method"] == method]
    y, p = (rows[c].to_numpy(dtype=np.float64) for c in ("y", "p"))
    if np.ptp(y) == 0 or np.ptp(p) == 0:
        return {}
    binary = validation.task == BINARY
    curve = calibration_curve(y, p, binary).rename(columns={"predicted": "at"})
    found = {CALIBRATION: curve.rename(columns={"observed": "value"})}
    if binary:
        curve = decision_curve(y, p).drop(columns="treat_none").rename(columns={"threshold": "at"})
        found[DECISION] = curve.rename(columns={"net_benefit": "value"})
    return {name: part.assign(method=method, metric=name) for name, part in found.items()}


def score_rows(assessment: pd.DataFrame | None) -> pd.DataFrame | None:
    """The scores of an assessment, without what `to_rows` added."""
    if assessment is None or PART not in assessment:
        return assessment
    scores = assessment[assessment[PART] == SCORE].dropna(axis=1, how="all")
    numeric = ("value", "seconds", "outside", "env_distance")
    kept = {c: np.float64 for c in numeric if c in scores}
    return scores.drop(columns=PART).astype(kept).reset_index(drop=True)


def from_assessment(assessment: pd.DataFrame | None) -> Assessed | None:
    """What `to_rows` wrote; None where there is none."""
    if assessment is None or PART not in assessment:
        return None
    parts: dict[str, Any] = {str(k): part for k, part in assessment.groupby(PART, sort=False)}
    if STATISTIC not in parts or EVENT not in parts:
        return None
    numbers = ["estimate", "low", "high", "standard_error", "transformed"]
    sites = parts[STATISTIC].rename(columns={"metric": "statistic", "value": "estimate"})
    sites = sites.astype(dict.fromkeys(numbers, np.float64)).astype({"events": "Int64"})
    about = parts[EVENT].iloc[0]
    return Assessed(
        task=str(about["metric"]),
        event=None if pd.isna(about["note"]) else str(about["note"]),
        threshold=float("nan") if pd.isna(about["value"]) else float(about["value"]),
        methods=tuple(dict.fromkeys(sites["method"])),
        sites=sites.reset_index(drop=True),
        summary=pooled_over_sites(sites),
        calibration=_curve(parts.get(CALIBRATION), {"at": "predicted", "value": "observed"}),
        decision=_curve(parts.get(DECISION), {"at": "threshold", "value": "net_benefit"}),
    )


def _curve(rows: pd.DataFrame | None, names: dict[str, str]) -> pd.DataFrame | None:
    if rows is None:
        return None
    known = [c for c in ("at", "value", "low", "high", "treat_all") if c in rows]
    wanted = [c for c in known if rows[c].notna().all()]
    return rows[wanted].astype(np.float64).rename(columns=names).reset_index(drop=True)
