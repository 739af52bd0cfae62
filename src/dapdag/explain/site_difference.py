"""Why does the mean prediction at a site differ from that at another?

The mean predicted label M is a function of parts that each come from either site: the rows (case
mix), E, the label's own mechanism, the mechanism of each child of the label, and the weights of the
experts. The difference between the sites is split over these parts by Shapley values,

    φ_k = mean over all orders of (M with k and what comes before it − M with that alone),

from the parts of the reference to those of the site. They add up to the difference exactly.
"""

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import factorial, floor, log10
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from .._runtime.text import fixed, plus_or_minus, significant
from ..data.columns import Discrete
from ..data.layout import Encoded, take
from ..inference.prediction import SiteEstimate, score_rows
from ..inference.recalibration import all_classes
from ..inference.site import KnownSite
from ..model.constants import (
    DIFFERENCE_ORDERS,
    DIFFERENCE_RESAMPLES,
    DIFFERENCE_ROWS,
    EXACT_PARTS,
)

Array = NDArray[np.float64]
CASE_MIX, ENVIRONMENT, LABEL, WEIGHTS = "case mix", "E", "label", "weights"


@dataclass(frozen=True, eq=False)
class SiteDifference:
    """The difference of the mean predicted label between a site and a reference, in parts.

    Attributes
    ----------
    reference, site : float
        Mean predicted label, in its units, or mean probability of `of`.
    parts : DataFrame
        DataFrame: `contribution` of each part, which add up to site − reference, and `sd`, the
        standard deviation over bootstrap samples of both sites' rows.
    label : hashable
        Name of the label.
    of : class label or None
        The class whose probability is explained; None for numbers.
    """

    reference: float
    site: float
    parts: pd.DataFrame
    label: Hashable
    of: Any = None

    @property
    def difference(self) -> float:
        return self.site - self.reference

    def sentence(self) -> str:
        """The finding in words.

        Returns
        -------
        str
            One sentence.
        """
        what = f"the mean of {self.label}" if self.of is None else f"the share of {self.of!r}"
        ordered = self.parts.reindex(self.parts["contribution"].abs().sort_values()[::-1].index)
        # Three digits of the largest part, and as many decimals of the others.
        largest = max(abs(self.difference), *self.parts["contribution"].abs(), 1e-4)
        decimals = max(0, 2 - floor(log10(largest)))
        named = [
            f"{name} {plus_or_minus(found, decimals)} (± {fixed(sd, decimals)})"
            for name, found, sd in ordered[["contribution", "sd"]].itertuples()
            if abs(found) >= 0.05 * max(abs(self.difference), 1e-12)
        ]
        return (
            f"At the site {what} is predicted as {significant(self.site)}, at the reference as "
            f"{significant(self.reference)}; the difference of "
            f"{plus_or_minus(self.difference, decimals)} comes from "
            f"{', '.join(named) or 'no part in particular'}."
        )


def site_difference(
    model: Any, X_site: Any, reference: Any, *, of: Any = None, random_state: int = 0
) -> SiteDifference:
    """Split the difference of the mean predicted label between two sites.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        A fitted DAPDAGRegressor or DAPDAGClassifier.
    X_site : DataFrame or array of shape (rows, columns)
        Rows of the site.
    reference : DataFrame or array of shape (rows, columns)
        Rows of the site and of what it is compared with, another site or all rows of the sources;
        or a `SiteModel` of this model each, with labels if they have any.
    of : class label, optional
        The class whose probability is meant; None takes the last one.
    random_state : int, default=0
        Seed of the bootstrap, at least 0.

    Returns
    -------
    SiteDifference
        The parts, which add up to the difference.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.explain import site_difference
    >>> found = site_difference(model, split.X_target, split.X)
    >>> gap = found.parts["contribution"].sum() - (found.site - found.reference)
    >>> bool(abs(gap) < 1e-6)
    True
    """
    label = model.fitted_.model.table.label
    column, of = _class_of(label, of)
    known = [_known(model, one) for one in (reference, X_site)]
    for one in known:
        if one.model is not model.fitted_.model:
            raise ValueError("a site of another model: adapt this model to its rows")
        if not len(one.evidence.kept.key):
            raise ValueError("a site known by its summary alone: the comparison needs rows of it")
    with compilation_cache():
        found = _Values(known, column)
        parts = found.parts
        values = shapley_values(found, len(parts), np.random.default_rng(random_state))
    scale = 1.0 if column is not None else float(label.deviation)
    spread = found.bootstrap(values, np.random.default_rng(random_state))
    ends = [found.mean_of(coalition) for coalition in (0, 2 ** len(parts) - 1)]
    if column is None:
        ends = list(label.decode(np.array(ends)[:, None]))
    frame = pd.DataFrame(
        {"contribution": scale * found.contributions(values), "sd": scale * spread},
        index=pd.Index(parts, name="part"),
    )
    return SiteDifference(float(ends[0]), float(ends[1]), frame, label.name, of)


def _known(model: Any, one: Any) -> KnownSite:
    if isinstance(one, KnownSite):
        return one
    found: KnownSite = one.known_ if hasattr(one, "known_") else model.at(one).known_
    return found


def _class_of(label: Any, of: Any) -> tuple[int | None, Any]:
    """Position of a class, and the class."""
    if not isinstance(label, Discrete):
        if of is not None:
            raise ValueError(f"of={of!r} names a class, and {label.name!r} is a number")
        return None, None
    levels = list(label.levels)
    if of is None:
        of = levels[-1]
    if of not in levels:
        raise ValueError(f"of={of!r} is no class of {label.name!r}: classes are {levels}")
    return levels.index(of), of


class _Values:
    """Mean prediction of every coalition: bit k is set where part k comes from the site."""

    def __init__(self, known: Sequence[KnownSite], column: int | None) -> None:
        self.model, self.column = known[0].model, column
        self.estimates = [one.estimate for one in known]
        self.rows = [one.evidence.kept.head(DIFFERENCE_ROWS) for one in known]
        self.parts = self._parts()
        self._scores: dict[int, Array] = {}

    def _parts(self) -> list[str]:
        """Parts that can differ; the mechanisms of children only where the graph has a weight."""
        one, other = self.estimates
        parts = [CASE_MIX, ENVIRONMENT, LABEL]
        if one.effects and (one.weights[2] > 0 or other.weights[2] > 0):
            features = self.model.table.features
            children = np.flatnonzero(self.model.parents[-1, : len(features)])
            parts += [f"mechanism of {features[j].name}" for j in children]
        if not np.array_equal(one.weights, other.weights):
            parts.append(WEIGHTS)
        return parts

    def scores(self, coalition: int) -> Array:
        """Predictions of the rows that the coalition has: [rows]."""
        found = self._scores.get(coalition)
        if found is None:
            rows = self.rows[coalition & 1]
            label = score_rows(self.model, self._estimate(coalition), _filled(rows))
            mean = label.mean[: len(rows.values)]
            found = mean[:, 0] if self.column is None else all_classes(mean)[:, self.column]
            self._scores[coalition] = found
        return found

    def mean_of(self, coalition: int) -> float:
        return float(self.scores(coalition).mean())

    def _estimate(self, coalition: int) -> SiteEstimate:
        """The site that is made up of the parts of both."""
        picked = {part: self.estimates[coalition >> k & 1] for k, part in enumerate(self.parts)}
        label = picked[LABEL]
        children = [picked[p] for p in self.parts if p.startswith("mechanism of ")]
        effects = label.effects
        if children:
            own = (one.effects[k] for k, one in enumerate(children, start=1))
            effects = (label.effects[0], *own)
        weights = picked.get(WEIGHTS, label).weights
        return replace(label, env=picked[ENVIRONMENT].env, effects=effects, weights=weights)

    def contributions(self, weights: dict[tuple[int, int], Array]) -> Array:
        total = np.zeros(len(self.parts))
        for (after, before), share in weights.items():
            total += share * (self.mean_of(after) - self.mean_of(before))
        return total

    def bootstrap(self, weights: dict[tuple[int, int], Array], rng: np.random.Generator) -> Array:
        """Standard deviation of the contributions over resampled rows of both sites."""
        drawn = []
        for _ in range(DIFFERENCE_RESAMPLES):
            pick = [rng.integers(len(rows.values), size=len(rows.values)) for rows in self.rows]
            mean = {c: float(s[pick[c & 1]].mean()) for c, s in self._scores.items()}
            total = np.zeros(len(self.parts))
            for (after, before), share in weights.items():
                total += share * (mean[after] - mean[before])
            drawn.append(total)
        return np.asarray(np.std(drawn, axis=0))


def _filled(rows: Encoded) -> Encoded:
    """Rows repeated up to `DIFFERENCE_ROWS`: every coalition is one call of one compiled size."""
    return take(rows, np.resize(np.arange(len(rows.values)), DIFFERENCE_ROWS))


def shapley_values(found: Any, n: int, rng: np.random.Generator) -> dict[tuple[int, int], Array]:
    """Weights of the differences between coalitions: (with, without) → [parts].

    All subsets for few parts; else random orders and their reverses.
    """
    weights: dict[tuple[int, int], Array] = {}

    def add(part: int, before: int, share: float) -> None:
        pair = before | 1 << part, before
        for coalition in pair:
            found.scores(coalition)
        weights.setdefault(pair, np.zeros(n))[part] += share

    if n <= EXACT_PARTS:
        for part in range(n):
            others = [k for k in range(n) if k != part]
            for size in range(n):
                share = factorial(size) * factorial(n - size - 1) / factorial(n)
                for subset in itertools.combinations(others, size):
                    add(part, sum(1 << k for k in subset), share)
        return weights
    orders = [rng.permutation(n) for _ in range(DIFFERENCE_ORDERS // 2)]
    for order in [*orders, *(o[::-1] for o in orders)]:
        before = 0
        for part in order.tolist():
            add(part, before, 1.0 / DIFFERENCE_ORDERS)
            before |= 1 << part
    return weights
