"""Features, label and domain of every row as one object."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor

from dapdag.data.row_roles import checked_weights
from dapdag.datasets.domain_data import DomainData, Task


def as_domain_data(
    X: Any,
    y: Any,
    sample_domain: Any,
    estimators: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
) -> DomainData:
    """A `DomainData` as it is, or one of the arrays."""
    if isinstance(X, DomainData):
        if y is not None or sample_domain is not None:
            raise ValueError("the data set has its own y and sample_domain: give X alone")
        if sample_weight is not None or groups is not None:
            raise ValueError(
                "sample_weight and groups of a DomainData are its own: "
                "dataclasses.replace(data, sample_weight=…)"
            )
        return X
    if y is None or sample_domain is None:
        raise ValueError("X needs y and sample_domain, one value each per row")
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X)).add_prefix("x")
    frame = frame.reset_index(drop=True)
    named = getattr(y, "name", None)
    label = pd.Series(np.asarray(y), name="y" if named is None else named)
    domain = np.asarray(sample_domain)
    if domain.ndim != 1 or not len(frame) == len(label) == len(domain):
        raise ValueError(
            f"X, y and sample_domain must have one entry per row; got {len(frame)}, {len(label)} "
            f"and an array of shape {domain.shape}."
        )
    if pd.isna(domain).any():
        raise ValueError(f"sample_domain is missing in {int(pd.isna(domain).sum())} row(s)")
    return DomainData(
        *(frame, label, domain, task_of(label, estimators)),
        name="data",
        sample_weight=checked_weights(sample_weight, len(frame)),
        groups=None if groups is None else np.asarray(groups),
    )


def task_of(label: pd.Series, estimators: Any) -> Task:
    """What the estimators are for; else text, booleans and at most two values are classes."""
    if isinstance(estimators, Mapping):
        for estimator in estimators.values():
            if is_classifier(estimator):
                return "classification"
            if is_regressor(estimator):
                return "regression"
    if not pd.api.types.is_numeric_dtype(label) or pd.api.types.is_bool_dtype(label):
        return "classification"
    return "classification" if label.nunique() <= 2 else "regression"
