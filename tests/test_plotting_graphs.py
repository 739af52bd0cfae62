"""Pictures of graphs and of comparisons with the truth."""

import matplotlib.pyplot as plt
import networkx as nx
import pytest
from matplotlib.patches import FancyBboxPatch, PathPatch
from plotting_helpers import PAPER_EDGES, legend_of, random_dag

from dapdag.plotting import plot_graph
from dapdag.plotting.layout import layered_layout


@pytest.mark.parametrize("figsize", [(3, 2), (6.4, 4.8), (14, 5)])
@pytest.mark.parametrize("seed", [3, 4])
def test_every_name_is_drawn_inside_its_box(figsize, seed):
    graph = random_dag(seed)
    _, ax = plt.subplots(figsize=figsize, layout="constrained")
    plot_graph(graph, ax=ax)
    ax.figure.canvas.draw()
    names = {text.get_text().replace("\n", ""): text for text in ax.texts}
    assert names.keys() == set(graph)
    boxes = [p.get_window_extent() for p in ax.patches if isinstance(p, FancyBboxPatch)]
    for text in names.values():
        extent = text.get_window_extent()
        assert any(
            box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 <= box.y1
            for box in boxes
        )


def test_comparison_shows_what_is_right_reversed_extra_and_missing():
    truth = nx.DiGraph(PAPER_EDGES)
    learned = truth.copy()
    learned.remove_edges_from([("X1", "X2"), ("X2", "Y"), ("X4", "X5")])
    learned.add_edges_from([("X2", "X1"), ("X3", "X7")])
    ax = plot_graph(learned, truth=truth)
    lines = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    assert len(lines) == 11
    assert sum(line.get_linestyle() != "-" for line in lines) == 2
    assert len({line.get_edgecolor() for line in lines}) == 4
    assert legend_of(ax) == {"correct edge", "reversed edge", "extra edge", "missing edge"}
    assert "7 of 10 edges right, distance 4" in ax.get_title(loc="left")


def test_missing_edges_against_the_learned_order_are_drawn_backwards():
    learned, truth = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("c", "a"), ("b", "c")])
    truth.add_nodes_from("abc")
    ax = plot_graph(learned, truth=truth)
    assert len([patch for patch in ax.patches if isinstance(patch, PathPatch)]) == 3


def test_nodes_on_which_the_environment_acts_have_a_ring():
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, {"a": 1.0, "b": 0.5, "c": 0.01}, "environment")
    ax = plot_graph(graph, label="c")
    assert sum(isinstance(patch, FancyBboxPatch) for patch in ax.patches) == 3 + 2
    assert legend_of(ax) == {"label", "environment acts here"}


def test_stronger_edges_are_wider():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 0.1), ("b", "c", 0.9)])
    lines = [p for p in plot_graph(graph).patches if isinstance(p, PathPatch)]
    assert lines[0].get_linewidth() < lines[1].get_linewidth()


def test_the_same_graph_is_drawn_the_same_way():
    graph = random_dag(7)
    assert layered_layout(graph, dict.fromkeys(graph, (9, 9))).boxes == (
        layered_layout(graph.copy(), dict.fromkeys(graph, (9, 9))).boxes
    )


def test_graphs_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="'Z'"):
        plot_graph(nx.DiGraph(PAPER_EDGES), label="Z")
    with pytest.raises(ValueError, match="itself.*'a'"):
        plot_graph(nx.DiGraph([("a", "a")]))


@pytest.mark.parametrize("graph", [nx.DiGraph(), nx.empty_graph(12, create_using=nx.DiGraph)])
def test_graphs_without_edges_are_drawn(graph):
    assert len(plot_graph(graph).texts) == len(graph)
