"""LightGBM, CatBoost, GPBoost and TabPFN behind one interface: a matrix to fit and to predict."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..pooled.models import ENOUGH_ROWS, build, train
from .tabpfn import TabPFN

Array = NDArray[np.float64]
# Rounds without progress after which boosting stops, on a tenth of the rows.
PATIENCE = 50
SETTINGS: dict[str, dict[str, Any]] = {
    "lightgbm": {},
    "catboost": {"learning_rate": 0.05, "iterations": 1000, "depth": 6},
    "gpboost": {"learning_rate": 0.05, "num_leaves": 15, "min_data_in_leaf": 20},
    "tabpfn": {},
}
ROUNDS, DEFAULT_ROUNDS = 500, 100
# Fewer sources are all needed to train on.
ENOUGH_SITES = 4


class Booster(Protocol):
    """Predicts a number, or the probability of every class."""

    def predict(self, Z: Array) -> Array: ...


def fit_booster(
    name: str,
    Z: Array,
    y: NDArray[Any],
    site: NDArray[np.intp],
    regression: bool,
    settings: Mapping[str, Any],
    random_state: int,
) -> Booster:
    """Train one of `SETTINGS` on labelled rows; classes are codes 0, 1, …"""
    if name not in SETTINGS:
        raise ValueError(f"model must be one of {', '.join(SETTINGS)}, got {name!r}")
    given = {**SETTINGS[name], **settings}
    if name == "tabpfn":
        return TabPFN.fit(Z, y, regression, given, random_state)
    with threadpool_limits(1):
        if name == "lightgbm":
            unfitted = build(name, regression, given, random_state)
            return Fitted(train(unfitted, Z, y, random_state), regression)
        if name == "catboost":
            return Fitted(_catboost(Z, y, regression, given, random_state), regression)
        return MixedEffects.fit(Z, y, site, regression, given, random_state)


class Fitted:
    """A model with the interface of scikit-learn."""

    def __init__(self, model: Any, regression: bool) -> None:
        self._model, self._regression = model, regression

    def predict(self, Z: Array) -> Array:
        ask = self._model.predict if self._regression else self._model.predict_proba
        return np.asarray(ask(Z), dtype=np.float64)


def _catboost(
    Z: Array, y: NDArray[Any], regression: bool, settings: Mapping[str, Any], random_state: int
) -> Any:
    module = _package("catboost")
    kind = module.CatBoostRegressor if regression else module.CatBoostClassifier
    model = kind(
        random_seed=random_state,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        **settings,
    )
    rest, valid = _parts(y, regression, random_state)
    if valid is None:
        return model.fit(Z, y)
    return model.fit(
        Z[rest], y[rest], eval_set=(Z[valid], y[valid]), early_stopping_rounds=PATIENCE
    )


class MixedEffects:
    """Trees beside a random intercept of each site, which is integrated out at a new one (GPBoost).

    Sigrist (2022), Gaussian process boosting, JMLR 23.
    """

    def __init__(self, booster: Any, regression: bool, centre: float, spread: float) -> None:
        self._booster, self._regression = booster, regression
        self._centre, self._spread = centre, spread

    @staticmethod
    def fit(
        Z: Array,
        y: NDArray[Any],
        site: NDArray[np.intp],
        regression: bool,
        settings: Mapping[str, Any],
        random_state: int,
    ) -> "MixedEffects":
        module = _package("gpboost")
        if not regression and y.max() > 1:
            raise ValueError("GPBoost is for numbers and for two classes")
        likelihood = "gaussian" if regression else "bernoulli_logit"
        rest, valid = _sites(y, site, regression, random_state)
        # The trees' steps are as long as the label's variance is small: it is standardised.
        centre, spread = (float(y.mean()), float(y.std()) or 1.0) if regression else (0.0, 1.0)
        y = (y - centre) / spread
        parameters = {"verbose": -1, "num_threads": 1, "seed": random_state, **settings}
        rounds = DEFAULT_ROUNDS
        if valid is not None:
            model = module.GPModel(group_data=site[rest], likelihood=likelihood)
            model.set_prediction_data(group_data_pred=site[valid])
            found = module.train(
                parameters,
                module.Dataset(Z[rest], y[rest]),
                num_boost_round=ROUNDS,
                gp_model=model,
                valid_sets=[module.Dataset(Z[valid], y[valid])],
                early_stopping_rounds=PATIENCE,
                use_gp_model_for_validation=True,
                verbose_eval=False,
            )
            rounds = max(1, found.best_iteration)
        model = module.GPModel(group_data=site, likelihood=likelihood)
        booster = module.train(
            parameters,
            module.Dataset(Z, y),
            num_boost_round=rounds,
            gp_model=model,
            verbose_eval=False,
        )
        return MixedEffects(booster, regression, centre, spread)

    def predict(self, Z: Array) -> Array:
        unknown = np.full(len(Z), -1)
        found = self._booster.predict(
            data=Z, group_data_pred=unknown, predict_var=False, pred_latent=False
        )
        mean = np.asarray(found["response_mean"], dtype=np.float64)
        if self._regression:
            return self._centre + self._spread * mean
        return np.column_stack([1 - mean, mean])


def _parts(
    y: NDArray[Any], regression: bool, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Rows to train on, and a tenth for early stopping where there are enough."""
    rare = not regression and np.bincount(y).min() < 10
    if len(y) < ENOUGH_ROWS or rare:
        return np.arange(len(y)), None
    order = np.random.default_rng(random_state).permutation(len(y))
    return order[len(y) // 10 :], order[: len(y) // 10]


def _sites(
    y: NDArray[Any], site: NDArray[np.intp], regression: bool, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Like `_parts`, with whole sites for early stopping, whose random effects are unknown."""
    labels = np.unique(site)
    if len(labels) < ENOUGH_SITES:
        return _parts(y, regression, random_state)
    order = np.random.default_rng(random_state).permutation(labels)
    out = np.isin(site, order[: max(1, len(labels) // 5)])
    both = regression or (len(np.unique(y[out])) == len(np.unique(y[~out])) == 2)
    if len(y) < ENOUGH_ROWS or not both:
        return np.arange(len(y)), None
    return np.flatnonzero(~out), np.flatnonzero(out)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(
            f"this method needs the package {name}: pip install 'dapdag[boosting]'"
        ) from error
