"""A learned graph as a file: a picture, or a format that other programs read."""

from __future__ import annotations

import io
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import networkx as nx

from ._runtime.files import atomic_write_bytes, atomic_write_text

PICTURES = (".svg", ".png", ".pdf")
GRAPH_FORMATS = (*PICTURES, ".dot", ".graphml", ".json")


def write_graph(graph: nx.DiGraph, path: str | Path) -> None:
    """Write a graph by the suffix of the name: a picture, DOT, GraphML or JSON.

    Parameters
    ----------
    graph : networkx.DiGraph
        A graph with named nodes.
    path : path-like
        Its suffix decides: .png, .svg, .pdf, .dot, .graphml or .json.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        from .plotting import plot_graph

        save_figure(plot_graph(graph).figure, path)
    elif suffix == ".dot":
        atomic_write_text(path, to_dot(graph))
    elif suffix == ".graphml":
        buffer = io.BytesIO()
        nx.write_graphml(_plain(graph), buffer)
        atomic_write_bytes(path, buffer.getvalue())
    elif suffix == ".json":
        text = json.dumps(to_json(graph), indent=2, ensure_ascii=False, allow_nan=False)
        atomic_write_text(path, text + "\n")
    else:
        raise ValueError(
            f"cannot write {path}: its name must end in one of {', '.join(GRAPH_FORMATS)}"
        )


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure as a whole or not at all, in the format of the name's suffix, and close it."""
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure.savefig(
        buffer, format=Path(path).suffix.lower().removeprefix("."), dpi=150, bbox_inches="tight"
    )
    plt.close(figure)
    atomic_write_bytes(path, buffer.getvalue())


def to_json(graph: nx.DiGraph) -> dict[str, Any]:
    """Nodes and edges as plain values, and the edges that were removed to break cycles.

    Parameters
    ----------
    graph : networkx.DiGraph
        A graph with named nodes.

    Returns
    -------
    dict
        Ready for `json.dump`.
    """
    return {
        "nodes": [{"name": _name(node), **data} for node, data in graph.nodes(data=True)],
        "edges": [
            {"from": _name(a), "to": _name(b), **data} for a, b, data in strongest_first(graph)
        ],
        "removed": [{"from": _name(a), "to": _name(b)} for a, b in graph.graph.get("removed", ())],
    }


def to_dot(graph: nx.DiGraph) -> str:
    """The graph in Graphviz' language; edges are as wide as they are strong.

    Parameters
    ----------
    graph : networkx.DiGraph
        A graph with named nodes.

    Returns
    -------
    str
        DOT.
    """
    strongest = max((abs(w) for *_, w in graph.edges(data="effect", default=0.0)), default=0.0)
    lines = ["digraph {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for node, data in graph.nodes(data=True):
        marks = 'style="rounded,bold"' if data.get("label") else ""
        lines.append(f"  {_quoted(node)}{f' [{marks}]' if marks else ''};")
    for a, b, data in strongest_first(graph):
        effect = data.get("effect", data.get("weight", 0.0))
        width = 0.5 + 2.5 * abs(effect) / strongest if strongest > 0 else 1.0
        lines.append(
            f'  {_quoted(a)} -> {_quoted(b)} [label="{effect:.2f}", penwidth={width:.2f}];'
        )
    return "\n".join([*lines, "}", ""])


def strongest_first(graph: nx.DiGraph) -> list[tuple[Hashable, Hashable, dict[str, Any]]]:
    """Edges with their attributes, by effect, or by weight where no effect is known.

    Parameters
    ----------
    graph : networkx.DiGraph
        A graph with named nodes.

    Returns
    -------
    list of (cause, effect, attributes)
        Sorted edges.
    """
    return sorted(
        graph.edges(data=True),
        key=lambda edge: -abs(edge[2].get("effect", edge[2].get("weight", 0.0))),
    )


def _plain(graph: nx.DiGraph) -> nx.DiGraph:
    """The graph without attributes of its own, which GraphML would have to hold as text."""
    plain = nx.DiGraph()
    plain.add_nodes_from(graph.nodes(data=True))
    plain.add_edges_from(graph.edges(data=True))
    return plain


def _name(node: Hashable) -> Any:
    return node if isinstance(node, str | int | float | bool) else str(node)


def _quoted(node: Hashable) -> str:
    text = str(node).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
