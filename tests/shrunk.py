"""Estimators whose defaults are small, to run in seconds what a reader runs in a minute."""

from __future__ import annotations

import pytest

SMALL = {"max_epochs": 6, "n_members": 1, "hidden": 4, "n_predictors": 2, "n_draws": 4}
# Constants of the graph search: fewer candidate parents, fewer orders.
SMALL_SEARCH = {"SCREEN_SIZE": 6, "MIN_CANDIDATES": 2, "MAX_CANDIDATES": 3, "MCMC_SWEEPS": 20}


def shrink_estimators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make DAPDAGRegressor() and DAPDAGClassifier() small; what is given explicitly stands."""
    from dapdag.estimators import DAPDAGEstimator

    defaults = DAPDAGEstimator.__init__.__kwdefaults__
    for name, value in SMALL.items():
        assert name in defaults
        monkeypatch.setitem(defaults, name, value)
    shrink_search(monkeypatch)


def shrink_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search fewer graphs, where a test is not about which graph is found."""
    from dapdag.structure import constants

    for name, value in SMALL_SEARCH.items():
        monkeypatch.setattr(constants, name, value)
