"""Has a site moved? Its E and its features, period by period, and a permutation test.

Under the hypothesis that nothing moved, rows are exchangeable over time. For each component (every
dimension of E, and the residual of every feature given its parents and the E of all rows) the
statistic is the sum over periods of squared standardised means. Its distribution under the
hypothesis is that over random permutations of the rows' times, and the p-value of the smallest
p-value of all components is found among the same permutations (Westfall and Young 1993): it is
exact whatever the model got wrong.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._runtime.cache import compilation_cache
from .._runtime.text import quoted, significant
from .._sklearn.checks import as_frame
from .._sklearn.notices import warn_of_unknown_values
from ..data.layout import encode
from ..inference.environment import environment_of
from ..inference.fitted import FittedModel
from ..inference.row_evidence import feature_residuals, row_evidence
from ..model.constants import TRACK_LEVEL, TRACK_PERMUTATIONS, TRACK_ROWS
from .periods import Periods, cut_into_periods

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Track:
    """E and the features of a site by period, and whether it moved.

    Attributes
    ----------
    periods : DataFrame
        DataFrame, one row per period: `start`, `end`, `rows`, mean and sd of each dimension of E,
        and `outside`.
    features : DataFrame
        DataFrame, one row per period, one column per feature that does not depend on the label:
        mean residual given parents and the E of all rows, in standard deviations of it.
    components : DataFrame
        DataFrame, one row per component (E1, …, and the features): `p_value` adjusted for their
        number, and `change`, last period less first, in standard deviations of a row.
    p_value : float
        Of the hypothesis that nothing moved.
    """

    periods: pd.DataFrame
    features: pd.DataFrame
    components: pd.DataFrame
    p_value: float

    @property
    def moved(self) -> bool:
        """Whether the hypothesis that nothing moved is rejected at 5 %."""
        return self.p_value < TRACK_LEVEL

    @property
    def moving(self) -> list[Hashable]:
        """The components that moved, the clearest first."""
        found = self.components.sort_values("p_value", kind="stable")
        return list(found.index[found["p_value"] < TRACK_LEVEL])

    def sentence(self) -> str:
        """The finding in words.

        Returns
        -------
        str
            One sentence.
        """
        rows, count = int(self.periods["rows"].sum()), len(self.periods)
        about = f"{rows:,} rows in {count} periods"
        if not self.moved:
            return f"No sign that the site moved ({about}, p = {significant(self.p_value)})."
        which = quoted([str(name) for name in self.moving], 5)
        return f"The site moved ({about}, p = {significant(self.p_value)}), in {which}."


def track(
    model: Any,
    X: Any,
    time: Any,
    *,
    periods: int | str | None = None,
    permutations: int = TRACK_PERMUTATIONS,
    random_state: int = 0,
) -> Track:
    """E and features of one site over time, and a test of whether it moved.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        A fitted DAPDAGRegressor or DAPDAGClassifier.
    X : DataFrame or array of shape (rows, columns)
        Rows of one site.
    time : sequence of dates, texts in ISO form, or numbers
        One per row.
    periods : int or str, optional
        How many, with equal numbers of rows (None: one per 100 rows, 2 to 12), or for dates a
        frequency of pandas such as "M", "W" or "Q".
    permutations : int, default=499
        Random orders of the rows that the test compares with, at least 1.
    random_state : int, default=0
        Seed of the permutations, at least 0.

    Returns
    -------
    Track
        E and features by period, and the test.

    Raises
    ------
    ValueError
        If `time` has another length, is missing somewhere or is no time, or if all rows fall into
        one period.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.explain import track
    >>> days = range(len(split.X_target))
    >>> found = track(model, split.X_target, days, periods=2, permutations=19)
    >>> found.periods["rows"].tolist()
    [30, 30]
    """
    check_is_fitted(model)
    fitted: FittedModel = model.fitted_.model
    if not fitted.formulation.uses_environment:
        raise ValueError("this model has no environment E: it was fitted on one source")
    if permutations < 19:
        raise ValueError(f"permutations must be at least 19 for a test at 5 %, not {permutations}")
    frame = as_frame(model, X, reset=False)
    warn_of_unknown_values(fitted.table, frame)
    cut = cut_into_periods(time, len(frame), periods)
    rows = cut.thinned(TRACK_ROWS)
    code = cut.code[rows]
    data = encode(fitted.table, *fitted.table.encode(frame.iloc[rows]), None)
    with compilation_cache():
        evidence = row_evidence(fitted, data)
        whole = environment_of(fitted, evidence.summary(np.arange(len(rows))))
        residual, owner = feature_residuals(fitted, data, whole)
        each = [environment_of(fitted, evidence.summary(code == k)) for k in range(cut.count)]
    score = evidence.score(fitted, whole)
    table = np.concatenate([score, residual], axis=1)
    group = np.concatenate([np.arange(score.shape[1]), score.shape[1] + owner])
    names = {k: f"E{k + 1}" for k in range(score.shape[1])}
    names |= {score.shape[1] + j: v.name for j, v in enumerate(fitted.table.features)}
    rng = np.random.default_rng(random_state)
    means = period_means(table, code, cut.count)
    kept, adjusted, overall = permutation_test(table, group, code, permutations, rng)
    change = [means[-1, group == g][0] - means[0, group == g][0] for g in kept]
    components = pd.DataFrame(
        {"change": change, "p_value": adjusted},
        index=pd.Index([names[g] for g in kept], name="component"),
    )
    features = pd.DataFrame(
        {names[g]: means[:, group == g][:, 0] for g in kept if g >= score.shape[1]},
        index=cut.labels,
    )
    described = model.coordinates_.describe(cut.labels, each).rename_axis("period")
    return Track(_described(cut, code, described), features, components, overall)


def _described(cut: Periods, code: NDArray[np.intp], environments: pd.DataFrame) -> pd.DataFrame:
    about = pd.DataFrame(
        {"start": cut.starts, "end": cut.ends, "rows": np.bincount(cut.code, minlength=cut.count)},
        index=environments.index,
    )
    return pd.concat([about, environments], axis=1)


def standardised(table: Array) -> Array:
    """Columns with mean 0 and standard deviation 1; a constant one is 0."""
    centred = table - table.mean(0)
    deviation = centred.std(0)
    return np.asarray(centred / np.where(deviation > 1e-9, deviation, np.inf))


def period_means(table: Array, code: NDArray[np.intp], count: int) -> Array:
    """Mean of every standardised column by period: [periods, columns]."""
    sums = np.zeros((count, table.shape[1]))
    np.add.at(sums, code, standardised(table))
    return sums / np.bincount(code, minlength=count)[:, None]


def permutation_test(
    table: Array,
    group: NDArray[np.intp],
    code: NDArray[np.intp],
    permutations: int,
    rng: np.random.Generator,
) -> tuple[list[int], Array, float]:
    """Groups of columns that vary, their adjusted p-values, and the p-value over all of them.

    `group` says which columns make up one component (the levels of a categorical feature).
    """
    cells = standardised(table)
    kept = [int(g) for g in np.unique(group) if cells[:, group == g].any()]
    if not kept:
        return [], np.zeros(0), 1.0
    weights = 1.0 / np.bincount(code)
    member = np.stack([group == g for g in kept]).astype(float)  # [components, columns]

    def statistics(order: NDArray[np.intp]) -> Array:
        sums = np.zeros((len(weights), cells.shape[1]))
        sorted_cells = cells[order]
        np.cumsum(sorted_cells, axis=0, out=sorted_cells)
        ends = np.cumsum(np.bincount(code)) - 1
        total = sorted_cells[ends]
        sums[0], sums[1:] = total[0], np.diff(total, axis=0)
        return np.asarray(member @ (sums**2 * weights[:, None]).sum(0))

    in_order = np.argsort(code, kind="stable")
    observed = statistics(in_order)
    drawn = np.stack([statistics(rng.permutation(len(cells))) for _ in range(permutations)])
    every = np.concatenate([observed[None], drawn])  # the observed order is one of them
    # p-value of each order and component: the share of orders with at least its statistic
    rank = (-every).argsort(0, kind="stable").argsort(0, kind="stable")
    p = (rank + 1) / len(every)
    smallest = p.min(1)
    adjusted = (smallest[:, None] <= p[0]).mean(0)
    return kept, adjusted, float((smallest <= smallest[0]).mean())
