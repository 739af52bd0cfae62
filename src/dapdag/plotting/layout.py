"""Layered drawing of a DAG: layers as columns, left to right, with room for every name.

Sugiyama's method: longest-path layers; an edge that skips layers gets a bend in each of them,
which takes a row of its own, so that no edge ever runs through a node.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dapdag.plotting.style import spread

Node = Hashable
Edge = tuple[Node, Node]

ROW_GAP, BEND_HEIGHT, BEND_GAP = 16.0, 4.0, 6.0
MIN_COLUMN_GAP, MAX_COLUMN_GAP = 28.0, 100.0
MAX_PORT_GAP = 7.0
# Room before and behind a box in which its edges run straight, for the arrowheads.
RUN = 10.0
STARTS, SWEEPS = 6, 16


class Bend(NamedTuple):
    """Where an edge passes through a layer that it skips."""

    edge: Edge
    layer: int


class Box(NamedTuple):
    """A node's rectangle, by its centre."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Boxes of the nodes and routes of the edges, in points.

    A route is an array of points (2k, 2): horizontal runs 0–1, 2–3, … joined by curves.
    """

    boxes: dict[Node, Box]
    routes: dict[Edge, NDArray[np.float64]]


def layered_layout(graph: nx.DiGraph, sizes: Mapping[Node, tuple[float, float]]) -> Layout:
    """Place the nodes of an acyclic graph, given the (width, height) of each."""
    # Copies, because networkx's views iterate in the order of a set, which changes between runs.
    connected = nx.DiGraph()
    connected.add_nodes_from(node for node in graph if graph.degree(node))
    connected.add_edges_from(graph.edges)
    layer = assign_layers(connected)
    bent, layer = _with_bends(connected, layer)
    columns = order_columns(bent, layer)
    rows = _rows(bent, columns, sizes)
    spans = _column_spans(bent, columns, rows, sizes)
    boxes = {
        node: Box(float(np.mean(spans[layer[node]])), rows[node], *sizes[node])
        for node in connected
    }
    routes = _routes(connected, boxes, rows, layer, spans)
    loose = [node for node in graph if not graph.degree(node)]
    return Layout(boxes | _shelves(loose, sizes, boxes), routes)


def assign_layers(graph: nx.DiGraph) -> dict[Node, int]:
    """Longest-path layers; nodes with more children than parents then move up to their children."""
    layer: dict[Node, int] = {}
    order = list(nx.topological_sort(graph))
    for node in order:
        layer[node] = max((layer[parent] + 1 for parent in graph.predecessors(node)), default=0)
    for node in reversed(order):
        if graph.out_degree(node) > graph.in_degree(node):
            layer[node] = min(layer[child] for child in graph.successors(node)) - 1
    return layer


def _with_bends(graph: nx.DiGraph, layer: dict[Node, int]) -> tuple[nx.DiGraph, dict[Node, int]]:
    """Split the edges that skip layers, so that each edge joins neighbouring layers."""
    bent = nx.DiGraph()
    bent.add_nodes_from(graph)
    layer = dict(layer)
    for edge in graph.edges:
        bends = [Bend(edge, k) for k in range(layer[edge[0]] + 1, layer[edge[1]])]
        layer |= {bend: bend.layer for bend in bends}
        nx.add_path(bent, [edge[0], *bends, edge[1]])
    return bent, layer


def order_columns(bent: nx.DiGraph, layer: Mapping[Node, int]) -> list[list[Node]]:
    """Order each layer by the barycentres of its neighbours, sweeping to and fro.

    Sweeps get stuck, so they start from several depth-first orders; the ordering with the fewest
    crossings wins.
    """
    if not len(bent):
        return []
    roots = [node for node in bent if not bent.in_degree(node)]
    step = -(-len(roots) // STARTS)
    candidates = [_swept(bent, _depth_first(bent, layer, root)) for root in roots[::step]]
    return min(candidates, key=lambda columns: _crossings(bent, columns))


def _depth_first(bent: nx.DiGraph, layer: Mapping[Node, int], root: Node) -> list[list[Node]]:
    columns: list[list[Node]] = [[] for _ in range(max(layer.values()) + 1)]
    around = nx.Graph(bent.edges)
    # A second walk, from anywhere, reaches what is not connected to the root.
    walk = [*nx.dfs_preorder_nodes(around, root), *nx.dfs_preorder_nodes(around)]
    for node in dict.fromkeys(walk):
        columns[layer[node]].append(node)
    return columns


def _swept(bent: nx.DiGraph, columns: list[list[Node]]) -> list[list[Node]]:
    best, fewest = columns, _crossings(bent, columns)
    for sweep in range(SWEEPS):
        columns = _swap_neighbours(bent, _sweep(bent, columns, forward=sweep % 2 == 0))
        if (crossings := _crossings(bent, columns)) < fewest:
            best, fewest = columns, crossings
        if not fewest:
            break
    return best


def _sweep(bent: nx.DiGraph, columns: list[list[Node]], forward: bool) -> list[list[Node]]:
    neighbours = bent.predecessors if forward else bent.successors
    ordered = [list(column) for column in columns]
    walk = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
    for k in walk:
        fixed = {node: i for i, node in enumerate(ordered[k - 1 if forward else k + 1])}
        centre = {}
        for i, node in enumerate(ordered[k]):
            around = [fixed[other] for other in neighbours(node)]
            centre[node] = float(np.mean(around)) if around else float(i)
        ordered[k].sort(key=centre.__getitem__)
    return ordered


def _swap_neighbours(bent: nx.DiGraph, columns: list[list[Node]]) -> list[list[Node]]:
    """Swap adjacent nodes of a layer wherever that saves a crossing."""
    position = {node: i for column in columns for i, node in enumerate(column)}

    def crossed(upper: Node, lower: Node) -> int:
        return sum(
            position[a] > position[b]
            for side in (bent.predecessors, bent.successors)
            for a in side(upper)
            for b in side(lower)
        )

    for column in columns:
        for i in range(len(column) - 1):
            upper, lower = column[i], column[i + 1]
            if crossed(lower, upper) < crossed(upper, lower):
                column[i], column[i + 1] = lower, upper
                position[upper], position[lower] = i + 1, i
    return columns


def _crossings(bent: nx.DiGraph, columns: list[list[Node]]) -> int:
    position = {node: i for column in columns for i, node in enumerate(column)}
    total = 0
    for column in columns[:-1]:
        ends = np.array(
            [(position[u], position[v]) for u in column for v in bent.successors(u)]
        ).reshape(-1, 2)
        left, right = (np.sign(end[:, None] - end) for end in ends.T)
        total += int((left * right < 0).sum()) // 2
    return total


def _rows(
    bent: nx.DiGraph, columns: list[list[Node]], sizes: Mapping[Node, tuple[float, float]]
) -> dict[Node, float]:
    """Heights at which edges run as straight as the boxes allow."""
    rows = {node: 40.0 * i for column in columns for i, node in enumerate(column)}
    for sweep in range(40):
        for column in columns if sweep % 2 else columns[::-1]:
            heights = [_height(node, sizes) for node in column]
            solid = np.array([not isinstance(node, Bend) for node in column])
            gaps = np.where(solid[1:] | solid[:-1], ROW_GAP, BEND_GAP)
            wanted = [
                np.mean([rows[other] for other in nx.all_neighbors(bent, node)]) for node in column
            ]
            # Straight long edges read best, so bends give way last.
            weights = np.where(solid, 1.0, 8.0)
            placed = spread(wanted, heights, gaps, weights)
            rows.update(zip(column, placed.tolist(), strict=True))
    return rows


def _height(node: Node, sizes: Mapping[Node, tuple[float, float]]) -> float:
    return BEND_HEIGHT if isinstance(node, Bend) else sizes[node][1]


def _column_spans(
    bent: nx.DiGraph,
    columns: list[list[Node]],
    rows: Mapping[Node, float],
    sizes: Mapping[Node, tuple[float, float]],
) -> list[tuple[float, float]]:
    """Left and right of each column; steep edges widen the gap before the next one."""
    spans, left = [], 0.0
    for column in columns:
        widest = max(sizes[node][0] for node in column if not isinstance(node, Bend))
        right = left + widest + 2 * RUN
        spans.append((left, right))
        climbs = [abs(rows[u] - rows[v]) for u in column for v in bent.successors(u)]
        gap = 0.4 * max(climbs, default=0.0)
        left = right + float(np.clip(gap, MIN_COLUMN_GAP, MAX_COLUMN_GAP))
    return spans


def _routes(
    graph: nx.DiGraph,
    boxes: Mapping[Node, Box],
    rows: Mapping[Node, float],
    layer: Mapping[Node, int],
    spans: list[tuple[float, float]],
) -> dict[Edge, NDArray[np.float64]]:
    chains = {
        (u, v): [u, *(Bend((u, v), k) for k in range(layer[u] + 1, layer[v])), v]
        for u, v in graph.edges
    }
    leaving = _ports({edge: (edge[0], rows[chain[1]]) for edge, chain in chains.items()}, boxes)
    arriving = _ports({edge: (edge[1], rows[chain[-2]]) for edge, chain in chains.items()}, boxes)
    routes = {}
    for (u, v), chain in chains.items():
        start, end = boxes[u], boxes[v]
        points = [(start.x + start.width / 2, leaving[u, v]), (spans[layer[u]][1], leaving[u, v])]
        for bend in chain[1:-1]:
            points += [(x, rows[bend]) for x in spans[layer[bend]]]
        points += [(spans[layer[v]][0], arriving[u, v]), (end.x - end.width / 2, arriving[u, v])]
        routes[u, v] = np.array(points)
    return routes


def _ports(
    towards: Mapping[Edge, tuple[Node, float]], boxes: Mapping[Node, Box]
) -> dict[Edge, float]:
    """Spread the edges of a node over the side of its box, in the order of where they head."""
    ports = {}
    for node in {node for node, _ in towards.values()}:
        edges = [edge for edge, (at, _) in towards.items() if at == node]
        edges.sort(key=lambda edge: (towards[edge][1], str(edge)))
        gap = min(MAX_PORT_GAP, 0.8 * boxes[node].height / len(edges))
        for k, edge in enumerate(edges):
            ports[edge] = boxes[node].y + gap * (k - (len(edges) - 1) / 2)
    return ports


def _shelves(
    loose: list[Node], sizes: Mapping[Node, tuple[float, float]], boxes: Mapping[Node, Box]
) -> dict[Node, Box]:
    """Nodes without edges, in lines below the drawing."""
    area = sum((sizes[node][0] + ROW_GAP) * (sizes[node][1] + ROW_GAP) for node in loose)
    left = min((box.x - box.width / 2 for box in boxes.values()), default=0.0)
    right = max((box.x + box.width / 2 for box in boxes.values()), default=0.0)
    widest = max((sizes[node][0] for node in loose), default=0.0)
    limit = left + max(right - left, widest, 1.5 * area**0.5)
    top = min((box.y - box.height / 2 for box in boxes.values()), default=0.0) - 1.5 * ROW_GAP
    shelves: list[list[Node]] = [[]]
    x = left
    for node in loose:
        if x > left and x + sizes[node][0] > limit:
            shelves.append([])
            x = left
        shelves[-1].append(node)
        x += sizes[node][0] + ROW_GAP

    placed = {}
    for shelf in shelves:
        x, depth = left, max((sizes[node][1] for node in shelf), default=0.0)
        for node in shelf:
            placed[node] = Box(x + sizes[node][0] / 2, top - depth / 2, *sizes[node])
            x += sizes[node][0] + ROW_GAP
        top -= depth + ROW_GAP
    return placed
