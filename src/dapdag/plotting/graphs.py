"""Draw a named DAG, alone or against the true one."""

from collections import Counter
from collections.abc import Hashable, Iterable

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dapdag.graph import edge_differences
from dapdag.plotting import style
from dapdag.plotting.graph_artists import (
    CORRECT,
    EXTRA,
    MISSING,
    PLAIN,
    REVERSED,
    RING,
    EdgeStyle,
    box_size,
    draw_edge,
    draw_legend,
    draw_node,
    draw_probability,
    wrapped,
)
from dapdag.plotting.layout import Edge, Layout, Node, layered_layout

LARGEST_ZOOM, LARGEST_FIGURE = 1.3, np.array([20.0, 14.0])
# Nodes are marked if the effect of E on them is at least this share of its largest effect.
ENVIRONMENT_SHARE = 0.25


def plot_graph(
    graph: nx.DiGraph,
    truth: nx.DiGraph | None = None,
    ax: Axes | None = None,
    label: Hashable | None = None,
) -> Axes:
    """Draw a graph in layers, causes to the left of their effects.

    Parameters
    ----------
    graph : networkx.DiGraph
        Edge attribute ``"weight"`` sets width and opacity, ``"probability"`` is written on the
        edge. Nodes with the attribute ``"perturbed"`` true, or ``"environment"`` at least a quarter
        of its maximum, get a ring; the graph's attribute ``"rings"`` may say what it means.
    truth : networkx.DiGraph, optional
        True graph over the same nodes: edges are then coloured as correct, reversed (drawn as
        learned), extra and missing.
    ax : Axes, optional
        Names shrink to fit; without it a figure is made in which they are readable.
    label : node, optional
        The node in the accent colour; by default the one with the attribute ``"label"``.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import networkx as nx
    >>> from dapdag.plotting import plot_graph
    >>> ax = plot_graph(nx.DiGraph([("age", "outcome"), ("dose", "outcome")]), label="outcome")
    """
    if label is not None and label not in graph:
        raise ValueError(f"label {label!r} is not a node of the graph; nodes are {list(graph)}.")
    styles = _edge_styles(graph, truth)
    if loops := [u for u, v in styles if u == v]:
        raise ValueError(f"Edges from a node to itself cannot be drawn; they are at {loops}.")
    texts = {node: wrapped(str(node)) for node in graph}
    rings = _perturbed(graph)
    ports = {node: _ports(node, styles) for node in graph}
    sizes = {node: box_size(texts[node], ports[node], node in rings) for node in graph}
    layout, flipped = _layout(graph, styles, sizes)
    bounds = _bounds(layout)
    ax = style.axes(ax, _figure_size(bounds))
    zoom = _set_limits(ax, bounds)

    labels = {label} if label is not None else {n for n, d in graph.nodes(data="label") if d}
    strength = _relative_weights(graph)
    for edge, edge_style in styles.items():
        route = layout.routes[edge[::-1]][::-1] if edge in flipped else layout.routes[edge]
        draw_edge(ax, route, edge_style, strength.get(edge), zoom)
        probability = graph.edges[edge].get("probability") if edge in graph.edges else None
        if probability is not None:
            draw_probability(ax, route, probability, zoom)
    for node, box in layout.boxes.items():
        draw_node(ax, box, texts[node], accent=node in labels, ring=node in rings, zoom=zoom)
    shown = styles.values() if truth is not None or len(set(strength.values())) > 1 else ()
    numbered = any(p is not None for *_, p in graph.edges(data="probability"))
    meaning = graph.graph.get("rings", "environment acts here") if rings else None
    draw_legend(ax, shown, bool(labels), meaning, numbered)
    ax.set_title(_title(styles, truth), loc="left", fontsize="medium", color=style.INK)
    return ax


def _edge_styles(graph: nx.DiGraph, truth: nx.DiGraph | None) -> dict[Edge, EdgeStyle]:
    if truth is None:
        return dict.fromkeys(graph.edges, PLAIN)
    difference = edge_differences(graph, truth)
    kinds = [
        (difference.missing, MISSING),
        (difference.correct, CORRECT),
        (difference.reversed, REVERSED),
        (difference.extra, EXTRA),
    ]
    return {edge: kind for edges, kind in kinds for edge in sorted(edges, key=str)}


def _layout(
    graph: nx.DiGraph, styles: dict[Edge, EdgeStyle], sizes: dict[Node, tuple[float, float]]
) -> tuple[Layout, set[Edge]]:
    """Layout of all edges to be drawn, and those that run backwards in it.

    Learned and missing edges together may close cycles; the edges that would are laid out the
    other way round.
    """
    acyclic = nx.DiGraph()
    acyclic.add_nodes_from(graph)
    flipped = set()
    learned_first = sorted(styles, key=lambda edge: styles[edge] is MISSING)
    for u, v in learned_first:
        if nx.has_path(acyclic, v, u):
            flipped.add((u, v))
            acyclic.add_edge(v, u)
        else:
            acyclic.add_edge(u, v)
    return layered_layout(acyclic, sizes), flipped


def _ports(node: Node, edges: Iterable[Edge]) -> int:
    """Most edges on one side of a node."""
    leaving, arriving = Counter(u for u, _ in edges), Counter(v for _, v in edges)
    return max(leaving[node], arriving[node])


def _bounds(layout: Layout) -> NDArray[np.float64]:
    """Lower left and upper right corner of the drawing."""
    corners = [
        (box.x + side * box.width / 2, box.y + side * box.height / 2)
        for box in layout.boxes.values()
        for side in (-1, 1)
    ]
    points = np.concatenate([np.array(corners).reshape(-1, 2), *layout.routes.values()])
    if not len(points):
        points = np.zeros((1, 2))
    return np.array([points.min(axis=0) - 2 * RING, points.max(axis=0) + 2 * RING])


def _figure_size(bounds: NDArray[np.float64]) -> tuple[float, float]:
    """Inches at which names keep their size, up to a limit beyond which all shrinks alike."""
    inches = (bounds[1] - bounds[0]) / 72
    width, height = inches * min(1.0, *(LARGEST_FIGURE / inches))
    return max(float(width) + 0.3, 4.5), max(float(height) + 1.0, 2.2)


def _set_limits(ax: Axes, bounds: NDArray[np.float64]) -> float:
    """Fit the drawing into the Axes at no more than the largest zoom; return the zoom."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    available = np.asarray(ax.get_window_extent().size) * 72 / figure.dpi
    extent = bounds[1] - bounds[0]
    zoom = float(min(LARGEST_ZOOM, *(available / extent)))
    shown = np.maximum(extent, available / LARGEST_ZOOM)
    centre = bounds.mean(axis=0)
    low, high = centre - shown / 2, centre + shown / 2
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    # Anchored at the top, graphs side by side have their titles on one line.
    ax.set_aspect("equal", adjustable="box", anchor="N")
    ax.axis("off")
    return zoom


def _relative_weights(graph: nx.DiGraph) -> dict[Edge, float]:
    """Weights as a share of the largest; edges without one count as the strongest."""
    weights = {(u, v): abs(w) for u, v, w in graph.edges(data="weight") if w is not None}
    largest = max((w for w in weights.values() if np.isfinite(w)), default=0.0)
    if not largest:
        return {}
    return {edge: float(np.nan_to_num(min(w / largest, 1.0))) for edge, w in weights.items()}


def _perturbed(graph: nx.DiGraph) -> set[Node]:
    acts = {node: d for node, d in graph.nodes(data="environment") if d is not None}
    strongest = max(acts.values(), default=0.0)
    strong = {n for n, d in acts.items() if strongest > 0 and d >= ENVIRONMENT_SHARE * strongest}
    return strong | {node for node, d in graph.nodes(data="perturbed") if d}


def _title(styles: dict[Edge, EdgeStyle], truth: nx.DiGraph | None) -> str:
    if truth is None:
        return f"Graph with {len(styles)} edge{'s' * (len(styles) != 1)}"
    wrong = sum(kind is not CORRECT for kind in styles.values())
    right = len(styles) - wrong
    return (
        f"Learned against true graph: {right} of {len(truth.edges)} edges right, distance {wrong}"
    )
