"""The paper's preparation of raw studies: complete tables.

Rows without a label are dropped. Missing cells are imputed within each study first, and from other
studies where a feature is missing in the whole study. Then the studies with the most features are
kept, and numbers are standardised.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.prepare_report import StudyReport, describe_features, describe_studies


def prepare_studies(
    data: DomainData,
    *,
    n_studies: int | None = None,
    imputer: Any = None,
    min_observed: int = 10,
    standardise: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[DomainData, StudyReport]:
    """Complete, comparable tables from studies with missing cells and missing features.

    Parameters
    ----------
    data : DomainData
        Studies as domains, NaN where cells and labels are missing.
    n_studies : int, optional
        How many to keep: those that lacked the fewest features, then those with the smaller share
        of missing cells. All by default; all of them help the imputation.
    imputer : object, optional
        Has ``fit_transform(DataFrame) -> DataFrame``; MissForest by default. It never sees the
        label.
    min_observed : int, default=10
        In a study with fewer values of a feature (and fewer than rows) the feature counts as
        missing: too few values to fit a forest.
    standardise : bool, default=True
        Mean 0 and variance 1 for features that are neither binary nor categories, over all selected
        studies together, so that the shift between them stays.
    random_state : int, default=0
        Seed of MissForest, and trees it grows at once; an imputer that is given has its own.
    n_jobs : int, optional
        Seed of MissForest, and trees it grows at once; an imputer that is given has its own.

    Returns
    -------
    DomainData
        The prepared data.
    StudyReport
        What was dropped, imputed and borrowed in each study.
    """
    _check(data, n_studies)
    labelled = _labelled(data)
    study = labelled.sample_domain
    X, dropped = _without_empty_features(labelled.X)
    binary = {c: levels for c in X if (levels := _two_values(X[c])) is not None}
    coded = _with(X, {c: _share_of_high(X[c], high) for c, (_, high) in binary.items()})
    lacking = _lacking(X, study, min_observed)
    make = _imputer_maker(imputer, random_state, n_jobs)
    inside = _impute_each_study(coded, study, lacking, make)
    filled = _threshold(_borrow(inside, make), binary)
    selected = _select(X, study, lacking, n_studies)
    rows = np.isin(study, np.array(selected, dtype=study.dtype))
    complete = filled[rows].reset_index(drop=True)
    scale = _scale(complete, binary) if standardise else {}
    prepared = replace(
        labelled,
        X=_with(complete, {c: (complete[c] - mean) / sd for c, (mean, sd) in scale.items()}),
        y=_as_classes(labelled.y[rows].reset_index(drop=True), data.task),
        sample_domain=study[rows],
        env={k: v for k, v in data.env.items() if k in selected},
        # The oracle is a function of the columns before standardisation.
        conditional=None if standardise or dropped else data.conditional,
    )
    report = StudyReport(
        studies=describe_studies(data, X, inside, study, lacking, selected),
        features=describe_features(X, binary, scale, lacking),
        dropped=tuple(dropped),
    )
    return prepared, report


def _check(data: DomainData, n_studies: int | None) -> None:
    if n_studies is not None and not 1 <= n_studies <= len(data.domains):
        raise ValueError(
            f"n_studies must be from 1 to {len(data.domains)}, the number of studies; "
            f"got {n_studies!r}."
        )
    if data.y.isna().all():
        raise ValueError(f"{data.name}: the label {data.y.name!r} is missing in every row.")


def _labelled(data: DomainData) -> DomainData:
    known = data.y.notna().to_numpy()
    return replace(
        data,
        X=data.X[known].reset_index(drop=True),
        y=data.y[known].reset_index(drop=True),
        sample_domain=data.sample_domain[known],
    )


def _without_empty_features(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    empty = [c for c in X if X[c].isna().all()]
    if len(empty) == X.shape[1]:
        raise ValueError("No feature has a value in any study: there is nothing to prepare.")
    return X.drop(columns=empty), [str(c) for c in empty]


def _two_values(column: pd.Series) -> tuple[Any, Any] | None:
    """The two values of a binary number, in order."""
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column):
        return None
    values = np.sort(column.dropna().unique())
    return (values[0], values[1]) if len(values) == 2 else None


def _share_of_high(column: pd.Series, high: Any) -> pd.Series:
    """1 for the higher of two values, 0 for the lower, NaN where missing."""
    return (column == high).astype(np.float64).where(column.notna())


def _with(table: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    """A copy with some columns replaced, whatever their names are."""
    copy = table.copy()
    for name, column in columns.items():
        copy[name] = column
    return copy


def _lacking(X: pd.DataFrame, study: np.ndarray, min_observed: int) -> dict[Any, list[Any]]:
    """Features that are missing in all rows of a study, or in nearly all."""
    found = {}
    for name in pd.unique(study):
        rows = X[study == name].notna()
        needed = min(min_observed, len(rows))
        found[name] = [c for c in rows if rows[c].sum() < max(needed, 1)]
    return found


def _imputer_maker(imputer: Any, random_state: int, n_jobs: int | None) -> Callable[[], Any]:
    if imputer is None:
        from dapdag.baselines.missforest.imputer import MissForestImputer

        imputer = MissForestImputer(random_state=random_state, n_jobs=n_jobs)
    return lambda: clone(imputer)


def _impute_each_study(
    X: pd.DataFrame, study: np.ndarray, lacking: dict[Any, list[Any]], make: Any
) -> pd.DataFrame:
    """Missing cells imputed from the study's own rows; features missing in a whole study stay."""
    parts = []
    for name, absent in lacking.items():
        rows = X[study == name]
        there = [c for c in X if c not in absent]
        part = rows.copy()
        if there and rows[there].isna().any(axis=None):
            part[there] = _imputed(make(), rows[there], f"study {name!r}")
        parts.append(part)
    return pd.concat(parts).loc[X.index]


def _borrow(X: pd.DataFrame, make: Any) -> pd.DataFrame:
    """The remaining missing cells, imputed from all studies together."""
    return _imputed(make(), X, "all studies") if X.isna().any(axis=None) else X


def _imputed(imputer: Any, table: pd.DataFrame, where: str) -> pd.DataFrame:
    found = imputer.fit_transform(table)
    if not isinstance(found, pd.DataFrame) or list(found.columns) != list(table.columns):
        raise ValueError(
            f"The imputer must return a DataFrame of the columns it was given ({where}); use "
            'set_output(transform="pandas") with those of scikit-learn.'
        )
    left = [c for c in found if found[c].isna().any()]
    if left:
        raise ValueError(f"The imputer left missing cells in {left} ({where}).")
    # What was there stays as it was, to the last bit.
    return found.set_axis(table.index).where(table.isna(), table)


def _threshold(filled: pd.DataFrame, binary: dict[Any, tuple[Any, Any]]) -> pd.DataFrame:
    """Imputed fractions of binary features to 0 or 1 at one half, and back to their values."""
    return _with(
        filled,
        {c: np.where(filled[c] >= 0.5, high, low) for c, (low, high) in binary.items()},
    )


def _select(
    X: pd.DataFrame, study: np.ndarray, lacking: dict[Any, list[Any]], n: int | None
) -> list[Any]:
    """Studies that lacked the fewest features, in their original order."""
    names = list(lacking)
    share = {name: X[study == name].isna().to_numpy().mean() for name in names}
    best = sorted(names, key=lambda s: (len(lacking[s]), share[s], names.index(s)))
    kept = best[: len(names) if n is None else n]
    return [name for name in names if name in kept]


def _scale(X: pd.DataFrame, binary: dict[Any, Any]) -> dict[Any, tuple[float, float]]:
    numbers = [
        c
        for c in X
        if c not in binary
        and pd.api.types.is_numeric_dtype(X[c])
        and not isinstance(X[c].dtype, pd.CategoricalDtype)
    ]
    return {c: (float(X[c].mean()), float(X[c].std(ddof=0)) or 1.0) for c in numbers}


def _as_classes(y: pd.Series, task: str) -> pd.Series:
    """Classes that only missing labels had made floats are integers again."""
    if task != "classification" or not pd.api.types.is_float_dtype(y) or (y % 1 != 0).any():
        return y
    return y.astype(np.int64)
