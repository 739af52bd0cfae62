"""What the paper compares with: estimators with the face of DAPDAG's, loaded on first use.

Each is DAPDAG with pieces taken out, so that a comparison shows what the pieces are worth and
not a difference in widths, scaling, optimiser or early stopping.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dapdag.baselines.mlp import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]

_HOME = {
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
