"""DAGMA through its own package, which runs on torch."""

import contextlib
import os
from pathlib import Path
from typing import Any

import networkx as nx

from dapdag.graph import extract_dag, to_networkx
from dapdag.graph_baselines.tables import centred, column_names, some_rows, standardised


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
    X : DataFrame or array of shape (n, V)
        Finite numbers, more rows than columns.
    sample_domain : not looked at
    threshold : edges of a smaller norm are left out, and then the weakest of every cycle
    standardise : True divides the columns by their standard deviation. The score compares squared
        errors of all columns, so that units matter: as published, the columns are taken as they
        are, which is right where all noise has one scale and meaningless where units differ.
    max_rows : of a longer table this many rows are drawn, since every step reads all of them

    Returns
    -------
    networkx.DiGraph
        Named after the columns; edges carry ``"weight"``, the norm of the first layer's weights.
    """
    torch, nonlinear = _dagma()
    Z = some_rows(standardised(X) if standardise else centred(X), max_rows, random_state)
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
        torch.set_default_dtype(before)  # the package changes it for everybody
    dag = extract_dag(strength, threshold)
    return to_networkx(dag.mask, strength, column_names(X, Z.shape[1]))


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
