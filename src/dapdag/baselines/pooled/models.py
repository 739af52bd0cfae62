"""The models that a user would take instead, built and fitted on plain matrices."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .columns import Scale

ModelName = Literal["boosting", "lightgbm", "forest", "linear"]
Array = NDArray[np.float64]
# Fewer rows are not worth a part kept for early stopping.
ENOUGH_ROWS = 100

SETTINGS: dict[str, dict[str, Any]] = {
    "boosting": {"learning_rate": 0.05, "max_iter": 500, "n_iter_no_change": 20},
    "lightgbm": {"learning_rate": 0.05, "n_estimators": 1000, "num_leaves": 31},
    "forest": {"n_estimators": 200, "min_samples_leaf": 3},
    "linear": {},
}
SCALE: dict[str, Scale] = {
    "boosting": "raw",
    "lightgbm": "raw",
    "forest": "raw",
    "linear": "standard",
}


def build(model: str, regression: bool, settings: Mapping[str, Any], random_state: int) -> Any:
    """An unfitted model with its defaults here, and `settings` before them."""
    if model not in SETTINGS:
        raise ValueError(f"model must be one of {', '.join(SETTINGS)}, got {model!r}")
    given = {**SETTINGS[model], **settings}
    if model == "boosting":
        from sklearn import ensemble

        kind = "HistGradientBoostingRegressor" if regression else "HistGradientBoostingClassifier"
        return getattr(ensemble, kind)(random_state=random_state, **given)
    if model == "forest":
        from sklearn import ensemble

        kind = "RandomForestRegressor" if regression else "RandomForestClassifier"
        share = {"max_features": 1 / 3 if regression else "sqrt"}
        return getattr(ensemble, kind)(random_state=random_state, **{**share, **given})
    if model == "lightgbm":
        return _lightgbm(regression)(
            random_state=random_state, n_jobs=1, deterministic=True, verbosity=-1, **given
        )
    from sklearn.linear_model import LogisticRegression, Ridge

    if regression:
        return Ridge(**given)
    return LogisticRegression(**{"max_iter": 1000, **given})


def train(
    fitted: Any, Z: Array, y: NDArray[Any], random_state: int, weight: Array | None = None
) -> Any:
    """Fit, with early stopping where the model has it, on one thread: more only get in each
    other's way on shared cores."""
    rare = y.dtype.kind in "iu" and np.bincount(y).min() < 10
    stops = len(y) >= ENOUGH_ROWS and not rare
    if hasattr(fitted, "early_stopping"):
        fitted.set_params(early_stopping=stops)
    with threadpool_limits(1):
        if type(fitted).__module__.startswith("lightgbm") and stops:
            return _stopped_lightgbm(fitted, Z, y, random_state, weight)
        return fitted.fit(Z, y, sample_weight=weight)


def _stopped_lightgbm(
    fitted: Any, Z: Array, y: NDArray[Any], random_state: int, weight: Array | None
) -> Any:
    from lightgbm import early_stopping

    order = np.random.default_rng(random_state).permutation(len(y))
    valid, rest = order[: len(y) // 10], order[len(y) // 10 :]
    return fitted.fit(
        Z[rest],
        y[rest],
        sample_weight=None if weight is None else weight[rest],
        eval_X=Z[valid],
        eval_y=y[valid],
        eval_sample_weight=None if weight is None else [weight[valid]],
        callbacks=[early_stopping(50, verbose=False)],
    )


def _lightgbm(regression: bool) -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise ValueError(
            "this method needs the package lightgbm: pip install 'dapdag[bench]'"
        ) from error
    return lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
