"""Asking any estimator for what it can say about a target domain."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray
from scipy.stats import norm

from dapdag.datasets.domain_data import Split

COVERAGE = 0.9

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassPrediction:
    """Probability of every class, for every row."""

    probability: Array  # [rows, classes]
    classes: NDArray[Any]


@dataclass(frozen=True)
class NumberPrediction:
    """Expected label of every row, and how sure the method is of it, where it says so."""

    mean: Array
    std: Array | None = None
    interval: Array | None = None  # [rows, 2]


def fit(estimator: Any, split: Split, task: str) -> Any:
    """Fit on the sources; a method that needs the target's features at fit time gets them.

    The estimator's attribute ``needs_target`` says so. The target's rows then have the domain −1,
    and no labels. Ctrl-C, which ends a training of dapdag early, ends the evaluation.
    """
    X, y, domain = split.X, split.y, split.sample_domain
    about = _about_rows(estimator, split)
    if getattr(estimator, "needs_target", False):
        codes, _ = pd.factorize(np.asarray(domain, dtype=object))
        X = pd.concat([X, split.X_target], ignore_index=True)
        y = _with_unknown(y, len(split.X_target), task)
        domain = np.concatenate([codes, np.full(len(split.X_target), -1)])
        about = {k: _with_target(k, v, len(split.X_target)) for k, v in about.items()}
    elif np.asarray(domain).dtype.kind in "if" and (np.asarray(domain) < 0).any():
        # Negative numbers would say that these rows are targets.
        domain = pd.factorize(domain)[0]
    # Where both are arguments, groups are not sites but what belongs together within them.
    names = ("sample_domain",) if keeps_groups(estimator) else ("sample_domain", "groups")
    given = {name: domain for name in names if accepts(estimator.fit, name)}
    fitted = estimator.fit(X, y, **given, **about)
    if getattr(getattr(fitted, "fitted_", None), "interrupted", False):
        raise KeyboardInterrupt  # a training that was cut short is no result
    return fitted


def _about_rows(estimator: Any, split: Split) -> dict[str, NDArray[Any]]:
    """Weights and groups of the sources' rows, where there are any and `fit` takes them."""
    found: dict[str, NDArray[Any]] = {}
    if split.sample_weight is not None and accepts(estimator.fit, "sample_weight"):
        found["sample_weight"] = split.sample_weight
    if split.groups is not None and keeps_groups(estimator):
        found["groups"] = pd.factorize(split.groups)[0]
    return found


def keeps_groups(estimator: Any) -> bool:
    """Whether `fit` takes groups of rows beside their sites."""
    return {"sample_domain", "groups"} <= set(inspect.signature(estimator.fit).parameters)


def _with_target(name: str, values: NDArray[Any], n: int) -> NDArray[Any]:
    """The same for the rows of a target below: rows of usual weight, each on its own."""
    if name == "sample_weight":
        return np.append(values, np.full(n, values.mean()))
    return np.append(values, values.max() + 1 + np.arange(n))


def _with_unknown(y: pd.Series, n: int, task: str) -> pd.Series:
    """The labels and n unknown ones after them, by the convention of scikit-adaptation."""
    if task == "regression":
        return pd.Series([*y, *[np.nan] * n], name=y.name, dtype=np.float64)
    if pd.api.types.is_numeric_dtype(y):
        return pd.Series([*y, *[-1] * n], name=y.name)
    return pd.Series([*y, *[None] * n], name=y.name, dtype=object)


def accepts(method: Callable[..., Any], name: str) -> bool:
    """Whether a method has an argument of this name, or its object passes it on.

    Meta-estimators of scikit-learn pass on what their parts ask for once metadata routing is on.
    """
    if name in inspect.signature(method).parameters:
        return True
    if not sklearn.get_config()["enable_metadata_routing"]:
        return False
    routing = getattr(getattr(method, "__self__", None), "get_metadata_routing", None)
    return routing is not None and name in routing().consumes(method.__name__, [name])


def predict_classes(estimator: Any, X: pd.DataFrame) -> ClassPrediction:
    """Probabilities of the whole target domain, from one call."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba: probabilities cannot be scored"
        )
    probability = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    _check_finite(probability, estimator)
    return ClassPrediction(probability, np.asarray(estimator.classes_))


def class_labels(y: pd.Series) -> list[Any]:
    """Classes that a label has, in order; plain Python values."""
    return np.unique(y.dropna().to_numpy().astype(object)).tolist()


def aligned(found: ClassPrediction, classes: list[Any]) -> Array:
    """Probabilities in the columns of `classes`; 0 for those that the method does not know."""
    position = {label: k for k, label in enumerate(found.classes.tolist())}
    columns = [
        found.probability[:, position[label]]
        if label in position
        else np.zeros(len(found.probability))
        for label in classes
    ]
    return np.column_stack(columns)


def predict_numbers(estimator: Any, X: pd.DataFrame) -> NumberPrediction:
    """Expected labels of the whole target domain, with uncertainty where the method has it."""
    std = None
    if "return_std" in inspect.signature(estimator.predict).parameters:
        mean, std = estimator.predict(X, return_std=True)
        std = np.asarray(std, dtype=np.float64)
    else:
        mean = estimator.predict(X)
    mean = np.asarray(mean, dtype=np.float64)
    _check_finite(mean, estimator)
    interval = None
    if hasattr(estimator, "predict_interval"):
        interval = np.asarray(estimator.predict_interval(X, coverage=COVERAGE), dtype=np.float64)
    elif std is not None:
        interval = normal_interval(mean, std)
    return NumberPrediction(mean, std, interval)


def normal_interval(mean: Array, std: Array) -> Array:
    """Ends of the central interval of normal distributions that covers `COVERAGE`: [rows, 2]."""
    half = norm.ppf(0.5 + COVERAGE / 2) * std
    return np.column_stack([mean - half, mean + half])


def _check_finite(values: Array, estimator: Any) -> None:
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise ValueError(f"{type(estimator).__name__} predicted {bad} values that are not finite")


def environment_facts(estimator: Any, X: pd.DataFrame) -> tuple[float, float]:
    """Whether the target is outside the sources (1 or 0), and how far from the nearest one E is.

    The distance is in standard deviations of the sources' E. NaN for methods without E.
    """
    sources = getattr(estimator, "source_environments_", None)
    if sources is None or len(sources) < 2 or not hasattr(estimator, "environment"):
        return np.nan, np.nan
    with warnings.catch_warnings():
        # What it would warn of stands in the results, or was said when it predicted.
        warnings.simplefilter("ignore", UserWarning)
        found = estimator.environment(X).iloc[0]
    columns = [c for c in sources.columns if str(c).endswith("_mean")]
    known = sources[columns].to_numpy(dtype=np.float64)
    spread = known.std(axis=0)
    steps = (known - found[columns].to_numpy(dtype=np.float64)) / np.where(spread > 0, spread, 1.0)
    return float(bool(found["outside"])), float(np.sqrt((steps**2).sum(axis=1)).min())
