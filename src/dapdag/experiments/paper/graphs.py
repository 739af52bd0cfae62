"""Evaluation of DAG learning (the paper's figure of that name).

Structural Hamming distance (SHD) to the true graph against the number of variables and against the
number of sources, on random non-linear models, and against the error of prediction. Beside the
paper's method and its peers: `GraphSearch`, which trains no network.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...datasets import make_random_sem_domains
from ...graph import compare_graphs
from ...graph_baselines import GRAPH_METHODS
from ...structure import GraphSearch
from .. import methods
from ..cases import N_DOMAINS, Case, first_sources, fit_all, predictions, same_setting, scores
from ..figures import look, means_over, new_figure, shared_legend, tidy
from ..runs import QUICK, TINY, Outcome, Parameters, Row, Run
from ..statements import Statement, better, mean_effect, per_seed, rank_correlation
from ..tables import method_table

TASK = "regression"
# Our method and the parameters that make it the paper's form.
FORMS: dict[str, dict[str, object]] = {
    "dapdag-b": {},
    "dapdag-b (paper's form)": {"structure": "paper"},
}
SEARCH = "graph-search"
FAST_PEERS = ("cdnod", "cdnod-domain", "boss-within", "r2-sort", "empty")
SLOW_PEERS = ("ut-igsp", "notears", "dagma")


@dataclass(frozen=True)
class GraphParameters(Parameters):
    n_variables: tuple[int, ...] = (5, 10, 20, 40)
    n_sources: tuple[int, ...] = (3, 5, 7, 9)
    variables_by_sources: int = 10  # at which the number of sources is varied
    n_rows: int = 500


def settings(parameters: GraphParameters) -> list[tuple[int, int]]:
    """Pairs of numbers of variables and sources: two lines that meet in one point."""
    most = max(parameters.n_sources)
    by_size = [(d, most) for d in parameters.n_variables]
    by_sources = [(parameters.variables_by_sources, m) for m in parameters.n_sources]
    return list(dict.fromkeys([*by_size, *by_sources]))


def runs(parameters: GraphParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    known = [*FORMS, SEARCH, *GRAPH_METHODS]
    if unknown := [n for n in names if n not in known]:
        raise ValueError(f"unknown graph learner(s) {unknown}: choose among {known}")
    here = {*FORMS, SEARCH, *(n for n, method in GRAPH_METHODS.items() if method.available)}
    for absent in [n for n in names if n not in here]:
        print(f"left out: {GRAPH_METHODS[absent].how_to_install}", file=sys.stderr)
    return [
        Run.of(method, seed, n_variables=d, n_sources=m)
        for d, m in settings(parameters)
        for method in names
        if method in here
        for seed in seeds
    ]


def together(run: Run) -> Hashable:
    return same_setting(run) if run.method in FORMS else run


def compute(parameters: GraphParameters, runs: Sequence[Run]) -> list[Outcome]:
    cases = [_case(run, parameters.n_rows) for run in runs]
    method = runs[0].method
    if method in FORMS:
        fitted, seconds = fit_all(
            "dapdag-b", cases, parameters.budget, [r.seed for r in runs], **FORMS[method]
        )
        return [
            Outcome(
                run, (*_compare(model.graph_, case), *scores(case, predictions(model, case))), s
            )
            for run, case, model, s in zip(runs, cases, fitted, seconds, strict=True)
        ]
    outcomes = []
    for run, case in zip(runs, cases, strict=True):
        start = time.perf_counter()
        graph = _learn(method, *pooled_table(case), run.seed)
        outcomes.append(Outcome(run, _compare(graph, case), time.perf_counter() - start))
    return outcomes


def _learn(method: str, X: pd.DataFrame, sample_domain: NDArray, seed: int) -> nx.DiGraph:
    if method == SEARCH:
        return GraphSearch(random_state=seed).fit(X, sample_domain).graph_
    return GRAPH_METHODS[method].learn(X, sample_domain, seed)


def _case(run: Run, n_rows: int) -> Case:
    data = make_random_sem_domains(
        n_variables=run["n_variables"],
        n_domains=N_DOMAINS,
        n_samples=n_rows,
        random_state=run.seed,
    )
    return first_sources(data, run["n_sources"])


def pooled_table(case: Case) -> tuple[pd.DataFrame, NDArray]:
    """The sources' rows with the label among the columns, and the domain of each."""
    rows = case.rows_of(case.sources)
    table = case.data.X.iloc[rows].assign(**{str(case.data.y.name): case.data.y.iloc[rows]})
    return table, case.data.sample_domain[rows]


def _compare(graph: Any, case: Case) -> tuple[Row, ...]:
    truth = case.data.graph
    assert truth is not None
    found = compare_graphs(graph, truth)
    values = {
        "shd": found.shd,
        # The empty graph has 1: fewer mistakes than edges to find.
        "shd per edge": found.shd / max(1, truth.number_of_edges()),
        "shd of the skeleton": found.missing + found.extra,
        "precision": found.precision,
        "recall": found.recall,
    }
    return tuple({"metric": k, "value": float(v)} for k, v in values.items())


def by_size(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["n_sources"] == rows["n_sources"].max()]


def by_sources(rows: pd.DataFrame, parameters: GraphParameters) -> pd.DataFrame:
    return rows[rows["n_variables"] == parameters.variables_by_sources]


def table(rows: pd.DataFrame, parameters: GraphParameters) -> str:
    size, sources = by_size(rows), by_sources(rows, parameters)
    d, most = parameters.variables_by_sources, rows["n_sources"].max()
    return "\n\n".join(
        [
            f"## By number of variables d ({most} sources)",
            _titled(method_table(size, "shd", "n_variables", "d = ", low=True)),
            _titled(method_table(size, "shd per edge", "n_variables", "d = ", low=True)),
            f"## By number of sources M ({d} variables)",
            _titled(method_table(sources, "shd", "n_sources", "M = ", low=True)),
            f"## Direction left aside ({most} sources)",
            _titled(method_table(size, "shd of the skeleton", "n_variables", "d = ", low=True)),
            "Mean (standard error) over seeds. SHD per edge: divided by the number of true edges, "
            "so that the empty graph has 1. The paper gives the edges that CD-NOD leaves without a "
            "direction the true one; here they get one that is consistent with the others, and the "
            "last table, which does not look at directions, shows what that can change.",
        ]
    )


def name_of(method: str) -> str:
    if method == SEARCH:
        return "GraphSearch"
    if method in GRAPH_METHODS:
        return GRAPH_METHODS[method].title
    return method.replace("dapdag-b", methods.title("dapdag-b"))


def _titled(text: str) -> str:
    for name in (SEARCH, *GRAPH_METHODS, *FORMS):
        text = text.replace(f"| {name} |", f"| {name_of(name)} |")
    return text


def figure(rows: pd.DataFrame, parameters: GraphParameters) -> Figure:
    picture, axes = new_figure(1, 4, 3.5, 3.4)
    size, sources = by_size(rows), by_sources(rows, parameters)
    _lines(axes[0, 0], size, "shd", "n_variables")
    tidy(axes[0, 0], "Graph against d", "number of variables d", "SHD (lower is better)")
    _lines(axes[0, 1], size, "shd per edge", "n_variables")
    tidy(
        axes[0, 1],
        "Relative to the edges",
        "number of variables d",
        "SHD / true edges (lower is better)",
    )
    _lines(axes[0, 2], sources, "shd", "n_sources")
    tidy(axes[0, 2], "Graph against M", "number of sources M", "SHD (lower is better)")
    _scatter(axes[0, 3], sources)
    title = f"Graph and prediction, d = {parameters.variables_by_sources}"
    tidy(axes[0, 3], title, "SHD (lower is better)", "R² at the target (higher is better)")
    shared_legend(picture, axes)
    return picture


_LOOKS = {
    SEARCH: "dainfer",
    "dapdag-b": "dapdag-b",
    "dapdag-b (paper's form)": "dapdag",
    "cdnod": "brm",
    "cdnod-domain": "mdan",
    "r2-sort": "castle",
    "empty": "mlp",
    "notears": "mdan-hard",
    "dagma": "missforest",
}


def _lines(ax: Axes, rows: pd.DataFrame, metric: str, column: str) -> None:
    means_over(ax, rows, metric, column, name_of=name_of, look_of=lambda m: _LOOKS.get(m, m))


def _scatter(ax: Axes, rows: pd.DataFrame) -> None:
    for method in [m for m in FORMS if m in set(rows["method"])]:
        points = _shd_and_r2(rows, method)
        ax.plot(
            points["shd"],
            points["r2"],
            label=name_of(method),
            **{**look(_LOOKS[method]), "linestyle": ""},
            alpha=0.7,
            markersize=4.5,
        )


def _shd_and_r2(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    own = rows[(rows["method"] == method) & rows["metric"].isin(["shd", "r2"])]
    return own.pivot_table(index=["n_sources", "seed"], columns="metric", values="value")


def statements(rows: pd.DataFrame, parameters: GraphParameters) -> list[Statement]:
    size = by_size(rows)
    present = list(dict.fromkeys(rows["method"]))
    ours = "dapdag-b"
    if ours not in present:
        return []
    found = [
        better(f"its graphs are nearer the truth than those of {name_of(m)}", size, "shd", ours, m)
        for m in present
        if m not in (*FORMS, SEARCH)
    ]
    if SEARCH in present:
        found += [
            better(f"GraphSearch's are nearer than those of {name_of(m)}", size, "shd", SEARCH, m)
            for m in present
            if m != SEARCH
        ]
    few, many = size["n_variables"].min(), size["n_variables"].max()
    if few != many:
        for method in [m for m in FORMS if m in present]:
            values = per_seed(size, "shd per edge", method, by=["n_variables"])
            claim = f"{name_of(method)}: SHD per edge falls from d = {few} to d = {many}"
            found.append(mean_effect(claim, (values[few] - values[many]).dropna(), "SHD per edge"))
    sources = by_sources(rows, parameters)
    few, many = sources["n_sources"].min(), sources["n_sources"].max()
    if few != many:
        values = per_seed(sources, "shd", ours, by=["n_sources"])
        claim = f"SHD falls from {few} to {many} sources"
        found.append(mean_effect(claim, (values[few] - values[many]).dropna(), "SHD"))
    found.append(_agreement(sources, ours))
    return found


def _agreement(rows: pd.DataFrame, method: str) -> Statement:
    """Rank correlation of graph and prediction over runs, with its large-sample error."""
    points = _shd_and_r2(rows, method)
    correlation = -rank_correlation(points["shd"], points["r2"])
    claim = f"better graphs go with better predictions (d = {rows['n_variables'].iloc[0]})"
    error = float(np.sqrt((1 - correlation**2) / max(1, len(points) - 2)))
    return Statement(claim, correlation, error, len(points), "rank correlation")


TITLE = "Evaluation of DAG learning"
PRESETS = {
    "quick": GraphParameters(
        methods=(*FORMS, SEARCH, *FAST_PEERS),
        n_seeds=6,
        n_variables=(5, 10, 20),
        n_sources=(3, 9),
        budget=QUICK,
    ),
    "paper": GraphParameters(methods=(*FORMS, SEARCH, *FAST_PEERS, *SLOW_PEERS), n_seeds=30),
    "tiny": GraphParameters(
        methods=("dapdag-b", SEARCH, "r2-sort", "cdnod", "empty"),
        n_seeds=2,
        n_variables=(8,),
        n_sources=(3,),
        variables_by_sources=8,
        n_rows=60,
        budget=TINY,
    ),
}
