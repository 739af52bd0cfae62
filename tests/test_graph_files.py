"""Graphs as files: pictures, DOT, GraphML and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from dapdag.graph_files import strongest_first, to_dot, write_graph


@pytest.fixture
def graph() -> nx.DiGraph:
    found = nx.DiGraph(removed=[("y", "a")], threshold=0.1)
    found.add_node("a", label=False, environment=0.5)
    found.add_node('b "x" → \\', label=False, environment=0.1)
    found.add_node("y", label=True, environment=0.2)
    found.add_edge("a", "y", weight=1.5, effect=0.2)
    found.add_edge("a", 'b "x" → \\', weight=0.5, effect=-0.8)
    return found


def test_json_holds_nodes_edges_and_what_was_removed(graph: nx.DiGraph, tmp_path: Path) -> None:
    write_graph(graph, tmp_path / "g.json")
    found = json.loads((tmp_path / "g.json").read_text())
    assert found["nodes"][2] == {"name": "y", "label": True, "environment": 0.2}
    assert found["edges"][1] == {"from": "a", "to": "y", "weight": 1.5, "effect": 0.2}
    assert found["removed"] == [{"from": "y", "to": "a"}]


def test_graphml_is_read_back(graph: nx.DiGraph, tmp_path: Path) -> None:
    write_graph(graph, tmp_path / "g.graphml")
    again = nx.read_graphml(tmp_path / "g.graphml")
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert set(again.edges) == set(graph.edges) and again.edges["a", "y"]["weight"] == 1.5


def test_dot_quotes_names_and_draws_strong_edges_wide(graph: nx.DiGraph) -> None:
    lines = to_dot(graph).splitlines()
    assert lines[0] == "digraph {" and lines[-1] == "}"
    assert '  "b \\"x\\" → \\\\";' in lines and '  "y" [style="rounded,bold"];' in lines
    assert '  "a" -> "b \\"x\\" → \\\\" [label="-0.80", penwidth=3.00];' in lines
    assert '  "a" -> "y" [label="0.20", penwidth=1.12];' in lines
    assert to_dot(nx.DiGraph()).startswith("digraph {")


def test_strongest_edge_comes_first(graph: nx.DiGraph) -> None:
    assert [b for _, b, _ in strongest_first(graph)] == ['b "x" → \\', "y"]


@pytest.mark.parametrize(
    "suffix, start", [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_pictures(graph: nx.DiGraph, tmp_path: Path, suffix: str, start: bytes) -> None:
    import matplotlib.pyplot as plt

    open_before = plt.get_fignums()
    write_graph(graph, tmp_path / f"g.{suffix}")
    assert (tmp_path / f"g.{suffix}").read_bytes().startswith(start)
    assert plt.get_fignums() == open_before


def test_unknown_format_is_refused(graph: nx.DiGraph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"g\.gif.*\.svg, \.png, \.pdf, \.dot, \.graphml, \.json"):
        write_graph(graph, tmp_path / "g.gif")
    assert list(tmp_path.iterdir()) == []
