"""The small search of `dapdag fit --tune`."""

from typing import Any

from sklearn.base import clone

# From the simplest to the most complex; the first is the model as it was set.
TUNED: dict[str, dict[str, Any]] = {
    "as set": {},
    "weight_decay=0.01": {"weight_decay": 1e-2},
    "slower": {"learning_rate": 2e-3, "max_epochs": 300, "patience": 40},
    "hidden=32": {"hidden": 32},
    "env_dim=2": {"env_dim": 2},
}


def tuning_candidates(estimator: Any) -> dict[str, Any]:
    """The candidates of the search around an unfitted estimator, without repetitions."""
    found, seen = {}, []
    for name, changes in TUNED.items():
        candidate = clone(estimator).set_params(verbose=0, **changes)
        settings = candidate.get_params(deep=False)
        if settings not in seen:
            seen.append(settings)
            found[name] = candidate
    return found
