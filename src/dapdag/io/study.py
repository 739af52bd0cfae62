"""A table with roles: which column is the label, which names the site, what is learned from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag._runtime.text import counted, expand, quoted, suggestion
from dapdag._runtime.warning import DataWarning, ReadingWarning
from dapdag.io.columns import (
    clean_features,
    numbers_rows,
    tell_alike,
    whole_numbers,
)
from dapdag.io.labels import Task, study_label
from dapdag.io.leaks import tell_leaks
from dapdag.io.reading import Rows
from dapdag.io.roles import check_roles, row_groups, row_weights
from dapdag.io.sentinels import tell_sentinels
from dapdag.io.sniffing import clean

if TYPE_CHECKING:
    from dapdag.datasets import DomainData

NEGATIVE = re.compile(r"-\d+")


@dataclass(frozen=True, eq=False)
class Study:
    """Features, label and site of every row, ready for an estimator.

    Attributes
    ----------
    X : DataFrame
        Features.
    y : Series
        Labels, named after their column; none where `is_target`.
    site : array
        Site of every row, as text.
    is_target : array
        Whether a row belongs to a target.
    task : str
        "regression" or "classification".
    weight : array or None
        How much every row counts.
    group : array or None
        What every row belongs to.
    """

    X: pd.DataFrame
    y: pd.Series  # named after its column; no label where `is_target`
    site: NDArray[Any]  # strings
    is_target: NDArray[np.bool_]
    task: Task
    weight: NDArray[np.float64] | None = None
    group: NDArray[Any] | None = None

    @property
    def about_rows(self) -> dict[str, NDArray[Any]]:
        """What `fit` takes beside sites: weights and groups, where there are any."""
        both = {"sample_weight": self.weight, "groups": self.group}
        return {name: values for name, values in both.items() if values is not None}

    @property
    def sources(self) -> list[str]:
        """Names of the labelled sites, in order of appearance."""
        return list(pd.unique(self.site[~self.is_target]))

    @property
    def targets(self) -> list[str]:
        return list(pd.unique(self.site[self.is_target]))

    @property
    def sample_domain(self) -> NDArray[Any]:
        """What `fit` takes: the names of sources, and −1, −2, … for the targets."""
        domain = self.site.astype(object)
        for k, name in enumerate(self.targets):
            domain[self.is_target & (self.site == name)] = -1 - k
        return domain

    def labelled(self, name: str = "study") -> DomainData:
        """The rows with a label, as the data that evaluations take.

        Parameters
        ----------
        name : str, default="study"
            Name of the data.

        Returns
        -------
        DomainData
            Rows of the sources that have a label.
        """
        from dapdag.datasets import DomainData

        keep = np.flatnonzero(self.y.notna().to_numpy() & ~self.is_target)
        y = self.y.iloc[keep]
        if whole_numbers(y):
            y = y.astype(np.int64)
        return DomainData(
            X=self.X.iloc[keep].reset_index(drop=True),
            y=y.reset_index(drop=True),
            sample_domain=self.site[keep].astype(str),
            task=self.task,
            name=name,
            **{key: values[keep] for key, values in self.about_rows.items()},  # type: ignore[arg-type]
        )


def prepare_study(
    rows: Rows,
    *,
    label: str,
    domain: str | None = None,
    targets: Collection[str] = (),
    unlabelled: Rows | None = None,
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    ids: Collection[str] = (),
    weight: str | None = None,
    group: str | None = None,
    task: Literal["auto", "regression", "classification"] = "auto",
) -> Study:
    """Give the columns of a table their roles, and check that they can play them.

    Parameters
    ----------
    rows : Rows
        What `read_tables` returned.
    label : str
        Column to predict.
    domain : str, optional
        Column that names each row's site. By default the names of the files do.
    targets : collection of str, default=()
        Sites whose labels are not to be used, only their features.
    unlabelled : Rows, optional
        Rows of target sites in files of their own.
    categorical : collection of str, default=()
        Columns whose numbers are codes.
    drop : collection of str, default=()
        Columns to leave out; wildcards are allowed, also in `categorical` and `ids`.
    ids : collection of str, default=()
        Columns that name rows: left out too. One of them may be the group.
    weight : str, optional
        Column that says how much a row counts.
    group : str, optional
        Column that says what a row belongs to.
    task : {"auto", "regression", "classification"}, default="auto"
        What the label is; "auto" takes text, two values and few whole numbers for classes.

    Returns
    -------
    Study
        Features, label and site of every row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dapdag.datasets import make_regression_domains
    >>> from dapdag.io import prepare_study, read_tables, write_table
    >>> data = make_regression_domains(n_domains=3, n_samples=30)
    >>> table = data.X.assign(outcome=data.y, hospital=[f"h{d}" for d in data.sample_domain])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(table, Path(folder) / "table.csv")
    ...     rows = read_tables([Path(folder) / "table.csv"])
    >>> study = prepare_study(rows, label="outcome", domain="hospital")
    >>> study.task, study.sources
    ('regression', ['h0', 'h1', 'h2'])
    """
    names = [str(name) for name in rows.frame]
    label = clean(label)
    domain, weight, group = (n if n is None else clean(n) for n in (domain, weight, group))
    targets = [clean(name) for name in targets]
    dropped = expand(drop, names, "--drop", rows.name)
    codes = expand(categorical, names, "--categorical", rows.name)
    naming = expand(ids, names, "--id", rows.name)
    roles = {"--label": label, "--domain": domain, "--weight": weight, "--group": group}
    check_roles(rows, roles, {"--drop": dropped, "--id": [n for n in naming if n != group]})
    features = [name for name in names if name not in {*roles.values(), *dropped, *naming}]

    site = site_labels(rows, domain)
    is_target = _chosen(site, targets)
    if unlabelled is not None:
        rows, site, is_target = _with_unlabelled(
            rows, unlabelled, domain, site, is_target, features
        )
    X = clean_features(rows, features, codes)
    y, found = study_label(rows, label, is_target, task)
    tell_alike(label, rows.frame[label])
    if domain is not None:
        tell_alike(domain, pd.Series(site))
    _check_sites(site, is_target, y)
    tell_sentinels(X)
    tell_leaks(
        X[~is_target],
        y[~is_target],
        site[~is_target],
        found == "classification",
        told=[str(name) for name in X if numbers_rows(str(name), X[name])],
    )
    about = row_weights(rows, weight, is_target), row_groups(rows, group, is_target)
    return Study(X, y, site, is_target, found, *about)


def site_labels(rows: Rows, domain: str | None) -> NDArray[Any]:
    """Each row's site as text: from a column, or else the name of its file."""
    if domain is None:
        if len(rows.files) == 1:
            names = [str(name) for name in rows.frame]
            raise ValueError(
                f"which column of {rows.name} names the site of a row? Give --domain COLUMN (its "
                f"columns are {quoted(names)}), or one file per site"
            )
        return rows.site_of_row()
    column = rows.frame[domain]
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise ValueError(
            f"column {domain!r} names no site in {counted(len(missing), 'row')}, the first being "
            f"{rows.where(int(missing[0]))}: name it, or delete the row"
        )
    if whole_numbers(column):
        column = column.astype("int64")
    return column.astype(str).to_numpy(dtype=object)


def _chosen(site: NDArray[Any], targets: Collection[str]) -> NDArray[np.bool_]:
    known = list(pd.unique(site))
    for name in targets:
        if name not in known:
            raise ValueError(
                f"--target {name}: there is no such site; " + suggestion(name, known, "sites are")
            )
    chosen = np.isin(site, list(targets))
    if chosen.all():
        raise ValueError("every site is a --target: at least one with labels is needed to learn")
    return chosen


def _with_unlabelled(
    rows: Rows,
    new: Rows,
    domain: str | None,
    site: NDArray[Any],
    is_target: NDArray[np.bool_],
    features: Sequence[str],
) -> tuple[Rows, NDArray[Any], NDArray[np.bool_]]:
    """The rows of target sites below those of the sources, with the sources' columns."""
    has = [name for name in features if name in new.frame]
    if not has:
        raise ValueError(f"--unlabelled {new.name} has none of the columns {quoted(features)}")
    for name in features:
        if name not in has:
            warnings.warn(
                f"column {name!r} is not in {new.name}: it counts as missing there",
                ReadingWarning,
                stacklevel=4,
            )
    named = domain is not None and domain in new.frame
    new_site = site_labels(new, domain) if named else new.site_of_row()
    frame = pd.concat([rows.frame, new.frame.reindex(columns=has)], ignore_index=True)
    both = Rows(frame[list(rows.frame)], rows.files + new.files, rows.counts + new.counts)
    return (
        both,
        np.concatenate([site, new_site]),
        np.concatenate([is_target, np.ones(len(new_site), dtype=bool)]),
    )


def _check_sites(site: NDArray[Any], is_target: NDArray[np.bool_], y: pd.Series) -> None:
    sources = pd.Series(site[~is_target])
    counts = sources.value_counts(sort=False)
    if len(counts) == 1:
        warnings.warn(
            f"all labelled rows belong to one site, {counts.index[0]!r}: how sites differ cannot "
            "be learned from one",
            DataWarning,
            stacklevel=3,
        )
    negative = [name for name in counts.index if NEGATIVE.fullmatch(str(name))]
    if negative:
        warnings.warn(
            f"the site {negative[0]!r} is learned from: if it is one to be predicted, give "
            f"--target={negative[0]}",
            DataWarning,
            stacklevel=3,
        )
    single = counts.index[counts == 1]
    if len(single):
        warnings.warn(
            f"{counted(len(single), 'site')} with one row only ({quoted(single, 4)}): so little "
            "says next to nothing about a site",
            DataWarning,
            stacklevel=3,
        )
    labelled = pd.Series(y.notna().to_numpy()[~is_target]).groupby(sources.to_numpy()).any()
    bare = labelled.index[~labelled]
    if len(bare):
        warnings.warn(
            f"{counted(len(bare), 'site')} without any label ({quoted(bare, 4)}): their rows teach "
            "the graph, not the prediction",
            DataWarning,
            stacklevel=3,
        )
