"""Ranks of the methods by target variable and by distance (the paper's rank figure).

Every variable of the regression graph is the label in turn; every seed is one combination of nine
sources and a target.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...datasets import make_regression_domains
from ...datasets.synthetic import regression_model
from ...evaluate.metrics import WORST_R2
from .. import methods
from ..cases import N_DOMAINS, NETWORKS, Case, first_sources, same_setting, score_runs
from ..figures import look, new_figure, shared_legend, tidy
from ..runs import TINY, Budget, Outcome, Parameters, Run
from ..statements import Statement, mean_effect, slope
from ..tables import markdown, mean_and_error

TASK = "regression"
LABELS = ("X1", "X2", "X3", "X4", "X5", "X6", "X7", "Y")
N_BINS = 4


@dataclass(frozen=True)
class RankParameters(Parameters):
    labels: tuple[str, ...] = LABELS
    n_sources: int = 9
    n_rows: int = 500


def true_graph() -> nx.DiGraph:
    return regression_model("paper", 1.0).graph()


def sinks() -> list[str]:
    """Variables that are nobody's parent."""
    return [str(v) for v, children in true_graph().out_degree() if children == 0]


def runs(parameters: RankParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    return [
        Run.of(method, seed, label=label)
        for method in methods.usable(names, TASK)
        for label in parameters.labels
        for seed in seeds
    ]


def compute(parameters: RankParameters, runs: Sequence[Run]) -> list[Outcome]:
    def case_of(run: Run) -> Case:
        data = make_regression_domains(
            n_domains=N_DOMAINS,
            n_samples=parameters.n_rows,
            label=run["label"],
            random_state=run.seed,
        )
        return first_sources(data, parameters.n_sources)

    return score_runs(
        runs, case_of, parameters.budget, details=lambda case: {"env_distance": case.env_distance}
    )


def with_ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """R² of every run and its rank (1 is best) among the methods of that label and seed."""
    part = rows[(rows["metric"] == "r2") & (rows["method"] != methods.ORACLE)]
    part = part.assign(r2=part["value"].clip(lower=WORST_R2))
    rank = part.groupby(["label", "seed"])["value"].rank(ascending=False)
    return part.assign(rank=rank)


def table(rows: pd.DataFrame, parameters: RankParameters) -> str:
    ranked = with_ranks(rows)
    names = list(dict.fromkeys(ranked["method"]))
    return "\n\n".join(
        [
            "## Mean rank by target variable (1 is best)",
            _by_label(ranked, names, "rank"),
            "## R² by target variable",
            _by_label(ranked, names, "r2"),
            "## Mean rank by distance of the target's E to the sources'",
            _by_distance(ranked, names),
            f"Mean (standard error) over seeds. Sinks of the graph: {', '.join(sinks())}.",
        ]
    )


def _by_label(ranked: pd.DataFrame, names: Sequence[str], column: str) -> str:
    labels = list(dict.fromkeys(ranked["label"]))
    best = ranked.groupby(["label", "method"])[column].mean().unstack()
    winner = best.idxmin(axis=1) if column == "rank" else best.idxmax(axis=1)
    body = []
    for name in names:
        own = ranked[ranked["method"] == name]
        cells = [mean_and_error(own[own["label"] == label][column]) for label in labels]
        marked = [
            f"**{c}**" if winner[label] == name else c
            for c, label in zip(cells, labels, strict=True)
        ]
        everywhere = own.groupby("seed")[column].mean()
        body.append([methods.title(name), *marked, mean_and_error(everywhere)])
    return markdown(["method", *labels, "all"], body)


def _by_distance(ranked: pd.DataFrame, names: Sequence[str]) -> str:
    bins = distance_bins(ranked)
    header = [f"{low:.2f}–{high:.2f}" for low, high in bins]
    body = [
        [
            methods.title(name),
            *(mean_and_error(_in_bin(ranked[ranked["method"] == name], b)["rank"]) for b in bins),
        ]
        for name in names
    ]
    return markdown(["method", *header], body)


def distance_bins(ranked: pd.DataFrame) -> list[tuple[float, float]]:
    """Ranges of the distance that hold about as many seeds each."""
    distance = ranked.drop_duplicates("seed")["env_distance"].to_numpy()
    edges = np.unique(np.quantile(distance, np.linspace(0, 1, min(N_BINS, len(distance)) + 1)))
    # A range holds its upper end but not its lower one, and the first must hold the nearest seed.
    edges[0] -= 1e-9
    return [(float(a), float(b)) for a, b in itertools.pairwise(edges)]


def _in_bin(part: pd.DataFrame, limits: tuple[float, float]) -> pd.DataFrame:
    low, high = limits
    inside = (part["env_distance"] > low) & (part["env_distance"] <= high)
    return part[inside]


def figure(rows: pd.DataFrame, parameters: RankParameters) -> Figure:
    ranked = with_ranks(rows)
    names = list(dict.fromkeys(ranked["method"]))
    picture, axes = new_figure(1, 3, 4.2, 3.8)
    _draw_graph(axes[0, 0])
    _draw_by_label(axes[0, 1], ranked, names)
    _draw_by_distance(axes[0, 2], ranked, names)
    shared_legend(picture, axes[0, 1:])
    return picture


def _draw_graph(ax: Axes) -> None:
    from ...plotting import plot_graph

    plot_graph(true_graph(), ax=ax)
    ax.set_title("True graph", loc="left", fontsize="medium")


def _draw_by_label(ax: Axes, ranked: pd.DataFrame, names: Sequence[str]) -> None:
    labels = list(dict.fromkeys(ranked["label"]))
    for k, name in enumerate(names):
        own = ranked[ranked["method"] == name].groupby("label")["rank"]
        shift = 0.6 * ((k + 0.5) / len(names) - 0.5)
        ax.errorbar(
            np.arange(len(labels)) + shift,
            own.mean()[labels],
            yerr=own.sem()[labels].fillna(0.0),
            label=methods.title(name),
            markersize=5,
            capsize=2,
            **{**look(name, names), "linestyle": ""},
        )
    marked = [f"{v}\n(sink)" if v in sinks() else v for v in labels]
    ax.set_xticks(range(len(labels)), marked, fontsize="small")
    ax.invert_yaxis()
    tidy(ax, "By target variable", "target variable", "mean rank of R² (top is best)")


def _draw_by_distance(ax: Axes, ranked: pd.DataFrame, names: Sequence[str]) -> None:
    bins = distance_bins(ranked)
    for name in names:
        own = ranked[ranked["method"] == name]
        parts = [_in_bin(own, b) for b in bins]
        ax.errorbar(
            [p["env_distance"].mean() for p in parts],
            [p["rank"].mean() for p in parts],
            yerr=[_error(p["rank"]) for p in parts],
            label=methods.title(name),
            markersize=5,
            capsize=2,
            **{**look(name, names), "linestyle": ""},
        )
    ax.invert_yaxis()
    title = "mean rank of R² (top is best)"
    tidy(ax, "By distance", "mean |difference of E| to the sources", title)


def _error(values: pd.Series) -> float:
    return float(values.std() / np.sqrt(len(values))) if len(values) > 1 else 0.0


def statements(rows: pd.DataFrame, parameters: RankParameters) -> list[Statement]:
    ranked = with_ranks(rows)
    rivals = [m for m in dict.fromkeys(ranked["method"]) if not m.startswith("dapdag")]
    if "dapdag-b" not in set(ranked["method"]) or not rivals:
        return []
    r2 = ranked.pivot_table(index=["seed", "label"], columns="method", values="r2")
    rank = ranked.pivot_table(index=["seed", "label"], columns="method", values="rank")
    gain = r2["dapdag-b"] - r2[rivals].mean(axis=1)
    found = [
        mean_effect(
            f"DAPDAG-B ranks above {methods.title(m)}",
            (rank[m] - rank["dapdag-b"]).groupby(level="seed").mean(),
            "ranks",
        )
        for m in rivals
    ]
    is_sink = gain.index.get_level_values("label").isin(sinks())
    if is_sink.any() and not is_sink.all():
        by_seed = (
            gain[~is_sink].groupby(level="seed").mean() - gain[is_sink].groupby(level="seed").mean()
        )
        claim = "its gain over the mean of the benchmarks is larger where the label is no sink"
        found.append(mean_effect(claim, by_seed, "R²"))
    distance = ranked.drop_duplicates("seed").set_index("seed")["env_distance"]
    per_seed = gain.groupby(level="seed").mean()
    claim = "its gain over the mean of the benchmarks grows with the distance of E"
    found.append(slope(claim, distance[per_seed.index], per_seed, "R² per unit of E"))
    return found


TITLE = "Rank by target variable and by distance"
PRESETS = {
    "quick": RankParameters(methods=NETWORKS, n_seeds=6, budget=Budget(n_members=1, max_epochs=60)),
    "paper": RankParameters(methods=NETWORKS, n_seeds=30),
    "tiny": RankParameters(
        methods=("dapdag-b", "mlp"),
        n_seeds=2,
        labels=("X5", "Y"),
        n_sources=3,
        n_rows=60,
        budget=TINY,
    ),
}
together = same_setting
