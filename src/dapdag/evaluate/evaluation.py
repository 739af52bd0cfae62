"""What an evaluation found, and the comparisons and tables that come from it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from dapdag.evaluate.layout import markdown_of, ordered, score_cells
from dapdag.evaluate.metrics import METRICS, metrics_of, primary_metric

if TYPE_CHECKING:
    from dapdag.evaluate.clinical.validation import Validation


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Scores of several methods on several targets.

    Wherever a `metric` can be chosen, None is log-loss for classes and R² for numbers. Missing
    values are left out of means.

    Attributes
    ----------
    scores : DataFrame
        One row per target, replicate, method and metric, with the columns target, replicate,
        method, metric, value, seconds (fit and prediction), outside and env_distance (where the
        method infers E; distance to the nearest source in standard deviations of the sources' E),
        and reason (why a value is missing).
    task : str
        "regression" or "classification".
    name : str
        Name of the data.
    methods : tuple of str
        Names of the methods, in the order given.
    targets : DataFrame
        One row per target: n_rows, missing (share of cells), label_mean, and its distances from the
        sources, smd and sinkhorn.
    predictions : DataFrame
        One row per labelled row of a target, replicate and method: target, replicate, method, row
        (position in the data), label, and predicted or probability_CLASS for each class.
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
        event : class label, optional
            Class whose probability is validated, against all others. By default the second of two.
        threshold : float, optional
            Probability from which one would treat, for the net benefit, between 0 and 1. By default
            the share of events, in whole per cent.
        replicate : int, optional
            Which replicate's predictions. By default the first.

        Returns
        -------
        Validation
            Statistics by site and over sites.
        """
        from dapdag.evaluate.clinical.by_site import validation_of
        from dapdag.evaluate.clinical.outcomes import outcomes_of

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
        """Mean score over replicates.

        Parameters
        ----------
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.

        Returns
        -------
        DataFrame
            One row per target, one column per method.
        """
        values = self._values(metric).groupby(["target", "method"], sort=False)["value"].mean()
        return ordered(self, values.unstack("method"))

    def sizes_by_target(self, metric: str | None = None) -> pd.DataFrame:
        """`by_target`, without the sign where scores of opposite sign would cancel in a mean.

        Parameters
        ----------
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.

        Returns
        -------
        DataFrame
            One row per target, one column per method.
        """
        table = self.by_target(metric)
        return table.abs() if METRICS[self._metric(metric)].goal == 0 else table

    def summary(self, statistic: str = "mean") -> pd.DataFrame:
        """Every metric over targets.

        Of the signed calibration error it is the mean of the absolute values, as errors of opposite
        sign would cancel.

        Parameters
        ----------
        statistic : str, default="mean"
            Name of a pandas aggregation, such as "mean" or "median".

        Returns
        -------
        DataFrame
            One row per method: every metric, the mean seconds of a run, and in how many runs the
            method failed.
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

        Parameters
        ----------
        reference : str
            Name of the method to compare with.
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.

        Returns
        -------
        DataFrame
            One row per other method: mean difference over targets, its standard error, number of
            targets, and on how many the method is better.
        """
        gain = self._gain(reference, metric).groupby(["target", "method"], sort=False).mean()
        table = ordered(self, gain.unstack("method")).drop(columns=reference)
        return pd.DataFrame(
            {
                "difference": table.mean(),
                "standard_error": table.sem(),
                "targets": table.notna().sum(),
                "better": (table > 0).sum(),
            }
        )

    def paired_by_target(self, reference: str, metric: str | None = None) -> pd.DataFrame:
        """Every method against one, target by target; the standard error is over replicates.

        Parameters
        ----------
        reference : str
            Name of the method to compare with.
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.

        Returns
        -------
        DataFrame
            One row per target and other method; also whether the method found the target's E
            outside the sources' (in most replicates).
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
        """Rank of every method on every target, 1 for the best; a method that failed is last.

        Parameters
        ----------
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.

        Returns
        -------
        DataFrame
            One row per target, one column per method.
        """
        name = self._metric(metric)
        merit = METRICS[name].merit(self.by_target(metric)).dropna(how="all")
        return merit.rank(axis=1, ascending=False, na_option="bottom")

    def ranks(self, metric: str | None = None) -> pd.Series:
        """Mean rank over targets, best first.

        Parameters
        ----------
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.

        Returns
        -------
        Series
            Mean rank of every method.
        """
        return self.target_ranks(metric).mean().sort_values().rename("mean rank")

    def table(
        self, metric: str | None = None, digits: int = 3, distance: str | None = "sinkhorn"
    ) -> pd.DataFrame:
        """Scores as the paper shows them: "mean (sd)" over replicates.

        Parameters
        ----------
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.
        digits : int, default=3
            Digits after the point, 0 or more.
        distance : str, default="sinkhorn"
            Column of `targets` with the distance from the sources, which stands behind the target's
            name where known; None for none.

        Returns
        -------
        DataFrame
            One row per target, one column per method, as text.
        """
        return score_cells(self, self._values(metric), digits, distance)

    def markdown(
        self, metric: str | None = None, digits: int = 3, distance: str | None = "sinkhorn"
    ) -> str:
        """`table` as text, the best of each row in bold.

        Parameters
        ----------
        metric : str, optional
            Name in `dapdag.evaluate.METRICS`. By default log-loss for classes and R² for numbers.
        digits : int, default=3
            Digits after the point, 0 or more.
        distance : str, default="sinkhorn"
            As in `table`.

        Returns
        -------
        str
            A table in Markdown.
        """
        cells, best = self.table(metric, digits, distance), self.target_ranks(metric) == 1
        return markdown_of(cells, best, self.by_target(metric).index)

    def undefined(self) -> pd.DataFrame:
        """Why values are missing, and how many.

        Returns
        -------
        DataFrame
            One row per metric and reason.
        """
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

    def __repr__(self) -> str:
        replicates = self.scores["replicate"].nunique()
        return (
            f"Evaluation({self.name!r}, {self.task}, {len(self.targets)} targets, {replicates} "
            f"replicate(s), methods: {', '.join(self.methods)})"
        )
