"""The layered layout of a graph: boxes, curves, order."""

import networkx as nx
import numpy as np
import pytest
from matplotlib.path import Path
from plotting_helpers import random_dag

from dapdag.plotting.graph_artists import _curve
from dapdag.plotting.layout import layered_layout


def random_layout(seed):
    graph = random_dag(seed)
    rng = np.random.default_rng(seed)
    sizes = {node: tuple(rng.uniform([15, 15], [150, 60])) for node in graph}
    return graph, layered_layout(graph, sizes)


def edges_of(box):
    left, bottom = box.x - box.width / 2, box.y - box.height / 2
    return left, bottom, left + box.width, bottom + box.height


@pytest.mark.parametrize("seed", range(16))
def test_boxes_never_overlap(seed):
    _, layout = random_layout(seed)
    boxes = np.array([edges_of(box) for box in layout.boxes.values()])
    left, bottom, right, top = boxes.T
    apart = (right[:, None] <= left) | (top[:, None] <= bottom)
    apart = apart | apart.T
    assert apart[~np.eye(len(boxes), dtype=bool)].all()


@pytest.mark.parametrize("seed", range(10, 20))
def test_edges_run_through_no_box(seed):
    _, layout = random_layout(seed)
    for (u, v), route in layout.routes.items():
        line = Path(_curve(route).to_polygons(closed_only=False)[0])
        x, y = line.interpolated(30).vertices.T
        for node, box in layout.boxes.items():
            left, bottom, right, top = edges_of(box)
            hit = (x > left + 1e-6) & (x < right - 1e-6) & (y > bottom) & (y < top)
            assert node in (u, v) or not hit.any()


@pytest.mark.parametrize("seed", range(10))
def test_causes_stand_left_of_their_effects(seed):
    graph, layout = random_layout(seed)
    assert layout.boxes.keys() == set(graph)
    assert all(layout.boxes[u].x < layout.boxes[v].x for u, v in graph.edges)


def test_ordering_avoids_crossings_that_can_be_avoided():
    graph = nx.DiGraph([("a", "y"), ("b", "x"), ("c", "z"), ("a", "x"), ("b", "z")])
    boxes = layered_layout(graph, dict.fromkeys(graph, (20.0, 20.0))).boxes
    ends = [(boxes[u].y, boxes[v].y) for u, v in graph.edges]
    assert not any((a - c) * (b - d) < 0 for a, b in ends for c, d in ends)
