"""Validation of predictions at several sites: statistics by site, pooled, and compared."""

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from dapdag.evaluate.clinical.calibration import calibration_curve
from dapdag.evaluate.clinical.decision import THRESHOLDS, decision_curve
from dapdag.evaluate.clinical.estimates import (
    BINARY,
    STATISTICS,
    Array,
    Estimate,
    statistics_of,
)
from dapdag.evaluate.clinical.pooling import pool
from dapdag.evaluate.clinical.scales import SCALES, Scale
from dapdag.evaluate.clinical.site import paired_difference

KEYS = ["target", "method"]


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """How well methods predict each site that they did not learn from.

    Attributes
    ----------
    task : str
        "regression" or "classification".
    name : str
        Name of the data.
    methods : tuple of str
        Names of the methods.
    targets : tuple
        Labels of the sites.
    event : class label or None
        The class whose probability is validated; None for numbers.
    threshold : float
        Probability from which one would treat, at which the net benefit is computed.
    sites : DataFrame
        One row per target, method and statistic: estimate, low and high (95 % confidence interval),
        standard_error (on the scale of analysis), rows, events, note.
    outcomes : DataFrame
        One row per labelled row of a target and method: outcome and prediction.
    """

    task: str
    name: str
    methods: tuple[str, ...]
    targets: tuple[Hashable, ...]
    event: Any
    threshold: float
    sites: pd.DataFrame
    outcomes: pd.DataFrame  # target, method, y, p: every labelled row

    @property
    def statistics(self) -> list[str]:
        """Names of the statistics of the task, in the order of the tables.

        Returns
        -------
        list of str
            Names in `STATISTICS`.
        """
        return statistics_of(self.task)

    def summary(self) -> pd.DataFrame:
        """Random-effects meta-analysis over sites.

        Returns
        -------
        DataFrame
            One row per method and statistic. Columns estimate, low, high; prediction_low and
            prediction_high, the 95 % prediction interval for the next site; tau2 and i2; sites, how
            many entered.
        """
        return pooled_over_sites(self.sites)

    def table(self) -> pd.DataFrame:
        """`sites` and, below, the targets "all sites" and "next site", for files.

        The row of all sites has the random-effects mean with its confidence interval, tau2 and i2;
        that of the next site has the 95 % prediction interval in low and high.

        Returns
        -------
        DataFrame
            One row per target, method and statistic.
        """
        pooled = self.summary().reset_index()
        sites = self.sites.drop(columns="transformed")
        mean = pooled[["method", "statistic", "estimate", "low", "high", "tau2", "i2"]]
        following = pooled[["method", "statistic", "prediction_low", "prediction_high"]]
        following = following.rename(columns={"prediction_low": "low", "prediction_high": "high"})
        parts = [sites, mean.assign(target="all sites"), following.assign(target="next site")]
        return pd.concat(parts, ignore_index=True).astype({"rows": "Int64"})

    def differences(self, reference: str) -> pd.DataFrame:
        """Each other method less the reference, by site and pooled, from pairs of rows.

        One row per method, statistic and target, and one whose target is "all sites" (the
        random-effects mean). Columns difference, low, high, standard_error, and better: whether the
        interval excludes 0 on the method's side (True), on the other (False), or not (None).

        Parameters
        ----------
        reference : str
            Name of the method to compare with.

        Returns
        -------
        DataFrame
            One row per method, statistic and target.
        """
        self._known(reference, self.methods, "reference")
        others = [m for m in self.methods if m != reference]
        compared = [s for s in self.statistics if STATISTICS[s].difference]
        rows = []
        for method in others:
            for statistic in compared:
                found = self._paired(method, reference, statistic)
                rows += [
                    {"method": method, "statistic": statistic, **row, **_better(statistic, row)}
                    for row in found
                ]
        return pd.DataFrame(rows)

    def calibration_curve(self, target: Hashable, method: str | None = None) -> pd.DataFrame:
        """Flexible calibration curve of one site.

        Parameters
        ----------
        target : hashable
            Label of a site.
        method : str, optional
            Name of a method. By default the last one.

        Returns
        -------
        DataFrame
            Columns predicted, observed, low, high.
        """
        y, p = self.rows_of(target, method)
        return calibration_curve(y, p, self.task == BINARY)

    def decision_curve(
        self,
        target: Hashable,
        method: str | None = None,
        thresholds: tuple[float, ...] = THRESHOLDS,
    ) -> pd.DataFrame:
        """Net benefit of one site over thresholds, with 95 % confidence intervals.

        Parameters
        ----------
        target : hashable
            Label of a site.
        method : str, optional
            Name of a method. By default the last one.
        thresholds : tuple of float, optional
            Probabilities from which one would treat. By default 0.01 to 0.99.

        Returns
        -------
        DataFrame
            One row per threshold.
        """
        if self.task != BINARY:
            raise ValueError("a decision curve is for events, not for numbers")
        y, p = self.rows_of(target, method)
        return decision_curve(y, p, thresholds)

    def best(self) -> str:
        """The method that tables and figures show where none is named: the last one.

        Returns
        -------
        str
            Its name.
        """
        return self.methods[-1]

    def of(self, method: str, statistic: str) -> pd.DataFrame:
        """Rows of `sites` of one method and statistic, by target.

        Parameters
        ----------
        method : str
            Name of a method. By default the last one.
        statistic : str
            Name in `STATISTICS`.

        Returns
        -------
        DataFrame
            One row per target.
        """
        self._known(method, self.methods, "method")
        self._known(statistic, self.statistics, "statistic")
        chosen = (self.sites["method"] == method) & (self.sites["statistic"] == statistic)
        return self.sites[chosen].set_index("target")

    def _paired(self, method: str, reference: str, statistic: str) -> list[dict[str, Any]]:
        rows, identity = [], SCALES["identity"]
        for target in self.targets:
            y, p = self.rows_of(target, method)
            _, other = self.rows_of(target, reference)
            if not len(p) or not len(other):
                continue
            found = paired_difference(statistic, y, p, other, self.threshold)
            rows.append(row_of(found, identity) | {"target": target})
        pooled = _pooled(pd.DataFrame(rows), identity) if rows else {}
        rows.append({"target": "all sites", **{k: pooled.get(k, np.nan) for k in _SHOWN}})
        return [
            {
                "target": row["target"],
                "difference": row["estimate"],
                "low": row["low"],
                "high": row["high"],
                "standard_error": row.get("standard_error", np.nan),
            }
            for row in rows
        ]

    def rows_of(self, target: Hashable, method: str | None = None) -> tuple[Array, Array]:
        """Outcomes and predictions of one site by one method.

        Parameters
        ----------
        target : hashable
            Label of a site.
        method : str, optional
            Name of a method. By default the last one.

        Returns
        -------
        array of shape (rows,)
            Outcomes.
        array of shape (rows,)
            Predictions.
        """
        method = self.best() if method is None else method
        self._known(method, self.methods, "method")
        self._known(target, self.targets, "site")
        part = self.outcomes[
            (self.outcomes["target"] == target) & (self.outcomes["method"] == method)
        ]
        return part["y"].to_numpy(dtype=np.float64), part["p"].to_numpy(dtype=np.float64)

    def _known(self, name: Any, known: Any, what: str) -> None:
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}: there are {list(known)}")

    def __repr__(self) -> str:
        what = f" of {self.event!r}" if self.event is not None else ""
        return (
            f"Validation({self.name!r}, {self.task}{what}, {len(self.targets)} sites, "
            f"methods: {', '.join(self.methods)})"
        )


_SHOWN = ("estimate", "low", "high")


def pooled_over_sites(sites: pd.DataFrame) -> pd.DataFrame:
    """Random-effects means of statistics by site, one row per method and statistic."""
    rows = []
    for (method, statistic), part in sites.groupby(["method", "statistic"], sort=False):
        scale = STATISTICS[str(statistic)].scale
        rows.append({"method": method, "statistic": statistic, **_pooled(part, scale)})
    return pd.DataFrame(rows).set_index(["method", "statistic"])


def row_of(found: Estimate, scale: Scale) -> dict[str, Any]:
    low, high = found.interval(scale)
    return {
        "estimate": found.value,
        "low": low,
        "high": high,
        "standard_error": found.standard_error,
        "transformed": found.transformed(scale),
        "note": found.note,
    }


def _pooled(part: pd.DataFrame, scale: Scale) -> dict[str, Any]:
    values, errors = (part[c].to_numpy(dtype=np.float64) for c in ("transformed", "standard_error"))
    found = asdict(pool(values, errors, scale))
    if not found["sites"] and part["estimate"].notna().all() and part["estimate"].nunique() == 1:
        # The same at every site by definition, such as the c-statistic of equal predictions.
        found["estimate"] = float(part["estimate"].iloc[0])
    return found


def _better(statistic: str, row: dict[str, Any]) -> dict[str, bool | None]:
    sign = 1 if STATISTICS[statistic].goal == "high" else -1
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return {"better": True if low > 0 else False if high < 0 else None}
