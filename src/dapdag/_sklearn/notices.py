"""Warnings about the columns of a training table and of a new one."""

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.text import fixed, level, listing
from .._runtime.warning import (
    ContradictionWarning,
    DataWarning,
    LeakageWarning,
    MissingFeatureWarning,
    OutsideWarning,
    UnknownLevelWarning,
)
from ..data.columns import OTHER, Discrete
from ..data.sample import Sample
from ..data.schema import duplicates
from ..data.screen import screen
from ..data.table import Table
from ..inference.fitted import FittedModel
from ..inference.novelty import is_novel, novel_features
from ..inference.prediction import SiteEstimate

# Fewer rows with a missing feature are no evidence about their domain.
FEWEST_ROWS_TO_TELL = 5
# An important feature with values in a smaller share of the rows counts as absent.
NEARLY_ABSENT = 0.05
# A smaller share would be shown as 0 %.
LEAST_TO_TELL = 0.005
# An effect of the label that differs from the sources' by a larger share is named.
LEAST_MOVE = 0.5
_EXPERTS = ("the pooled networks", "the networks with E", "inference on the graph")
# Domains, and features of one, that a warning names.
MOST_REPORTED = 5


def warn_of_idle_columns(sample: Sample) -> None:
    """Columns of a training table without any value, and copies of others."""
    sources = sample.sources
    empty = [name for name in sources if sources[name].isna().all()]
    if empty:
        warnings.warn(
            f"column(s) {', '.join(map(repr, empty))} have no value in any source: nothing can be "
            "learned from them, and they are not used",
            DataWarning,
            stacklevel=3,
        )
    usable = sources.drop(columns=empty) if empty else sources
    for first, second in duplicates(usable):
        warnings.warn(
            f"columns {first!r} and {second!r} hold the same values: the graph cannot tell which "
            "of them acts; drop one",
            DataWarning,
            stacklevel=3,
        )


def warn_of_suspects(sample: Sample) -> None:
    """Columns that may give the label away or name rows or sites, and rows that are copies."""
    source = sample.is_source
    found = screen(
        sample.sources,
        sample.y[source],
        np.asarray(sample.domain_labels, dtype=object)[sample.domain[source]],
        sample.label_name,
        sample.classes is not None,
    )
    for finding in found:
        category = LeakageWarning if finding.kind in ("leak", "copies") else DataWarning
        advice = "; drop it from X if it is one" if finding.columns else ""
        if finding.kind == "leak":
            advice = " If it was, drop it from X"
        warnings.warn(f"{finding.text}{advice}", category, stacklevel=3)


def warn_of_unknown_values(table: Table, X: pd.DataFrame) -> None:
    """Cells of a new table with values that no source has."""
    warn_of_unseen(table, table.unseen(X))


def warn_of_unseen(table: Table, found: Mapping[Hashable, pd.Series]) -> None:
    """The same, given how often each such value is there, per column."""
    for name, values in found.items():
        known = [v for v in table.levels(name) if v != OTHER]
        counts_as = repr(OTHER) if OTHER in table.levels(name) else "missing"
        warnings.warn(
            f"column {name!r}: {int(values.sum())} cell(s) hold {_levels(values.index)}, which no "
            f"source has, or too few rows of them (known: {_levels(known)}); they count as "
            f"{counts_as}",
            UnknownLevelWarning,
            stacklevel=5,
        )


def _levels(values: Iterable[Any]) -> str:
    shown = [repr(level(v) if isinstance(v, float) else v) for v in _plain(values)]
    more = f" and {len(shown) - MOST_REPORTED} more" if len(shown) > MOST_REPORTED else ""
    return ", ".join(shown[:MOST_REPORTED]) + more


def _plain(values: Iterable[Any]) -> list[Any]:
    return [v.item() if isinstance(v, np.generic) else v for v in values]


def warn_of_absent_features(model: FittedModel, X: pd.DataFrame, domain: Hashable) -> None:
    """Features that are missing in all rows of a domain, or in nearly all, and their importance."""
    warn_of_few_values(model, X.notna().to_numpy().sum(0), len(X), domain)


def warn_of_few_values(
    model: FittedModel, present: NDArray[np.int64], n_rows: int, domain: Hashable
) -> None:
    """The same, given how many values each feature has: [features]."""
    if n_rows < FEWEST_ROWS_TO_TELL:
        return
    for j, variable in enumerate(model.table.features):
        if not any(variable.scale):
            continue
        values = int(present[j])
        matters = model.missing.importance[j] >= LEAST_TO_TELL
        if values and not (values <= NEARLY_ABSENT * n_rows and matters):
            continue
        has = f"a value in only {values} of {n_rows} rows of" if values else "no value in"
        warnings.warn(
            f"column {variable.name!r} has {has} the domain {domain!r}: {_importance(model, j)}",
            MissingFeatureWarning,
            stacklevel=5,
        )


def warn_of_unmeasured(
    names: Sequence[Hashable], present: NDArray[np.int64], domain: Hashable
) -> None:
    """Columns that are filled in for a domain where nobody measured them; `present` [features] are
    the values that each has."""
    empty = [name for name, values in zip(names, present, strict=True) if not values]
    if empty:
        which = ", ".join(map(repr, empty[:MOST_REPORTED]))
        more = f" and {len(empty) - MOST_REPORTED} more" if len(empty) > MOST_REPORTED else ""
        warnings.warn(
            f"no row of the domain {domain!r} has a value of {which}{more}: what is filled in "
            "comes from the other columns and sites alone",
            MissingFeatureWarning,
            stacklevel=4,
        )


def _importance(model: FittedModel, feature: int) -> str:
    importance = model.missing.importance[feature]
    if not np.isfinite(importance):
        return "too few held-out rows of the sources to tell its importance"
    error, effect = "RMSE", "intervals are widened accordingly"
    if isinstance(model.table.label, Discrete):
        error, effect = "log-loss", "probabilities are shrunk towards the prevalence accordingly"
    if importance < LEAST_TO_TELL:
        return f"masking it does not raise the {error} on held-out source rows"
    return f"masking it raises the {error} on held-out source rows by {importance:.0%}; {effect}"


def warn_of_contradiction(model: FittedModel, domain: Hashable, found: SiteEstimate) -> None:
    """Experts that lost their weight at a domain, and the label's effects that differ there."""
    lost = (model.combination.weights > 0) & (found.weights == 0)
    if not lost.any():
        return
    which = " and ".join(_EXPERTS[k] for k in np.flatnonzero(lost))
    children = np.flatnonzero(model.parents[-1, : len(model.table.features)])
    moved = [
        f"{model.table.features[j].name!r} ({share:+.2f} times that at the sources)"
        for j, share in zip(children, found.relative, strict=True)
        if np.isfinite(share) and abs(share - 1) > LEAST_MOVE
    ]
    about = f"; the label's effect differs on {', '.join(moved[:MOST_REPORTED])}" if moved else ""
    warnings.warn(
        f"at the domain {domain!r} the experts contradict each other far beyond what they do at "
        f"the sources; {which} contradict the label's parents and get no weight{about}",
        ContradictionWarning,
        stacklevel=4,
    )


def warn_of_novel_features(
    model: FittedModel, labels: Sequence[Hashable], excess: NDArray[np.float64]
) -> None:
    """Features that are out of distribution whatever E; of many domains, how many more."""
    novel = np.flatnonzero(is_novel(excess))
    for d in novel[:MOST_REPORTED]:
        features = novel_features(model, excess[d])
        which = ", ".join(map(repr, features[:MOST_REPORTED]))
        warnings.warn(
            f"the domain {labels[d]!r} is out of distribution in {which}"
            f"{' and more' if len(features) > MOST_REPORTED else ''}, whatever its E: it counts as "
            "outside, and its predictions are extrapolated",
            OutsideWarning,
            stacklevel=4,
        )
    if len(novel) > MOST_REPORTED:
        warnings.warn(
            f"{len(novel) - MOST_REPORTED} more domains are out of distribution",
            OutsideWarning,
            stacklevel=4,
        )


def warn_of_outsiders(
    model: FittedModel, sources: pd.DataFrame, found: pd.DataFrame, novel: NDArray[np.bool_]
) -> None:
    """Domains whose E lies outside the range of the sources; `novel` ones were reported.

    A model in whose predictions E has no share does not extrapolate by it.
    """
    if not uses_environment(model):
        return
    _warn_of_unplaced(sources, found)
    means = [str(name) for name in sources if str(name).endswith("_mean")]
    outside = found[found["outside"].to_numpy(dtype=bool) & ~novel]
    for name, row in outside.head(MOST_REPORTED).iterrows():
        spans = ", ".join(
            f"{column.removesuffix('_mean')} {fixed(row[column])}, sources "
            f"{fixed(sources[column].min())} to {fixed(sources[column].max())}"
            for column in means
        )
        warnings.warn(
            f"the domain {name!r} lies outside what the sources span ({spans}): its predictions "
            f"are extrapolated ({_false_alarms(len(sources))})",
            OutsideWarning,
            stacklevel=4,
        )
    if len(outside) > MOST_REPORTED:
        warnings.warn(
            f"{len(outside) - MOST_REPORTED} more domains lie outside what the sources span",
            OutsideWarning,
            stacklevel=4,
        )


def _false_alarms(n_sources: int) -> str:
    """The two extremes of k + 1 sites that are alike lie outside the others by definition."""
    return f"of sites like the {n_sources} sources, about {2 / (n_sources + 1):.0%} do"


def _warn_of_unplaced(sources: pd.DataFrame, found: pd.DataFrame) -> None:
    """Domains whose E may lie outside the sources' range, with too few rows to tell."""
    means = [str(name) for name in sources if str(name).endswith("_mean")]
    span = sources[means].agg(["min", "max"])
    beyond = ((found[means] < span.loc["min"]) | (found[means] > span.loc["max"])).any(axis=1)
    unclear = found.index[beyond & ~found["outside"].astype(bool)]
    if len(unclear):
        warnings.warn(
            f"too few rows to tell whether {listing([repr(d) for d in unclear[:MOST_REPORTED]])} "
            "lies outside what the sources span",
            OutsideWarning,
            stacklevel=5,
        )


def uses_environment(model: FittedModel) -> bool:
    """Whether an expert with a share in the prediction reads E."""
    return bool(model.formulation.uses_environment and model.combination.weights[1:].any())
