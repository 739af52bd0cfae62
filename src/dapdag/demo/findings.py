"""What the demonstration found, as plain values and in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from ..evaluate.metrics import short_title
from ..graph import edge_differences, empty_graph, structural_hamming_distance
from .case import N_SITES, Demo


def summary(demo: Demo) -> dict[str, Any]:
    """The findings as plain numbers and strings, for JSON."""
    scores = demo.scores.astype(object).where(demo.scores.notna(), None)
    source = demo.model.source_environments_["E1_mean"]
    new = demo.environment.iloc[0]
    everywhere = pd.concat([source, demo.environment["E1_mean"]])
    true = [demo.data.env[site] for site in everywhere.index]
    learned, truth = demo.model.graph_, demo.data.graph
    assert truth is not None
    different = edge_differences(learned, truth)
    kinds = ("correct", "reversed", "extra", "missing")
    return {
        "task": demo.data.task,
        "seed": demo.seed,
        "site": demo.site,
        "scores": [{"method": method, **row} for method, row in scores.T.to_dict().items()],
        "environment": {
            "mean": float(new["E1_mean"]),
            "sd": float(new["E1_sd"]),
            "outside": bool(new["outside"]),
            "sources": [float(source.min()), float(source.max())],
            "true": float(demo.data.env[demo.site]),
            "correlation_with_true": float(np.corrcoef(everywhere, true)[0, 1]),
        },
        "graph": {
            "distance": structural_hamming_distance(learned, truth),
            "distance_without_edges": structural_hamming_distance(empty_graph(list(truth)), truth),
            **{kind: [list(edge) for edge in sorted(getattr(different, kind))] for kind in kinds},
        },
    }


def show(demo: Demo, in_full: bool = True) -> None:
    """Print the scores and, in full, what stands behind them."""
    console = Console()
    if in_full:
        console.print(_opening(demo))
    console.print(_score_table(demo))
    if in_full:
        for paragraph in _explanation(demo):
            console.print(paragraph)


def _opening(demo: Demo) -> str:
    return (
        f"{N_SITES} simulated sites, {len(demo.split.y_target)} rows each (seed {demo.seed}). Site "
        f"{demo.site}, the last one, is new: its labels were kept from all methods.\n"
    )


def _score_table(demo: Demo) -> Table:
    table = Table(title=f"Prediction at site {demo.site}", title_justify="left", title_style="bold")
    table.add_column("method")
    for name in demo.scores:
        table.add_column(short_title(str(name)), justify="right")
    for method, row in demo.scores.iterrows():
        table.add_row(str(method), *(f"{value:.3f}" for value in row))
    return table


def _explanation(demo: Demo) -> list[str]:
    found = summary(demo)
    return [
        "The oracle knows the equations and the true E: only chance can beat it.\n",
        _environment_sentence(demo.site, found["environment"]) + "\n",
        *_graph_lines(found["graph"]),
    ]


def _environment_sentence(site: int, env: Mapping[str, Any]) -> str:
    low, high = env["sources"]
    near = not env["outside"] and not low <= env["mean"] <= high
    where = "at the edge of" if near else "outside" if env["outside"] else "inside"
    caution = "; beyond what was seen, predictions are guesses" if env["outside"] else ""
    return _minus(
        f"Environment: E of site {site} is {env['mean']:.2f} ± {env['sd']:.2f} in the model's own "
        f"units, {where} the span of the sources ({low:.2f} to {high:.2f}){caution}. Over all "
        f"sites, inferred and true E correlate at {env['correlation_with_true']:.2f} (the sign is "
        "arbitrary)."
    )


def _graph_lines(graph: Mapping[str, Any]) -> list[str]:
    n_true = sum(len(graph[kind]) for kind in ("correct", "reversed", "missing"))
    lines = [
        f"Graph: {len(graph['correct'])} of {n_true} true edges found; distance to the true graph "
        f"{graph['distance']} (a graph without edges: {graph['distance_without_edges']})."
    ]
    names = {"correct": "right", "reversed": "turned around", "extra": "not there"}
    for kind, name in {**names, "missing": "missed"}.items():
        edges = ", ".join(f"{a} → {b}" for a, b in graph[kind])
        lines.append(f"  {name:14}{edges or 'none'}")
    return lines


def _minus(text: str) -> str:
    return text.replace("-", "−")
