"""Domain adaptation via perturbed DAG reconstruction.

Learn from labelled tables of several sites, predict the label at a new site from its unlabelled
table, say how sure the prediction is, and show the graph behind it.

The names below load on first use: ``import dapdag`` is quick, and imports neither JAX nor
scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dapdag._sklearn.environment_features import EnvironmentFeatures
    from dapdag._sklearn.site_model import SiteModel
    from dapdag.estimators import DAPDAGClassifier, DAPDAGRegressor
    from dapdag.persistence import load
    from dapdag.structure import GraphSearch

    __version__: str

__all__ = [
    "DAPDAGClassifier",
    "DAPDAGRegressor",
    "EnvironmentFeatures",
    "GraphSearch",
    "SiteModel",
    "__version__",
    "load",
]

_HOME = {
    "DAPDAGClassifier": "dapdag.estimators",
    "DAPDAGRegressor": "dapdag.estimators",
    "EnvironmentFeatures": "dapdag._sklearn.environment_features",
    "GraphSearch": "dapdag.structure",
    "SiteModel": "dapdag._sklearn.site_model",
    "load": "dapdag.persistence",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("dapdag")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'dapdag' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
