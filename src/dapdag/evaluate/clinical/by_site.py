"""From outcomes and predictions to statistics by site."""

from typing import Any

import numpy as np
import pandas as pd

from dapdag.evaluate.clinical.estimates import BINARY, STATISTICS
from dapdag.evaluate.clinical.site import site_statistics
from dapdag.evaluate.clinical.validation import KEYS, Validation, row_of


def validation_of(
    outcomes: pd.DataFrame,
    task: str,
    name: str,
    event: Any = None,
    threshold: float | None = None,
) -> Validation:
    """Statistics of every site and method from the columns target, method, y and p."""
    threshold = _threshold(outcomes, task, threshold)
    rows = []
    for (target, method), part in outcomes.groupby(KEYS, sort=False):
        y, p = (part[c].to_numpy(dtype=np.float64) for c in ("y", "p"))
        common = {
            "target": target,
            "method": method,
            "rows": len(y),
            "events": int(y.sum()) if task == BINARY else pd.NA,
        }
        for statistic, found in site_statistics(y, p, task, threshold).items():
            scale = STATISTICS[statistic].scale
            rows.append({**common, "statistic": statistic, **row_of(found, scale)})
    return Validation(
        task=task,
        name=name,
        methods=tuple(dict.fromkeys(outcomes["method"])),
        targets=tuple(dict.fromkeys(outcomes["target"])),
        event=event,
        threshold=threshold,
        sites=pd.DataFrame(rows).astype({"events": "Int64"}),
        outcomes=outcomes,
    )


def _threshold(outcomes: pd.DataFrame, task: str, given: float | None) -> float:
    """The threshold asked for, or the share of events among all rows, in whole per cent."""
    if task != BINARY:
        return np.nan
    if given is None:
        one = outcomes[outcomes["method"] == outcomes["method"].iloc[0]]
        return usual_threshold(float(one["y"].mean()))
    if not 0 < given < 1:
        raise ValueError(f"threshold must lie between 0 and 1, got {given!r}")
    return float(given)


def usual_threshold(share: float) -> float:
    """A share of events in whole per cent, neither none nor all."""
    return float(np.clip(round(share, 2), 0.01, 0.99))
