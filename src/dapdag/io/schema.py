"""What a study's columns and sites are, in a form that can be shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dapdag._runtime.text import level, span
from dapdag.io.columns import whole_numbers
from dapdag.io.study import Study


@dataclass(frozen=True)
class ColumnSummary:
    """One column as the estimator will take it."""

    name: str
    type: str  # "number", "binary", "category" or "constant"
    values: str  # its range, or its levels
    missing: float  # share of the rows
    absent_at: tuple[str, ...]  # sites without any value


@dataclass(frozen=True)
class SiteSummary:
    """One site: how many rows, how many of them labelled, and what the label is there."""

    name: str
    role: str  # "source" or "target"
    rows: int
    labelled: int
    label: dict[str, float]  # mean of a number, or the share of each class
    missing: float  # share of the cells


def describe_columns(study: Study) -> list[ColumnSummary]:
    """Type, values and missing cells of every feature."""
    absent = study.X.isna().groupby(study.site, sort=False).all()
    return [
        ColumnSummary(
            str(name),
            _type(column),
            _values(column),
            float(column.isna().mean()),
            tuple(str(site) for site in absent.index[absent[name].to_numpy()]),
        )
        for name, column in study.X.items()
    ]


def describe_sites(study: Study) -> list[SiteSummary]:
    """The sources and then the targets, each in order of appearance."""
    found = []
    for role, names, chosen in (
        ("source", study.sources, ~study.is_target),
        ("target", study.targets, study.is_target),
    ):
        for name in names:
            rows = np.flatnonzero((study.site == name) & chosen)
            labels = study.y.iloc[rows].dropna() if role == "source" else study.y.iloc[:0]
            found.append(
                SiteSummary(
                    name,
                    role,
                    len(rows),
                    len(labels),
                    _label(study, labels),
                    float(study.X.iloc[rows].isna().to_numpy().mean()),
                )
            )
    return found


def _label(study: Study, labels: pd.Series) -> dict[str, float]:
    if len(labels) == 0:
        return {}
    if study.task == "regression":
        return {"mean": float(labels.mean())}
    shares = labels.value_counts(normalize=True).sort_index()
    return {level(value): float(share) for value, share in shares.items()}


def _type(column: pd.Series) -> str:
    n = column.nunique()
    if n <= 2:
        return "binary" if n == 2 else "constant"
    return "category" if isinstance(column.dtype, pd.CategoricalDtype) else "number"


def _values(column: pd.Series) -> str:
    known = column.dropna()
    if _type(column) == "number":
        shown = span(known.min(), known.max())
        few = whole_numbers(column) and known.nunique() <= 10
        return f"{shown} ({known.nunique()} values)" if few else shown
    levels = [level(value) for value in sorted(known.unique(), key=str)]
    shown = ", ".join(levels[:6])
    return f"{len(levels)}: {shown}{', …' if len(levels) > 6 else ''}" if len(levels) > 2 else shown
