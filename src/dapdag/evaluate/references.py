"""Models that any other has to beat: the sources' share or mean for everyone, and a regression."""

from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor

from dapdag.baselines import registry

CONSTANT = {"classification": "prevalence", "regression": "mean"}
REGRESSION = "linear"


def reference_models(task: str, random_state: int = 0) -> dict[str, Any]:
    """Unfitted estimators by name.

    ``"prevalence"`` (of numbers ``"mean"``) predicts the sources' class shares, or mean, for every
    row; ``"linear"`` is a logistic (linear) regression on the pooled sources, with indicators of
    missing cells.

    Parameters
    ----------
    task : {"regression", "classification"}
        What is predicted.
    random_state : int, default=0
        Seed, at least 0.

    Returns
    -------
    dict from str to estimator
        Unfitted estimators by name.
    """
    if task == "classification":
        constant: Any = DummyClassifier(strategy="prior")
    else:
        constant = DummyRegressor()
    return {
        CONSTANT[task]: constant,
        REGRESSION: registry.make(REGRESSION, task, random_state=random_state),
    }
