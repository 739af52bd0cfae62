"""What the paper compares with: estimators with the face of DAPDAG's, loaded on first use.

MLP, CASTLE and BRM are DAPDAG with pieces taken out, and MDAN is the MLP trained against domain
classifiers, so that a comparison shows what the pieces are worth and not a difference in widths,
scaling, optimiser or early stopping. MissForest and DA-Infer share nothing with it.
`dapdag.baselines.registry` has all methods by name, with those a user would take instead.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dapdag.baselines.brm import BRMClassifier, BRMRegressor
    from dapdag.baselines.castle import CASTLEClassifier, CASTLERegressor
    from dapdag.baselines.dainfer.estimator import DAInferClassifier, DAInferRegressor
    from dapdag.baselines.mdan.estimator import MDANClassifier, MDANRegressor
    from dapdag.baselines.missforest.estimators import MissForestClassifier, MissForestRegressor
    from dapdag.baselines.missforest.imputer import MissForestImputer
    from dapdag.baselines.mlp import MLPClassifier, MLPRegressor

__all__ = [
    "BRMClassifier",
    "BRMRegressor",
    "CASTLEClassifier",
    "CASTLERegressor",
    "DAInferClassifier",
    "DAInferRegressor",
    "MDANClassifier",
    "MDANRegressor",
    "MissForestClassifier",
    "MissForestImputer",
    "MissForestRegressor",
    "MLPClassifier",
    "MLPRegressor",
]

_HOME = {
    "BRMClassifier": "dapdag.baselines.brm",
    "BRMRegressor": "dapdag.baselines.brm",
    "CASTLEClassifier": "dapdag.baselines.castle",
    "CASTLERegressor": "dapdag.baselines.castle",
    "DAInferClassifier": "dapdag.baselines.dainfer.estimator",
    "DAInferRegressor": "dapdag.baselines.dainfer.estimator",
    "MDANClassifier": "dapdag.baselines.mdan.estimator",
    "MDANRegressor": "dapdag.baselines.mdan.estimator",
    "MissForestClassifier": "dapdag.baselines.missforest.estimators",
    "MissForestImputer": "dapdag.baselines.missforest.imputer",
    "MissForestRegressor": "dapdag.baselines.missforest.estimators",
    "MLPClassifier": "dapdag.baselines.mlp",
    "MLPRegressor": "dapdag.baselines.mlp",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dapdag.baselines' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
