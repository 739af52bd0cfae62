"""Checks of user input: a valid `Sample`, or an error that says what to do."""

import re
import warnings
from collections.abc import Hashable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    column_or_1d,
    validate_data,
)

from .._runtime.warning import DataWarning
from ..data.bounds import refuse_labels_outside
from ..data.dates import holds_dates
from ..data.domains import domain_array
from ..data.limits import MAX_COLUMNS
from ..data.row_roles import (
    checked_groups,
    checked_weights,
    relative,
    warn_of_lost_domains,
    warn_of_shared_groups,
)
from ..data.sample import Sample, in_fixed_order
from .categorical import categorical_columns

NEW_DOMAIN = "new"
# Intervals of labels beyond these would not be finite, or vanish.
SMALLEST_LABEL, LARGEST_LABEL = 1e-300, 1e304
NEGATIVE = re.compile(r"\s*[-−]\d+\s*")


def as_frame(estimator: Any, X: Any, *, reset: bool) -> pd.DataFrame:
    """`X` as a DataFrame of numeric or discrete columns, checked against the fitted one.

    Tables of other libraries (polars, pyarrow) keep the names of their columns.
    """
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas") and np.ndim(X) == 2:
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        frame = X
        if isinstance(frame.columns, pd.MultiIndex):
            raise ValueError(
                f"the columns of X have {frame.columns.nlevels} levels of names, such as "
                f"{frame.columns[0]!r}: give every column one name, for example by "
                "X.columns = X.columns.map('_'.join)"
            )
        repeated = frame.columns[frame.columns.duplicated()]
        if len(repeated):
            times = int((frame.columns == repeated[0]).sum())
            raise ValueError(
                f"column {repeated[0]!r} appears {times} times: give every column a name of its own"
            )
        _check_feature_names(estimator, frame, reset=reset)
        _check_n_features(estimator, frame, reset=reset)
        if frame.shape[1] == 0:
            raise ValueError(
                f"0 feature(s) (shape={frame.shape}) while a minimum of 1 is required."
            )
        if frame.shape[1] > MAX_COLUMNS:
            raise ValueError(
                f"X has {frame.shape[1]} columns, and a graph over more than {MAX_COLUMNS} of "
                "them cannot be learned in reasonable time: choose the columns that matter first"
            )
        if len(frame) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={frame.shape}): X has no rows")
    else:
        array = validate_data(
            estimator, X, reset=reset, dtype=None, ensure_all_finite=False, skip_check_array=False
        )
        frame = pd.DataFrame(array, columns=_default_names(estimator.n_features_in_))
    if any(dtype == np.dtype(object) for dtype in frame.dtypes):
        frame = frame.apply(_usable, axis=0)
    for name in frame:
        _check_column(name, frame[name])
    return frame


def _usable(column: pd.Series) -> pd.Series:
    """An object column as numbers where all its values are numbers."""
    if column.dtype != np.dtype(object):
        return column
    strange = [v for v in column if not (pd.api.types.is_scalar(v) or v is None)]
    if strange:
        raise TypeError(
            f"column {column.name!r}: argument must be a string or a number, not "
            f"{type(strange[0]).__name__!r}"
        )
    return column.infer_objects()


def _check_column(name: Hashable, column: pd.Series) -> None:
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise _dates(name, column)
    if pd.api.types.is_complex_dtype(column):
        raise ValueError(f"Complex data not supported: column {name!r}")
    if pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        infinite = int(np.isinf(values).sum())
        if infinite:
            raise ValueError(
                f"Input X contains infinity: column {name!r} has {infinite} infinite value(s); "
                "replace them by NaN if they stand for missing values"
            )


def _dates(name: Hashable, column: pd.Series) -> ValueError:
    first = str(next(iter(column.dropna()), pd.NaT))
    return ValueError(
        f"column {name!r} holds dates or times ({first!r}): turn it into a "
        "number, for example by (pandas.to_datetime(column) - pandas.Timestamp('2000')).dt.days, "
        "or drop it; name it in categorical_features if it stands for a few levels"
    )


def _default_names(n: int) -> list[str]:
    return [f"x{j}" for j in range(n)]


def new_domains(sample_domain: Any, n_rows: int) -> tuple[list[Hashable], NDArray[np.intp]]:
    """Labels of the domains in order of appearance, and each row's code."""
    if sample_domain is None:
        return [NEW_DOMAIN], np.zeros(n_rows, dtype=np.intp)
    codes, labels = pd.factorize(domain_array(sample_domain, n_rows))
    return [plain(v) for v in labels], codes


def training_sample(
    estimator: Any,
    X: Any,
    y: Any,
    sample_domain: Any,
    regression: bool,
    sample_weight: Any = None,
    groups: Any = None,
) -> Sample:
    """Check everything that `fit` receives. Negative integers in sample_domain are targets, and
    rows of weight 0 are left out."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    label_name = getattr(y, "name", None) if hasattr(y, "to_numpy") else None
    label_name = label_name if label_name not in (None, "") else "y"
    frame = as_frame(estimator, X, reset=True)
    target = column_or_1d(y, warn=True)
    if len(target) != len(frame):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {len(frame)} rows, "
            f"y has {len(target)}"
        )
    if sample_domain is None:
        labels = np.zeros(len(frame), dtype=np.int64)
    else:
        labels = domain_array(sample_domain, len(frame))
    weight, group = checked_weights(sample_weight, len(frame)), checked_groups(groups, len(frame))
    if weight is not None and not weight.all():
        rows = np.flatnonzero(weight)
        frame, target = frame.iloc[rows].infer_objects(), target[rows]
        dropped, labels, weight = labels[weight == 0], labels[rows], weight[rows]
        group = None if group is None else group[rows]
        warn_of_lost_domains(dropped, labels)
    if group is not None:
        warn_of_shared_groups(group, labels)
    is_target = _is_target(labels)
    _tell_negative_texts(labels)
    if is_target.all():
        raise ValueError(
            "sample_domain has no source: every label is negative, and negative integers mark "
            "unlabelled targets"
        )
    names, codes = _sources_first(labels, is_target)
    if label_name in set(frame.columns):
        raise ValueError(
            f"the label's name {label_name!r} is also a column of X: drop that column, or the "
            "model would see the label"
        )
    values, classes = numbers(target, is_target) if regression else _classes(target, is_target)
    if regression:
        _refuse_constant(values[~np.isnan(values)])
    n_sources = len({plain(v) for v in labels[~is_target]})
    if len(frame) < 2:
        raise ValueError("n_samples=1: at least 2 rows are needed to learn anything")
    categorical = categorical_columns(getattr(estimator, "categorical_features", None), frame)
    for name in frame:
        if name not in categorical and holds_dates(frame[name]):
            raise _dates(name, frame[name])
    sample = Sample(frame, values, codes, tuple(names), n_sources, label_name, classes, categorical)
    refuse_labels_outside(sample, getattr(estimator, "label_bounds", None))
    return in_fixed_order(replace(sample, weight=relative(weight), group=group))


def _is_target(labels: NDArray) -> NDArray[np.bool_]:
    """Negative integers, which may stand beside the names of sources."""
    if labels.dtype.kind == "O":
        return np.array([isinstance(v, Integral) and v < 0 for v in labels], dtype=bool)
    return labels < 0 if labels.dtype.kind in "iu" else np.zeros(len(labels), dtype=bool)


def _tell_negative_texts(labels: NDArray) -> None:
    """A target that became text when a table was read would be learned from as a source."""
    if labels.dtype.kind not in "OU":
        return
    found = sorted({v for v in labels if isinstance(v, str) and NEGATIVE.fullmatch(v)})
    if found:
        warnings.warn(
            f"sample_domain holds the text {str(found[0])!r}, which counts as a source: negative "
            "integers mark unlabelled targets, texts do not",
            DataWarning,
            stacklevel=5,
        )


def _sources_first(labels: NDArray, is_target: NDArray) -> tuple[list[Hashable], NDArray[np.intp]]:
    order = pd.unique(np.concatenate([labels[~is_target], labels[is_target]]))
    return [plain(v) for v in order], pd.Index(order).get_indexer(pd.Index(labels))


def plain(label: Any) -> Hashable:
    return label.item() if isinstance(label, np.generic) else label


def numbers(target: NDArray, is_target: NDArray) -> tuple[NDArray, None]:
    try:
        values = np.array(target, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y of a regression must be numbers ({error}): use DAPDAGClassifier for classes"
        ) from error
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(
            f"Input y contains infinity or a value too large, at position {infinite[0]}"
        )
    values[is_target] = np.nan
    known = values[~np.isnan(values)]
    _check_some_labels(~np.isnan(values))
    size = float(np.abs(known).max())
    if not SMALLEST_LABEL <= size <= LARGEST_LABEL and size:
        raise ValueError(
            f"the largest label is {size:.3g} in size, too {'large' if size > 1 else 'small'} to "
            "compute with: change its unit"
        )
    return values, None


def _refuse_constant(known: NDArray[np.float64]) -> None:
    if len(known) > 1 and np.ptp(known) == 0:
        raise ValueError(
            f"all labels are {known[0]:g}: y needs different values, there is nothing to predict"
        )


def _classes(target: NDArray, is_target: NDArray) -> tuple[NDArray, NDArray]:
    from sklearn.utils.multiclass import check_classification_targets

    if target.dtype.kind == "f" and np.isinf(target).any():
        raise ValueError("Input y contains infinity or a value too large")
    known = pd.notna(target) & ~is_target
    _check_some_labels(known)
    check_classification_targets(target[known])
    classes = np.unique(target[known])
    if len(classes) < 2:
        (only,) = classes.tolist()
        raise ValueError(
            f"Classifier can't train when only one class is present: all labels are {only!r}"
        )
    values = target.astype(object)
    values[~known] = None
    return values, classes


def _check_some_labels(known: NDArray) -> None:
    if not known.any():
        raise ValueError("no row of the sources has a label: y is missing everywhere")
