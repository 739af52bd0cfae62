"""What an evaluation found, and the comparisons and tables that come from it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dapdag.evaluate.metrics import METRICS, metrics_of, primary_metric

if TYPE_CHECKING:
    from dapdag.evaluate.clinical.validation import Validation


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Scores of several methods on several targets.

    Attributes
    ----------
    scores : one row per target, replicate, method and metric, with the columns target, replicate,
        method, metric, value, seconds (fit and prediction), outside and env_distance (where the
        method infers E; distance to the nearest source in standard deviations of the sources' E),
        and reason (why a value is missing).
    targets : one row per target: n_rows, missing (share of cells), label_mean, and its distances
        from the sources, smd and sinkhorn.
    predictions : one row per labelled row of a target, replicate and method: target, replicate,
        method, row (position in the data), label, and predicted or probability_CLASS for each
        class.

    Wherever a `metric` can be chosen, None is log-loss for classes and R² for numbers. Missing
    values are left out of means.
    """

    scores: pd.DataFrame
    task: str
    name: str
    methods: tuple[str, ...]
    targets: pd.DataFrame
    predictions: pd.DataFrame = field(default_factory=pd.DataFrame)

    def validation(
        self, event: Any = None, threshold: float | None = None, replicate: int | None = None
    ) -> "Validation":
        """Statistics by site with 95 % confidence intervals, to be pooled over sites and compared.

        Parameters
        ----------
        event : the class whose probability is validated, against all others; by default the
            second of two.
        threshold : probability from which one would treat, for the net benefit; by default the
            share of events, in whole per cent.
        replicate : which replicate's predictions; by default the first.
        """
        from dapdag.evaluate.clinical.outcomes import outcomes_of
        from dapdag.evaluate.clinical.validation import validation_of

        if not len(self.predictions):
            raise ValueError(
                "there are no predictions to validate: no method succeeded, or the runs come from "
                "a file of an earlier version; run them anew with another checkpoint"
            )
        numbers = self.predictions["replicate"]
        chosen = self.predictions[numbers == (numbers.min() if replicate is None else replicate)]
        outcomes, event = outcomes_of(chosen, self.task, event)
        return validation_of(outcomes, self.task, self.name, event, threshold)

    def by_target(self, metric: str | None = None) -> pd.DataFrame:
        """Mean over replicates: one row per target, one column per method."""
        values = self._values(metric).groupby(["target", "method"], sort=False)["value"].mean()
        return self._ordered(values.unstack("method"))

    def sizes_by_target(self, metric: str | None = None) -> pd.DataFrame:
        """`by_target`, without the sign where scores of opposite sign would cancel in a mean."""
        table = self.by_target(metric)
        return table.abs() if METRICS[self._metric(metric)].goal == 0 else table

    def summary(self, statistic: str = "mean") -> pd.DataFrame:
        """Mean (or "median", …) over targets of every metric, one row per method.

        Of the signed calibration error it is the mean of the absolute values, as errors of opposite
        sign would cancel. Also the mean seconds of a run, and in how many runs the method failed.
        """
        columns = {
            metric: self.sizes_by_target(metric).agg(statistic)
            for metric in metrics_of(self.task)
            if (self.scores["metric"] == metric).any()
        }
        runs = self.scores.drop_duplicates(["target", "replicate", "method"])
        by_method = runs.groupby("method", sort=False)
        found = pd.DataFrame(columns).reindex(list(self.methods))
        found["seconds"] = by_method["seconds"].mean()
        found["failed"] = by_method["reason"].agg(lambda r: int(r.str.startswith("failed: ").sum()))
        found.index.name = "method"
        return found

    def paired(self, reference: str, metric: str | None = None) -> pd.DataFrame:
        """Every method against one, on the same targets; positive differences favour the method.

        One row per other method: mean difference over targets, its standard error, number of
        targets, and on how many the method is better.
        """
        gain = self._gain(reference, metric).groupby(["target", "method"], sort=False).mean()
        table = self._ordered(gain.unstack("method")).drop(columns=reference)
        return pd.DataFrame(
            {
                "difference": table.mean(),
                "standard_error": table.sem(),
                "targets": table.notna().sum(),
                "better": (table > 0).sum(),
            }
        )

    def paired_by_target(self, reference: str, metric: str | None = None) -> pd.DataFrame:
        """Like `paired`, target by target; the standard error is over replicates.

        Also whether the method found the target's E outside the sources' (in most replicates).
        """
        gain = self._gain(reference, metric)
        groups = gain[gain.index.get_level_values("method") != reference].groupby(
            ["method", "target"], sort=False
        )
        found = pd.DataFrame(
            {
                "difference": groups.mean(),
                "standard_error": groups.sem(),
                "replicates": groups.count(),
            }
        )
        outside = self._values(metric).groupby(["method", "target"], sort=False)["outside"].mean()
        share = outside.reindex(found.index)
        return found.assign(outside=(share > 0.5).astype(object).where(share.notna(), None))

    def target_ranks(self, metric: str | None = None) -> pd.DataFrame:
        """Rank of every method on every target, 1 for the best; a method that failed is last."""
        name = self._metric(metric)
        merit = METRICS[name].merit(self.by_target(metric)).dropna(how="all")
        return merit.rank(axis=1, ascending=False, na_option="bottom")

    def ranks(self, metric: str | None = None) -> pd.Series:
        """Mean rank over targets, best first."""
        return self.target_ranks(metric).mean().sort_values().rename("mean rank")

    def table(
        self, metric: str | None = None, digits: int = 3, distance: str | None = "sinkhorn"
    ) -> pd.DataFrame:
        """A row per target, a column per method, "mean (sd)" over replicates, as the paper shows.

        The target's distance from the sources stands behind its name, where known.
        """
        groups = self._values(metric).groupby(["target", "method"], sort=False)["value"]
        mean = self._ordered(groups.mean().unstack("method"))
        sd = self._ordered(groups.std().unstack("method"))
        cells = pd.DataFrame(
            [
                [_cell(m, s, digits) for m, s in zip(mean.loc[t], sd.loc[t], strict=True)]
                for t in mean.index
            ],
            index=[self._with_distance(t, distance) for t in mean.index],
            columns=mean.columns,
        )
        cells.index.name = "target"
        return cells

    def markdown(
        self, metric: str | None = None, digits: int = 3, distance: str | None = "sinkhorn"
    ) -> str:
        """`table` as text, the best of each row in bold."""
        cells = self.table(metric, digits, distance)
        best = self.target_ranks(metric) == 1
        lines = [f"| target | {' | '.join(map(str, cells.columns))} |"]
        lines.append("|---" * (cells.shape[1] + 1) + "|")
        for target, (shown, row) in zip(
            self.by_target(metric).index, cells.iterrows(), strict=True
        ):
            bold = best.loc[target] if target in best.index else pd.Series(False, cells.columns)
            texts = [f"**{row[m]}**" if bold[m] else row[m] for m in cells.columns]
            lines.append(f"| {shown} | {' | '.join(texts)} |")
        return "\n".join(lines)

    def undefined(self) -> pd.DataFrame:
        """Why values are missing, and how many."""
        missing = self.scores[self.scores["value"].isna()]
        keys = ["method", "target", "metric", "reason"]
        return missing.groupby(keys, sort=False).size().rename("values").reset_index()

    def _metric(self, metric: str | None) -> str:
        name = primary_metric(self.task) if metric is None else metric
        known = list(dict.fromkeys(self.scores["metric"]))
        if name not in known:
            raise ValueError(f"No scores of the metric {name!r}: there are {known}.")
        return name

    def _values(self, metric: str | None) -> pd.DataFrame:
        return self.scores[self.scores["metric"] == self._metric(metric)]

    def _gain(self, reference: str, metric: str | None) -> pd.Series:
        """Merit of every run minus the reference's on the same target and replicate."""
        if reference not in self.methods:
            raise ValueError(
                f"Unknown reference {reference!r}: the methods are {list(self.methods)}."
            )
        keys = ["target", "replicate", "method"]
        values = self._values(metric).set_index(keys)["value"]
        merit = METRICS[self._metric(metric)].merit(values.unstack("method"))
        gain = merit.sub(merit[reference], axis=0)
        return pd.Series(gain.stack()).dropna()

    def _ordered(self, table: pd.DataFrame) -> pd.DataFrame:
        columns = [m for m in self.methods if m in table.columns]
        rows = [t for t in self.targets.index if t in table.index]
        return table.loc[rows, columns]

    def _with_distance(self, target: Any, distance: str | None) -> str:
        if distance not in self.targets.columns or np.isnan(self.targets.loc[target, distance]):
            return str(target)
        return f"{target} ({self.targets.loc[target, distance]:.3g})"

    def __repr__(self) -> str:
        replicates = self.scores["replicate"].nunique()
        return (
            f"Evaluation({self.name!r}, {self.task}, {len(self.targets)} targets, {replicates} "
            f"replicate(s), methods: {', '.join(self.methods)})"
        )


def _cell(mean: float, sd: float, digits: int) -> str:
    if np.isnan(mean):
        return "-"
    return f"{mean:.{digits}f}" + ("" if np.isnan(sd) else f" ({sd:.{digits}f})")
