"""Stands in for the registry of methods until that is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    title: str
    needs_target: bool = False


METHODS = {
    "dapdag-b": Method("DAPDAG-B"),
    "dapdag": Method("DAPDAG"),
    "mlp": Method("MLP"),
    "linear": Method("linear"),
    "boosting": Method("boosting"),
    "castle": Method("CASTLE"),
    "brm": Method("BRM"),
    "mdan": Method("MDAN", True),
    "dainfer": Method("DA-Infer", True),
    "missforest": Method("MissForest", True),
    "lightgbm": Method("LightGBM"),
    "forest": Method("forest"),
    "mdan-hard": Method("MDAN (hard)", True),
}


def available(task: str, kinds: Any = None) -> list[str]:
    return ["dapdag-b", "dapdag", "mlp"]


def make(name: str, task: str, *, random_state: int = 0, n_candidates: int = 1) -> Any:
    from dapdag import DAPDAGClassifier, DAPDAGRegressor
    from dapdag.baselines import MLPClassifier, MLPRegressor

    regression = task == "regression"
    if name == "mlp":
        return (MLPRegressor if regression else MLPClassifier)(random_state=random_state)
    kind = DAPDAGRegressor if regression else DAPDAGClassifier
    return kind(bayesian=name == "dapdag-b", random_state=random_state)
