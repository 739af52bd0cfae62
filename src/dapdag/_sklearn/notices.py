"""Warnings about the columns of a training table and of a new one."""

import warnings
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.columns import Discrete
from ..data.sample import Sample
from ..data.schema import duplicates
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
    sources = sample.X.iloc[np.flatnonzero(sample.is_source)]
    empty = [name for name in sources if sources[name].isna().all()]
    if empty:
        warnings.warn(
            f"column(s) {', '.join(map(repr, empty))} have no value in any source: nothing can be "
            "learned from them, and they are not used",
            stacklevel=3,
        )
    for first, second in duplicates(sources.drop(columns=empty)):
        warnings.warn(
            f"columns {first!r} and {second!r} hold the same values: the graph cannot tell which "
            "of them acts; drop one",
            stacklevel=3,
        )


def warn_of_unknown_values(table: Table, X: pd.DataFrame) -> None:
    """Cells of a new table with values that no source has."""
    for name, count in table.unseen(X).items():
        warnings.warn(
            f"column {name!r}: {count} cell(s) hold a value that no source has, or too few "
            f"rows of them had; they count as {table.unknown(name)}",
            stacklevel=4,
        )


def warn_of_absent_features(model: FittedModel, X: pd.DataFrame, domain: Hashable) -> None:
    """Features that are missing in all rows of a domain, or in nearly all, and their importance."""
    if len(X) < FEWEST_ROWS_TO_TELL:
        return
    for j, variable in enumerate(model.table.features):
        if not any(variable.scale):
            continue
        values = int(X.iloc[:, j].notna().sum())
        matters = model.missing.importance[j] >= LEAST_TO_TELL
        if values and not (values <= NEARLY_ABSENT * len(X) and matters):
            continue
        has = f"a value in only {values} of {len(X)} rows of" if values else "no value in"
        warnings.warn(
            f"column {variable.name!r} has {has} the domain {domain!r}: {_importance(model, j)}",
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
            stacklevel=3,
        )
    if len(novel) > MOST_REPORTED:
        warnings.warn(
            f"{len(novel) - MOST_REPORTED} more domains are out of distribution", stacklevel=3
        )
