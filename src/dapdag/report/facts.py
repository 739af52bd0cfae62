"""All that a report tells, gathered before a word of it is written."""

import os
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._runtime.text import level, listing
from .._sklearn.shares import prediction_parts
from .._sklearn.sites import Sites, adapt
from ..data.schema import Column, cell_faults, describe_column
from ..data.summaries import cells_summary
from ..effects import EnvironmentEffects, column_variables, environment_effects
from ..evaluate.clinical.stored import Assessed, from_assessment, score_rows
from ..evaluate.clinical.validation import Validation
from ..evaluate.prediction import COVERAGE
from ..explain import SiteDifference, site_difference
from ..inference.uncertainty import expected_performance
from ..record import Record
from .scores import NewScores, score_new
from .validated import validated_new

# Beyond this many columns, what E does to each is not followed.
MAX_EFFECTS = 400
# Sites of a new table whose scores are expected at most.
MAX_EXPECTED = 12
# Rows of a site whose mean prediction is compared with another's at least.
FEWEST_COMPARED = 20
UNNAMED = "The new site"
KINDS = {"continuous": "number", "binary": "two values", "categorical": "categories"}
ASSESSED = ("target", "method", "metric", "value")


@dataclass(frozen=True, eq=False)
class Extremes:
    """The domains with the highest and the lowest mean prediction, and why they differ."""

    high: Hashable
    low: Hashable
    difference: SiteDifference


@dataclass(frozen=True, eq=False)
class New:
    """The new table: its domains, its predictions, and what was wrong with its cells."""

    domains: list[Hashable]
    codes: NDArray[np.intp]  # each row's domain
    environments: pd.DataFrame
    # columns that no E explains, of the domains that have any
    novel: Mapping[Hashable, list[Hashable]]
    mean: NDArray[np.float64]  # of a number; probability of the second, or the likeliest, class
    std: NDArray[np.float64] | None
    # of a number; of the probability of the second class; None for more classes
    interval: NDArray[np.float64] | None  # [rows, 2]
    probability: NDArray[np.float64] | None  # [rows, classes]
    missing: pd.DataFrame  # share of cells, columns in rows and domains in columns
    strange: pd.DataFrame  # cells that hold what no source has
    # of each domain and column: mean and sd of numbers, or share of each level
    cells: list[tuple[tuple[float, ...], ...]]
    warnings: tuple[str, ...]
    ids: list[str]  # names of the rows, or their numbers
    truth: NDArray | None  # labels, where known
    scores: NewScores | None
    validation: Validation | None = None  # of the predictions, where labels are known
    # of the first domains with more than one row: scores that their labels are expected to give
    expected: Mapping[Hashable, pd.DataFrame] = field(default_factory=dict)
    extremes: Extremes | None = None  # the domains whose mean predictions differ most

    @property
    def rows(self) -> int:
        return len(self.codes)

    def sizes(self) -> NDArray[np.int_]:
        return np.bincount(self.codes, minlength=len(self.domains))


@dataclass(frozen=True, eq=False)
class Facts:
    """A fitted model seen from outside, and perhaps a new table."""

    title: str
    classes: list[Any] | None  # None for numbers
    label: Column
    columns: tuple[Column, ...]
    record: Record
    sources: pd.DataFrame  # environments
    uses_environment: bool
    prediction: dict[str, Any]  # see `prediction_parts`
    graph: nx.DiGraph
    effects: EnvironmentEffects | None
    effect_owner: dict[Hashable, Hashable]  # column of `effects` -> variable
    history: pd.DataFrame
    interrupted: bool
    assessment: pd.DataFrame | None
    new: New | None
    validated: Assessed | None = None  # statistics of the left-out sites, where they were kept

    def __post_init__(self) -> None:
        absent = [] if self.assessment is None else set(ASSESSED) - set(self.assessment)
        if absent:
            raise ValueError(
                f"assessment_ lacks the column(s) {sorted(absent)}: it is to be the scores of "
                "dapdag.evaluate.leave_one_domain_out"
            )

    @property
    def event(self) -> str:
        """What is predicted, in words."""
        if self.classes is None:
            return str(self.label.name)
        if len(self.classes) == 2:
            return f"{self.label.name} = {level(self.classes[1])}"
        return f"the class of {self.label.name}"

    @property
    def is_binary(self) -> bool:
        return self.classes is not None and len(self.classes) == 2


def gather(
    model: Any,
    X: Any = None,
    sample_domain: Any = None,
    y: Any = None,
    title: str | None = None,
    ids: Any = None,
) -> Facts:
    """Ask the model for everything; what is wrong with `X` or `y` is said here."""
    if isinstance(model, str | os.PathLike):
        from ..persistence import load

        model = load(model)
    check_is_fitted(model)
    if not hasattr(model, "environment") or not hasattr(model, "graph_"):
        raise ValueError(
            f"a report needs a DAPDAGRegressor or DAPDAGClassifier, not a {type(model).__name__}: "
            "it has no environments or no graph to tell of"
        )
    if X is None and not (y is None and sample_domain is None and ids is None):
        raise ValueError("y, sample_domain and ids belong to rows: give X as well")
    table = model.fitted_.model.table
    uses = bool(model.fitted_.model.formulation.uses_environment)
    followed = uses and len(table.names) <= MAX_EFFECTS and len(model.source_environments_) > 1
    return Facts(
        title=title or f"Predicting {table.label.name} at a new site",
        classes=None if model._regression else list(model.classes_),
        label=describe_column(table.label),
        columns=tuple(map(describe_column, table.features)),
        record=model.record_,
        sources=model.source_environments_,
        uses_environment=uses,
        prediction=prediction_parts(model),
        graph=model.graph_,
        effects=environment_effects(model) if followed else None,
        effect_owner=column_variables(table),
        history=model.history_,
        interrupted=bool(model.fitted_.interrupted),
        assessment=score_rows(model.assessment_),
        validated=from_assessment(model.assessment_),
        new=None if X is None else _new(model, X, sample_domain, y, ids),
    )


def _new(model: Any, X: Any, sample_domain: Any, y: Any, ids: Any) -> New:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sites = adapt(model, X, sample_domain)
        environments = sites.environments
        probability, std, interval = None, None, None
        if model._regression:
            mean, std = sites.numbers()
            interval = sites.interval(COVERAGE)
        else:
            probability = sites.probabilities()
            mean = probability[:, 1] if probability.shape[1] == 2 else probability.max(1)
            if probability.shape[1] == 2:
                interval = sites.class_intervals(COVERAGE)[:, 1]
    said = {str(w.message): w for w in caught}
    for once in said.values():
        warnings.warn_explicit(once.message, once.category, once.filename, once.lineno)
    codes, novel = sites.codes, sites.novel_features()
    domains: list[Hashable] = [UNNAMED] if sample_domain is None else sites.labels
    renamed = dict(zip(sites.labels, domains, strict=True))
    truth = _truth(y, len(sites.frame), None if model._regression else list(model.classes_))
    missing, strange = _faults(sites.model.table, sites.frame, domains, codes)
    return New(
        domains=domains,
        codes=codes,
        environments=environments.set_axis(domains),
        novel={renamed[domain]: features for domain, features in novel.items()},
        mean=mean,
        std=std,
        interval=interval,
        probability=probability,
        missing=missing,
        strange=strange,
        cells=[
            cells_summary(sites.model.table, sites.frame.iloc[np.flatnonzero(codes == d)])
            for d in range(len(domains))
        ],
        warnings=tuple(said),
        ids=_names(ids, len(sites.frame)),
        truth=truth,
        scores=None
        if truth is None
        else score_new(model, truth, mean, std, interval, probability, codes),
        validation=validated_new(model, truth, mean, probability, [domains[c] for c in codes]),
        expected=_expected(sites, domains),
        extremes=_extremes(model, sites, domains, mean),
    )


def _expected(sites: Sites, domains: list[Hashable]) -> dict[Hashable, pd.DataFrame]:
    found = {}
    for name, site in zip(domains[:MAX_EXPECTED], sites.sites, strict=False):
        known = site.known
        if known.evidence.n_rows > 1:
            about = known.estimate, known.label_of_some(), known.evidence.n_rows, COVERAGE
            found[name] = expected_performance(sites.model, *about)
    return found


def _extremes(
    model: Any, sites: Sites, domains: list[Hashable], mean: NDArray[np.float64]
) -> Extremes | None:
    """Of domains with enough rows, unless their difference is within what sampling rows gives."""
    usable = [d for d, rows in enumerate(sites.rows) if len(rows) >= FEWEST_COMPARED]
    several = not model._regression and len(model.classes_) > 2
    if len(usable) < 2 or several:
        return None
    means = [float(mean[sites.rows[d]].mean()) for d in usable]
    high, low = usable[int(np.argmax(means))], usable[int(np.argmin(means))]
    known = [sites.sites[d].known for d in (high, low)]
    found = site_difference(model, *known)
    if not (found.parts["contribution"].abs() > 2 * found.parts["sd"]).any():
        return None
    return Extremes(domains[high], domains[low], found)


def _names(ids: Any, n_rows: int) -> list[str]:
    if ids is None:
        return [f"row {k + 1}" for k in range(n_rows)]
    names = [str(name) for name in ids]
    if len(names) != n_rows:
        raise ValueError(f"ids must name every row: X has {n_rows} rows, ids {len(names)}")
    return names


def _truth(y: Any, n_rows: int, classes: list[Any] | None) -> NDArray | None:
    if y is None:
        return None
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise ValueError(f"y must hold one label per row: X has {n_rows} rows, y {values.shape}")
    if pd.isna(values).all():
        return None
    if classes is None:
        try:
            return values.astype(float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y of a regression must be numbers ({error})") from error
    known = pd.Series(values).dropna()
    strange = known[~known.isin(classes)]
    if len(strange):
        raise ValueError(
            f"y holds {strange.iloc[0]!r} ({type(strange.iloc[0]).__name__}), which is none of the "
            f"classes that the model knows: {listing([repr(c) for c in classes])}"
        )
    return values


def _faults(
    table: Any, frame: pd.DataFrame, domains: list[Hashable], codes: NDArray[np.intp]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Missing share and number of strange cells, per column and domain."""
    size = np.bincount(codes, minlength=len(domains))
    missing, strange = [], []
    for j, variable in enumerate(table.features):
        absent, unknown = cell_faults(variable, frame.iloc[:, j])
        missing.append(np.bincount(codes[absent], minlength=len(domains)) / size)
        strange.append(np.bincount(codes[unknown], minlength=len(domains)))
    names = [v.name for v in table.features]

    def framed(cells: list) -> pd.DataFrame:
        columns = pd.Index(domains, dtype=object)
        return pd.DataFrame(np.array(cells), index=names, columns=columns)

    return framed(missing), framed(strange)
