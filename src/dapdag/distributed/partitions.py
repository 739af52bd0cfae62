"""Sites whose rows are partitions of a Dask DataFrame, on one machine or on many.

A site may span partitions. Applying a fitted model to every partition by itself, as dask-ml's
`ParallelPostFit` does it, would give each partition an E of its own. Here the partitions are
turned into evidence where they are, the evidence of each site is added up in a tree, what follows
from it is inferred once, and with that the rows are predicted where they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from dapdag._runtime.text import suggestion
from dapdag._sklearn.mixins import WithEnvironments
from dapdag._sklearn.partial import DescribedSites, KnownSites
from dapdag.distributed.tasks import (
    added_labels,
    added_sites,
    added_statistics,
    answer_part,
    complete,
    describe_sites,
    gather_part,
    infer_sites,
    labels_of,
    predictions,
    sites_of_group,
    statistics_of_part,
)
from dapdag.structure import Statistics

# Sums that one step of the tree adds up, and groups of sites that are inferred side by side.
BRANCHES, GROUPS = 8, 16

INSTALL = 'pip install "dapdag[dask]"'


def predict(
    model: Any,
    X: Any,
    sample_domain: Hashable | None = None,
    *,
    coverage: float = 0.9,
    keep: Sequence[Hashable] = (),
) -> Any:
    """Predict every row of a Dask DataFrame, each site under the E of all its rows.

    The rows are read twice: for the sites by this call, and for the predictions when the result is
    computed or written. A worker that is lost costs the tasks it had done, and nothing else.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        It is sent to every worker once.
    X : Dask DataFrame or path-like
        Rows with the model's columns, or a folder of Parquet files.
    sample_domain : hashable, optional
        Column that names each row's site. By default all rows are one site.
    coverage : float, default=0.9
        Share of labels that the intervals are to hold, between 0 and 1.
    keep : sequence, default=()
        Columns of X to stand before the others.

    Returns
    -------
    Dask DataFrame
        The rows and the index of X, and the columns of `dapdag predict`: what was kept, the site,
        `prediction`, `low` and `high` of a number or `probability_C` of each class with its
        interval, and `outside`.

    Raises
    ------
    ValueError
        If X lacks a column of the model or `sample_domain`.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage={coverage}: it must lie between 0 and 1")
    about = _Asked.of(model, X, sample_domain, keep)
    sites = about.know_sites()
    sites.tell()
    return about.map(predictions, sites, coverage)


def environment(model: Any, X: Any, sample_domain: Hashable | None = None) -> pd.DataFrame:
    """E of each site of a Dask DataFrame, as `model.environment` gives it.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        It is sent to every worker once.
    X : Dask DataFrame or path-like
        Rows with the model's columns, or a folder of Parquet files.
    sample_domain : hashable, optional
        Column that names each row's site. By default all rows are one site.

    Returns
    -------
    DataFrame
        One row per site: `E1_mean`, `E1_sd`, …, and `outside`.
    """
    about = _Asked.of(model, X, sample_domain)
    sites = DescribedSites(model, *about.first_pass(describe_sites))
    sites.tell_environments()
    return sites.environments


def impute(
    model: Any,
    X: Any,
    sample_domain: Hashable | None = None,
    *,
    keep: Sequence[Hashable] = (),
) -> Any:
    """Fill the missing cells of a Dask DataFrame, each site under the E of all its rows.

    The rows are read twice, as by `predict`.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        It is sent to every worker once.
    X : Dask DataFrame or path-like
        Rows with the model's columns, or a folder of Parquet files.
    sample_domain : hashable, optional
        Column that names each row's site. By default all rows are one site.
    keep : sequence, default=()
        Columns of X to stand before the others.

    Returns
    -------
    Dask DataFrame
        The columns that are kept, and the model's, filled as `model.impute` does it.
    """
    about = _Asked.of(model, X, sample_domain, keep)
    sites = about.know_sites()
    sites.tell_environments()
    sites.tell_unmeasured()
    return about.map(complete, sites)


def graph_statistics(
    X: Any, sample_domain: Hashable | None = None, *, random_state: int = 0
) -> Statistics:
    """What `GraphSearch.fit_statistics` needs of a Dask DataFrame, added up over its partitions.

    Parameters
    ----------
    X : Dask DataFrame or path-like
        A table, or a folder of Parquet files; all columns but `sample_domain` become nodes.
    sample_domain : hashable, optional
        Column that names each row's site. By default all rows are one site.
    random_state : int, default=0
        Seed of the draw of rows where there are more than the search reads.

    Returns
    -------
    Statistics
        Summary of the table.
    """
    table = _table(X)
    _refuse_unknown(table, [] if sample_domain is None else [sample_domain])
    dask = _dask("dask")
    parts = [
        dask.delayed(statistics_of_part)(part, number, sample_domain, random_state)
        for number, part in enumerate(table.to_delayed())
    ]
    found = _tree(parts, added_statistics).compute()
    if found is None:
        raise ValueError("the table has no rows")
    return found


@dataclass(frozen=True)
class _Asked:
    """A model, and the columns of a table that it reads."""

    model: Any  # Delayed: the estimator, at the workers
    estimator: Any
    table: Any
    features: list[Hashable]
    domain: Hashable | None
    keep: list[Hashable]

    @classmethod
    def of(
        cls, model: Any, X: Any, domain: Hashable | None, keep: Sequence[Hashable] = ()
    ) -> _Asked:
        check_is_fitted(model)
        if not isinstance(model, WithEnvironments):
            raise ValueError(
                f"a {type(model).__name__} predicts every row by itself: use "
                "X.map_partitions(model.predict)"
            )
        if not hasattr(model, "feature_names_in_"):
            raise ValueError(
                "the model was fitted on an array: fit it on a DataFrame, whose columns have names"
            )
        if domain is not None and not isinstance(domain, str | int):
            raise ValueError(
                f"sample_domain is the name of a column of X, and not {type(domain).__name__}"
            )
        table, features = _table(X), list(model.feature_names_in_)
        kept = [name for name in dict.fromkeys(keep) if name != domain]
        beside = kept if domain is None else [*kept, domain]
        _refuse_unknown(table, [*features, *beside])
        chosen = table[[*features, *(name for name in beside if name not in features)]]
        chosen = chosen.optimize()  # which may put small files together
        # Kept by the scheduler for both passes, and made again if a worker is lost with it.
        shared = _dask("dask").delayed(model, pure=False, traverse=False).persist()
        return cls(shared, model, chosen, features, domain, kept)

    def know_sites(self) -> KnownSites:
        """All that the rows of each site say about it."""
        return KnownSites(self.estimator, *self.first_pass(infer_sites))

    def first_pass(self, ask: Callable[..., Any]) -> tuple[dict[Hashable, Any], Mapping]:
        """What a task makes of all rows of each site, and values that no source has."""
        dask = _dask("dask")
        parts = [
            dask.delayed(gather_part)(part, self.model, self.features, self.domain)
            for part in self.table.to_delayed()
        ]
        groups = 1 if self.domain is None else GROUPS
        found = [
            dask.delayed(ask)(
                self.model,
                _tree([dask.delayed(sites_of_group)(p, k, groups) for p in parts], added_sites),
            )
            for k in range(groups)
        ]
        labels = _tree([dask.delayed(labels_of)(part) for part in parts], added_labels)
        known, order = dask.compute(found, labels)
        if not order:
            raise ValueError("the table has no rows")
        every: dict[Hashable, Any] = {}
        unseen: Mapping[Hashable, pd.Series] = {}
        for sites, more in known:
            every |= sites
            unseen = more or unseen
        return {label: every[label] for label in order}, unseen

    def map(self, answer: Callable[..., pd.DataFrame], sites: KnownSites, *more: Any) -> Any:
        """The second pass: an answer for every row, in the partitions of the table."""
        dask, frames = _dask("dask"), _dask("dask.dataframe")
        about = self.features, self.domain, self.keep
        outside = sites.environments[["outside"]]
        known = dask.delayed((dict(sites.sites), outside), pure=False, traverse=False)
        ask = dask.delayed(answer_part)
        parts = [
            ask(part, self.model, known, answer, about, *more) for part in self.table.to_delayed()
        ]
        empty = (dict(sites.sites), outside), answer, about
        meta = answer_part(self.table._meta, self.estimator, *empty, *more)
        return frames.from_delayed(
            parts, meta=meta, divisions=self.table.divisions, verify_meta=False
        )


def _table(X: Any) -> Any:
    frames = _dask("dask.dataframe")
    if isinstance(X, str | os.PathLike):
        return frames.read_parquet(os.fspath(X))
    if isinstance(X, frames.DataFrame):
        return X
    raise ValueError(
        f"X must be a Dask DataFrame or a folder of Parquet files, not {type(X).__name__}: a table "
        "in memory goes to the model's own methods"
    )


def _refuse_unknown(table: Any, names: Sequence[Hashable]) -> None:
    known = list(table.columns)
    for name in names:
        if name not in known:
            meant = suggestion(str(name), [*map(str, known)], "its columns are")
            raise ValueError(f"the table has no column {name!r}; {meant}")


def _tree(parts: list[Any], add: Callable[[list[Any]], Any]) -> Any:
    """The sum of all parts: neighbours first, so that nothing large comes to one place at once."""
    step = _dask("dask").delayed(add)
    while len(parts) > 1:
        parts = [step(parts[k : k + BRANCHES]) for k in range(0, len(parts), BRANCHES)]
    return parts[0]


def _dask(module: str) -> ModuleType:
    """A module of Dask, or how to install it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"tables in partitions need Dask ({error}): {INSTALL}") from error
