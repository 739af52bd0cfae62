"""DAGMA through its own package, which runs on torch."""

import contextlib
import os
from pathlib import Path
from typing import Any

import networkx as nx

from dapdag.graph_baselines.tables import score_table, strongest_dag


def dagma_mlp(
    X: Any,
    sample_domain: Any = None,
    *,
    hidden: int = 10,
    lasso: float = 0.02,
    ridge: float = 0.005,
    threshold: float = 0.3,
    standardise: bool = False,
    warm_steps: int = 5_000,
    final_steps: int = 8_000,
    learning_rate: float = 2e-3,
    max_rows: int = 2000,
    random_state: int = 0,
) -> nx.DiGraph:
    """Non-linear DAGMA (Bello et al., 2022), as if all rows came from one domain.

    The package's own schedule takes 230,000 steps at a rate of 2e-4. This one has a tenth of the
    steps and ten times the rate; pass `warm_steps`, `final_steps` and `learning_rate` for theirs.

    Parameters
    ----------
    X : DataFrame or array of shape (rows, columns)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row, optional
        Ignored.
    hidden : int, default=10
        Width of the one hidden layer of each variable's network.
    lasso : float, default=0.02
        Weight of the L1 penalty, at least 0.
    ridge : float, default=0.005
        Weight of the L2 penalty, at least 0.
    threshold : float, default=0.3
        Edges of a smaller norm are left out, and then the weakest of every cycle.
    standardise : bool, default=False
        Divide the columns by their standard deviation, as in `notears_mlp`.
    warm_steps : int, default=5000
        Steps of Adam in all stages but the last.
    final_steps : int, default=8000
        Steps of Adam in the last stage.
    learning_rate : float, default=0.002
        Learning rate of Adam.
    max_rows : int, default=2000
        Of a longer table this many rows are drawn.
    random_state : int, default=0
        Seed of the first weights and of the rows that are drawn.

    Returns
    -------
    networkx.DiGraph
        Named after the columns; edges carry ``"weight"``, the norm of the first layer's weights.
    """
    torch, nonlinear = _dagma()
    Z = score_table(X, standardise, max_rows, random_state)
    before = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(devices=[]), _no_progress_bar():
            torch.manual_seed(random_state)
            equations = nonlinear.DagmaMLP([Z.shape[1], hidden, 1], dtype=torch.double)
            strength = nonlinear.DagmaNonlinear(equations, dtype=torch.double).fit(
                Z,
                lambda1=lasso,
                lambda2=ridge,
                warm_iter=warm_steps,
                max_iter=final_steps,
                lr=learning_rate,
                w_threshold=0.0,
            )
    finally:
        torch.set_default_dtype(before)  # the package changes it globally
    return strongest_dag(X, strength, threshold)


@contextlib.contextmanager
def _no_progress_bar() -> Any:
    """The package draws a bar on standard error and offers no way to leave it out."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
        yield


def _dagma() -> tuple[Any, Any]:
    try:
        import torch
        from dagma import nonlinear
    except ImportError as error:
        raise ValueError(
            "DAGMA needs the packages dagma and torch: pip install 'dapdag[peers]'"
        ) from error
    return torch, nonlinear
