"""Report of what `prepare_studies` dropped, imputed and selected."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import DomainData

Lacking = dict[Any, list[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class StudyReport:
    """What `prepare_studies` did.

    Attributes
    ----------
    studies : one row per study, with the columns rows (that remain), unlabelled (rows dropped),
        cells (of those that remain), imputed (cells filled in from the study itself), borrowed
        (cells filled in with the help of other studies), lacking (names of the features that the
        study did not have) and selected.
    features : one row per feature, with the columns kind (binary, number or category), mean and
        sd by which it was standardised (NaN where it was not), and lacking (number of studies).
    dropped : features that no study has.
    """

    studies: pd.DataFrame
    features: pd.DataFrame
    dropped: tuple[str, ...]

    def __str__(self) -> str:
        chosen = self.studies[self.studies["selected"]]
        lines = [
            f"{len(chosen)} of {len(self.studies)} studies selected, {int(chosen['rows'].sum())} "
            f"rows; {int(self.studies['unlabelled'].sum())} rows without label dropped"
        ]
        if self.dropped:
            lines.append(f"features that no study has, dropped: {', '.join(self.dropped)}")
        for name, row in self.studies.iterrows():
            cells = max(int(row["cells"]), 1)
            text = f"{name}: {row['rows']} rows, {row['imputed'] / cells:.1%} of the cells imputed"
            if row["lacking"]:
                borrowed = f"{row['borrowed'] / cells:.1%} borrowed for {', '.join(row['lacking'])}"
                text += f", {borrowed}"
            lines.append(text + ("" if row["selected"] else " (not selected)"))
        return "\n".join(lines)

    __repr__ = __str__


def describe_studies(
    data: DomainData,
    X: pd.DataFrame,
    inside: pd.DataFrame,
    study: np.ndarray,
    lacking: Lacking,
    selected: list[Any],
) -> pd.DataFrame:
    """Counts of rows and cells; `X` are the labelled rows, `inside` what each study filled in."""
    unlabelled = data.y.isna().to_numpy()
    rows = []
    for name in data.domains:
        mine = study == name
        missing = int(X[mine].isna().to_numpy().sum())
        borrowed = int(inside[mine].isna().to_numpy().sum())
        rows.append(
            {
                "study": name,
                "rows": int(mine.sum()),
                "unlabelled": int(unlabelled[data.sample_domain == name].sum()),
                "cells": X[mine].size,
                "imputed": missing - borrowed,
                "borrowed": borrowed,
                "lacking": [str(c) for c in lacking.get(name, [])],
                "selected": name in selected,
            }
        )
    return pd.DataFrame(rows).set_index("study")


def describe_features(
    X: pd.DataFrame,
    binary: dict[Any, tuple[Any, Any]],
    scale: dict[Any, tuple[float, float]],
    lacking: Lacking,
) -> pd.DataFrame:
    """Kind and scale of every feature, and how many studies lack it."""
    rows = []
    for c in X:
        kind = "number" if pd.api.types.is_numeric_dtype(X[c]) else "category"
        mean, sd = scale.get(c, (np.nan, np.nan))
        rows.append(
            {
                "feature": c,
                "kind": "binary" if c in binary else kind,
                "mean": mean,
                "sd": sd,
                "lacking": sum(c in absent for absent in lacking.values()),
            }
        )
    return pd.DataFrame(rows).set_index("feature")
