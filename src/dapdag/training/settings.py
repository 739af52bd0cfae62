"""The parameters of a fit that a user may set, and their checks.

Constants of the method stand in `model/constants.py`.
"""

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..data.bounds import checked_bounds
from ..inference.parts import Parts, current
from ..model.acyclicity import ACYCLICITY
from .form import DAPDAG, Form


@dataclass(frozen=True)
class Settings:
    """What an estimator passes to `fit_models`; the defaults were chosen on synthetic seeds < 100.

    `docs/defaults.md` has the comparisons behind them.
    """

    bayesian: bool = True
    env_dim: int = 1
    hidden: int = 16
    n_shared: int = 1
    n_predictors: int = 4
    n_members: int = 2
    structure: Any = "search"
    form: Form = DAPDAG  # which pieces the method consists of
    max_epochs: int = 100
    patience: int = 20
    learning_rate: float = 8e-3
    weight_decay: float = 0.0
    prediction_weight: float = 1.0
    reconstruction_weight: float = 1.0
    env_weight: float = 1.0
    structure_weight: float = 1.0
    acyclicity_weight: float = 1.0
    acyclicity_square: float = 1.0
    sparsity_weight: float = 0.01
    prior_precision: float = 1.0
    prior_scale: float = 1.0
    acyclicity: str | None = None
    edge_threshold: float = 0.1
    validation_fraction: float = 0.1
    steps: str | int = "size"
    alternating: bool = False
    n_draws: int = 32
    label_bounds: Any = "auto"
    checkpoint: str | None = None
    random_state: Any = 0
    verbose: int = 0
    parts: Parts = field(default_factory=current)  # private: no estimator has such a parameter


_COUNTS = ("env_dim", "hidden", "n_predictors", "n_members", "max_epochs", "patience", "n_draws")
_WEIGHTS = (
    "weight_decay",
    "prediction_weight",
    "reconstruction_weight",
    "env_weight",
    "structure_weight",
    "acyclicity_weight",
    "acyclicity_square",
    "sparsity_weight",
    "edge_threshold",
)
_POSITIVE = ("learning_rate", "prior_precision", "prior_scale")


def check_settings(settings: Settings) -> Settings:
    """The settings with a plain integer seed, or a ValueError that names the wrong one."""
    for name in _COUNTS:
        _require(settings, name, Integral, lambda v: v >= 1, "a whole number of at least 1")
    _require(settings, "n_shared", Integral, lambda v: v >= 0, "a whole number of at least 0")
    for name in _WEIGHTS:
        _require(settings, name, Real, lambda v: 0 <= v < np.inf, "a number of at least 0")
    for name in _POSITIVE:
        _require(settings, name, Real, lambda v: 0 < v < np.inf, "a positive number")
    _require(settings, "validation_fraction", Real, lambda v: 0 < v < 1, "a number between 0 and 1")
    if settings.acyclicity is not None and settings.acyclicity not in ACYCLICITY:
        raise ValueError(
            f"acyclicity must be None or one of {sorted(ACYCLICITY)}, not {settings.acyclicity!r}"
        )
    checked_bounds(settings.label_bounds)
    steps: Any = settings.steps
    counted = isinstance(steps, Integral) and int(steps) >= 1
    if not counted and steps not in ("size", "domains"):
        raise ValueError(
            f"steps must be 'size', 'domains' or a whole number, not {settings.steps!r}"
        )
    return replace(settings, random_state=_seed(settings.random_state))


def _require(settings: Settings, name: str, kind: type, holds: Any, what: str) -> None:
    value = getattr(settings, name)
    if not isinstance(value, kind) or isinstance(value, bool) or not holds(value):
        raise ValueError(f"{name} must be {what}, not {value!r}")


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, not {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
