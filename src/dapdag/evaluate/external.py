"""External validation: a fitted model at sites whose outcomes are known."""

from typing import Any

import numpy as np
import pandas as pd

from dapdag._runtime.text import level, quoted
from dapdag.evaluate.clinical.by_site import usual_threshold, validation_of
from dapdag.evaluate.clinical.outcomes import outcomes_of
from dapdag.evaluate.clinical.validation import Validation
from dapdag.evaluate.prediction import accepts
from dapdag.evaluate.references import CONSTANT

NEW_SITE = "new site"


def validate(
    model: Any,
    X: Any,
    y: Any,
    sample_domain: Any = None,
    *,
    event: Any = None,
    threshold: float | None = None,
    name: str = "model",
) -> Validation:
    """Validate a fitted model at one new site, or at several.

    Each site is predicted as a whole, from its features alone; rows without an outcome are
    predicted with the others and not scored. A model of this package is compared with its sources'
    prevalence (of numbers, their mean) for everyone.

    Parameters
    ----------
    model : fitted classifier or regressor
        Any with scikit-learn's interface.
    X : DataFrame or array of shape (rows, columns)
        Rows of new sites.
    y : sequence, one per row
        Outcomes; missing ones are None or NaN.
    sample_domain : sequence of labels, one per row, optional
        The site of every row; None means that all rows are one.
    event : class label, optional
        The class whose probability is validated; by default the second of two.
    threshold : float, optional
        Probability from which one would treat, for the net benefit, between 0 and 1. By default the
        sources' share of events, where the model knows it, else that in `y`, in whole per cent.
    name : str, default="model"
        What the model is called in tables and figures.

    Returns
    -------
    Validation
        Statistics by site and over sites.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from dapdag.datasets import make_regression_domains
    >>> from dapdag.evaluate import validate
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = Ridge().fit(split.X, split.y)
    >>> found = validate(model, split.X_target, split.y_target)
    >>> list(found.sites["statistic"].unique())
    ['r2', 'rmse', 'calibration_in_the_large', 'calibration_slope']
    """
    label = pd.Series(np.asarray(y)).reset_index(drop=True)
    n = len(X)
    site = (
        np.full(n, NEW_SITE, dtype=object) if sample_domain is None else np.asarray(sample_domain)
    )
    if len(label) != n or len(site) != n:
        raise ValueError(
            f"X, y and sample_domain need one entry per row; got {n}, {len(label)}, {len(site)}"
        )
    known = label.notna().to_numpy()
    if not known.any():
        raise ValueError("no row has an outcome: there is nothing to validate")
    predicted = predictions_of(model, X, None if sample_domain is None else site, label[known])
    if hasattr(model, "classes_"):
        # 1.0 is the class 1: gaps turn a column of whole numbers into floats.
        names = {c: level(c) for c in np.asarray(model.classes_).tolist()}
        label = label.astype(object).map(names)
    table = predicted.assign(target=list(site), method=name, label=label)[known]
    task = "regression" if "predicted" in table else "classification"
    constant = source_prediction(model)
    if constant is not None:
        everyone = table.assign(method=CONSTANT[task])
        everyone[list(map(str, predicted))] = constant
        table = pd.concat([everyone, table], ignore_index=True)
    outcomes, event = outcomes_of(table, task, event)
    if threshold is None and constant is not None and task == "classification":
        threshold = usual_threshold(float(outcomes["p"].iloc[0]))
    return validation_of(outcomes, task, name, event, threshold)


def source_prediction(model: Any) -> tuple[float, ...] | None:
    """The sources' mean, or share of each class, that a model of this package remembers."""
    record = getattr(model, "record_", None)
    known = [s for s in record.sources if s.label] if record is not None else []
    rows = np.array([s.labelled for s in known], dtype=np.float64)
    if not rows.sum():
        return None
    values = np.array([s.label for s in known]) * rows[:, None] / rows.sum()
    shares = values.sum(axis=0)
    return tuple(shares.tolist() if hasattr(model, "classes_") else shares[:1].tolist())


def predictions_of(model: Any, X: Any, site: Any, known: pd.Series) -> pd.DataFrame:
    """Column predicted, or probability_CLASS for each class, of every row."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        try:
            known.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y of a regression must be numbers ({error})") from error
        return pd.DataFrame({"predicted": _by_site(model.predict, X, site)})
    strange = known[~known.isin(list(classes))]
    if len(strange):
        raise ValueError(
            f"y holds {strange.iloc[0]!r}, which is none of the classes that the model knows: "
            f"{quoted(classes)}"
        )
    names = [f"probability_{level(label)}" for label in classes]
    return pd.DataFrame(_by_site(model.predict_proba, X, site), columns=names)


def _by_site(predict: Any, X: Any, site: Any) -> np.ndarray:
    if site is None:
        return np.asarray(predict(X))
    if accepts(predict, "sample_domain"):
        return np.asarray(predict(X, sample_domain=site))
    found: Any = None
    for one in pd.unique(site):
        rows = np.flatnonzero(site == one)
        values = np.asarray(predict(X.iloc[rows] if hasattr(X, "iloc") else X[rows]))
        found = np.empty((len(site), *values.shape[1:])) if found is None else found
        found[rows] = values
    return found
