"""The hyper-parameters that a search tries, as many for every method; the first is the default.

They stand around the values that the methods' authors or packages recommend.
"""

from typing import Any

Grid = tuple[dict[str, Any], ...]
N_CANDIDATES = 6

_SLOWER: dict[str, Any] = {"learning_rate": 2e-3, "max_epochs": 300, "patience": 40}

_NETWORK: Grid = (
    {},
    {"hidden": 32},
    {"hidden": 8},
    {"weight_decay": 1e-2},
    _SLOWER,
    {"hidden": 32, "weight_decay": 1e-2},
)
_ENVIRONMENT: Grid = (
    {},
    {"env_dim": 2},
    {"hidden": 32},
    {"weight_decay": 1e-2},
    _SLOWER,
    {"env_dim": 3, "hidden": 32},
)


def _settings(*choices: dict[str, Any]) -> Grid:
    return tuple({"settings": choice} if choice else {} for choice in choices)


def _with_base(*choices: tuple[dict[str, Any], str | None]) -> Grid:
    return tuple({"settings": settings, "base": base} for settings, base in choices)


_LIGHTGBM: Grid = _settings(
    {},
    {"num_leaves": 15},
    {"min_child_samples": 60},
    {"reg_lambda": 10.0, "colsample_bytree": 0.7},
    {"learning_rate": 0.02, "n_estimators": 2000},
    {"num_leaves": 7, "min_child_samples": 60},
)
_CATBOOST: Grid = _settings(
    {},
    {"depth": 4},
    {"depth": 8},
    {"l2_leaf_reg": 10.0},
    {"learning_rate": 0.02, "iterations": 2000},
    {"depth": 4, "l2_leaf_reg": 10.0},
)
_GPBOOST: Grid = _settings(
    {},
    {"num_leaves": 31},
    {"num_leaves": 7},
    {"min_data_in_leaf": 60},
    {"lambda_l2": 10.0},
    {"learning_rate": 0.02},
)
_TABPFN: Grid = _settings({}, *({"n_estimators": n} for n in (1, 4, 6, 8, 16)))

GRIDS: dict[str, Grid] = {
    "dapdag": _ENVIRONMENT,
    "dapdag-b": _ENVIRONMENT,
    "dapdag-paper": _ENVIRONMENT,
    "dapdag-b-paper": _ENVIRONMENT,
    "mlp": _NETWORK,
    "castle": _NETWORK,
    "brm": _ENVIRONMENT,
    "mdan": _NETWORK,
    "mdan-hard": _NETWORK,
    "missforest": (
        {},
        {"n_estimators": 300},
        {"max_iter": 1},
        {"max_iter": 3},
        {"n_estimators": 50},
        {"max_iter": 20, "n_estimators": 200},
    ),
    "dainfer": (
        {},
        {"latent_dim": 2},
        {"alpha": 0.001},
        {"alpha": 0.05},
        {"n_steps": 6000},
        {"latent_dim": 2, "alpha": 0.001},
    ),
    "boosting": _settings(
        {},
        {"max_leaf_nodes": 15},
        {"min_samples_leaf": 60},
        {"l2_regularization": 10.0},
        {"learning_rate": 0.02, "max_iter": 1000},
        {"max_leaf_nodes": 7, "min_samples_leaf": 60},
    ),
    "lightgbm": _LIGHTGBM,
    "lightgbm-sites": _LIGHTGBM,
    "catboost": _CATBOOST,
    "catboost-sites": _CATBOOST,
    "gpboost": _GPBOOST,
    "gpboost-sites": _GPBOOST,
    "tabpfn": _TABPFN,
    "tabpfn-sites": _TABPFN,
    "forest": _settings(
        {},
        {"min_samples_leaf": 1},
        {"min_samples_leaf": 10},
        {"max_features": 1.0},
        {"min_samples_leaf": 10, "max_features": 1.0},
        {"min_samples_leaf": 30},
    ),
    "skada-coral": _with_base(
        ({}, None),
        ({}, "linear"),
        ({}, "boosting"),
        ({"reg": 0.1}, None),
        ({"reg": 0.5}, None),
        ({"assume_centered": True}, None),
    ),
    "skada-monge": _with_base(
        ({}, None),
        ({}, "linear"),
        ({}, "boosting"),
        ({"reg": 0.1}, None),
        ({"reg": 1.0}, None),
        ({"bias": False}, None),
    ),
    "skada-subspace": _with_base(
        ({}, None),
        ({}, "linear"),
        ({}, "boosting"),
        ({"n_components": 2}, None),
        ({"n_components": 4}, None),
        ({"n_components": 4}, "boosting"),
    ),
    "skada-reweight": (
        {},
        {"base": "linear"},
        {"base": "boosting"},
        {"base": "boosting", "base_settings": {"max_leaf_nodes": 7}},
        {"base": "boosting", "base_settings": {"min_samples_leaf": 60}},
        {"base": "boosting", "base_settings": {"learning_rate": 0.1}},
    ),
    "skada-jcpot": _with_base(
        ({}, None),
        ({"reg": 0.1}, None),
        ({"reg": 5.0}, None),
        ({"reg": 1.0, "max_iter": 50}, None),
        ({"reg": 0.1, "max_iter": 50}, None),
        ({}, "boosting"),
    ),
}

# The regularisation of the two linear models has names and scales of its own.
LINEAR: dict[str, Grid] = {
    "regression": (
        {},
        {"settings": {"alpha": 0.1}},
        {"settings": {"alpha": 30.0}},
        {"settings": {"alpha": 1000.0}},
        {"scale": "rank"},
        {"scale": "rank", "settings": {"alpha": 100.0}},
    ),
    "classification": (
        {},
        {"settings": {"C": 10.0}},
        {"settings": {"C": 0.1}},
        {"settings": {"C": 0.01}},
        {"scale": "rank"},
        {"scale": "rank", "settings": {"C": 0.1}},
    ),
}


def grid_of(name: str, task: str) -> Grid:
    """The candidates of a method for a task."""
    if name.endswith("-env"):
        return _settings(*grid_of(name.removesuffix("-env"), task))
    return LINEAR[task] if name == "linear" else GRIDS[name]
