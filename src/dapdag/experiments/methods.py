"""Estimators by name, each with the budget of the experiment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..baselines import registry
from .runs import Budget, Run

ORACLE = "oracle"
_TITLES = {ORACLE: "oracle"}


def make(name: str, task: str, budget: Budget, random_state: int = 0, **changes: Any) -> Any:
    """An unfitted estimator of the registry.

    `changes` are parameters beside the budget's, for the methods that have them.
    """
    made = registry.make(name, task, random_state=random_state, n_candidates=budget.n_candidates)
    limits = {
        "n_members": budget.n_members,
        "max_epochs": budget.max_epochs,
        "patience": budget.patience,
        **changes,
    }
    own = made.get_params(deep=False)
    return made.set_params(**{k: v for k, v in limits.items() if k in own})


def title(name: str) -> str:
    """The method's name in tables and figures."""
    if name in _TITLES:
        return _TITLES[name]
    return registry.METHODS[name].title if name in registry.METHODS else name


def needs_target(name: str) -> bool:
    """Whether the method sees the target's unlabelled rows when it is fitted."""
    return registry.METHODS[name].needs_target


def usable(names: Iterable[str], task: str) -> list[str]:
    """Those of the methods that can do the task here; a name nobody knows is refused."""
    names = list(names)
    unknown = [n for n in names if n != ORACLE and n not in registry.METHODS]
    if unknown:
        known = sorted([*registry.METHODS, ORACLE])
        raise ValueError(f"unknown method(s) {unknown}: choose among {known}")
    here = {ORACLE, *registry.available(task)}
    return [n for n in names if n in here]


def left_out(names: Iterable[str], runs: Iterable[Run]) -> list[str]:
    """Why methods that were asked for have no run, or none of a task: one sentence each."""
    present = dict.fromkeys((run.method, dict(run.setting).get("task")) for run in runs)
    tasks = dict.fromkeys(task for _, task in present) or (None,)
    absent = [
        (name, task)
        for name in names
        for task in tasks
        if name in registry.METHODS and (name, task) not in present
    ]
    reasons = [
        registry.METHODS[name].lacks(one)
        for name, task in absent
        for one in (registry.TASKS if task is None else (str(task),))
    ]
    return [reason for reason in dict.fromkeys(reasons) if reason]
