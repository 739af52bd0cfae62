"""The graph as an SVG whose nodes can be chosen, and what is then told about them."""

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from .._runtime.text import number, signed
from ..plotting.graph_artists import LINE_HEIGHT, RING, box_size, wrapped
from ..plotting.graphs import ENVIRONMENT_SHARE
from ..plotting.layout import Box, layered_layout
from .facts import KINDS, Facts
from .markup import Markup, tag

MAX_NODES, MAX_EDGES = 60, 150
# Pixels per point of the layout: names are then 13 pixels high.
ZOOM = 1.3
RIM = 8.0
HEAD = 8.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """The part of the graph that is drawn, and how strong its edges are."""

    graph: nx.DiGraph
    strength: dict[tuple[Hashable, Hashable], float]
    ringed: set[Hashable]
    nodes_left_out: int
    edges_left_out: int


def edge_strength(graph: nx.DiGraph) -> dict[tuple[Hashable, Hashable], float]:
    """How far one standard deviation of the parent moves the child, in the child's."""
    return {
        (u, v): abs(d.get("effect", d.get("weight", 0.0))) for u, v, d in graph.edges(data=True)
    }


def edge_effect(graph: nx.DiGraph, edge: tuple[Hashable, Hashable]) -> str:
    """The strength of an edge as text, with its sign where it has one."""
    attributes = graph.edges[edge]
    if "effect" in attributes:
        return signed(attributes["effect"], 2)
    return number(attributes.get("weight", 0.0), 2)


def environment_strength(graph: nx.DiGraph) -> dict[Hashable, float]:
    return {node: float(d or 0.0) for node, d in graph.nodes(data="environment")}


def drawn_part(graph: nx.DiGraph, label: Hashable) -> Drawn:
    """All of a small graph; of a large one what is nearest to the label, by its strongest edges."""
    strength = edge_strength(graph)
    nodes = list(graph)
    if len(nodes) > MAX_NODES:
        near = _nearest(graph, label, strength)
        nodes = [node for node in nodes if node in near]
    part = nx.DiGraph()
    part.add_nodes_from(nodes)
    inside = [edge for edge in strength if edge[0] in part and edge[1] in part]
    inside.sort(key=lambda edge: -strength[edge])
    kept = set(inside[:MAX_EDGES])
    part.add_edges_from(edge for edge in graph.edges if edge in kept)
    acts = environment_strength(graph)
    strongest = max(acts.values(), default=0.0)
    ringed = {n for n, a in acts.items() if strongest > 0 and a >= ENVIRONMENT_SHARE * strongest}
    left_out = len(graph) - len(part)
    return Drawn(part, strength, ringed, left_out, len(strength) - part.number_of_edges())


def _nearest(
    graph: nx.DiGraph, label: Hashable, strength: dict[tuple[Hashable, Hashable], float]
) -> set[Hashable]:
    """Grow from the label along the strongest edge each time."""
    near = {label}
    while len(near) < MAX_NODES:
        frontier = [e for e in strength if (e[0] in near) != (e[1] in near)]
        if not frontier:
            break
        strongest = max(frontier, key=lambda edge: strength[edge])
        near |= set(strongest)
    return near


def graph_svg(facts: Facts, drawn: Drawn) -> tuple[Markup, float]:
    """Boxes in layers, arrows from left to right; and the width in pixels."""
    graph, label = drawn.graph, facts.label.name
    texts = {node: wrapped(str(node)) for node in graph}
    sizes = {
        node: box_size(
            texts[node], max(graph.in_degree(node), graph.out_degree(node)), node in drawn.ringed
        )
        for node in graph
    }
    layout = layered_layout(graph, sizes)
    low, high = _bounds(list(layout.boxes.values()), list(layout.routes.values()))
    width, height = high - low
    number_of = {node: k for k, node in enumerate(graph)}
    largest = max((drawn.strength[edge] for edge in graph.edges), default=0.0) or 1.0

    def place(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([points[:, 0] - low[0], high[1] - points[:, 1]])

    edges = [
        _edge(place(route), drawn.strength[edge] / largest, *(number_of[n] for n in edge))
        for edge, route in layout.routes.items()
    ]
    nodes = []
    for node in graph:
        box = layout.boxes[node]
        x, y = place(np.array([[box.x, box.y]]))[0]
        moved = Box(float(x), float(y), box.width, box.height)
        look = " ".join(
            [
                "node",
                *(["is-label"] if node == label else []),
                *(["ringed"] * (node in drawn.ringed)),
            ]
        )
        nodes.append(_node(moved, texts[node], look, number_of[node]))
    svg = tag(
        "svg",
        *(edges, nodes),
        viewBox=f"0 0 {width:.1f} {height:.1f}",
        width=round(float(width * ZOOM)),
        height=round(float(height * ZOOM)),
        class_="graph",
        id="graph",
        style=f"--natural:{width * ZOOM:.0f}px",
        role="group",
        aria_label=f"Graph with {len(graph)} variables and {graph.number_of_edges()} arrows",
    )
    return svg, float(width * ZOOM)


def _bounds(boxes: list[Box], routes: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    corners = [
        (box.x + side * box.width / 2, box.y + side * box.height / 2)
        for box in boxes
        for side in (-1, 1)
    ]
    points = np.concatenate([np.array(corners).reshape(-1, 2), *routes])
    return np.array([points.min(0) - RIM, points.max(0) + RIM])


def _edge(route: NDArray[np.float64], share: float, start: int, end: int) -> Markup:
    """Horizontal runs joined by S-curves, and a head."""
    tip = route[-1]
    back = np.array([tip[0] - HEAD, tip[1]])
    points = np.vstack([route[:-1], back])
    path = [f"M{_pair(points[0])}L{_pair(points[1])}"]
    for k in range(2, len(points), 2):
        (x0, y0), (x1, y1) = points[k - 1], points[k]
        middle = (x0 + x1) / 2
        path.append(f"C{_pair((middle, y0))} {_pair((middle, y1))} {_pair((x1, y1))}")
        path.append(f"L{_pair(points[k + 1])}")
    half = 3.2 * (0.8 + 0.5 * share)
    head = [tip, (back[0], tip[1] + half), (back[0], tip[1] - half)]
    return tag(
        "g",
        tag("path", d="".join(path), stroke_width=round(1.0 + 2.4 * share, 2)),
        tag("polygon", points=" ".join(_pair(p) for p in head)),
        class_="edge",
        data_from=start,
        data_to=end,
        style=f"--strength:{0.5 + 0.5 * share:.2f}",
        aria_hidden="true",
    )


def _pair(point: Any) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _node(box: Box, text: str, look: str, number: int) -> Markup:
    parts = []
    if "ringed" in look:
        parts.append(_rounded(box, "ring"))
        box = box._replace(width=box.width - 2 * RING, height=box.height - 2 * RING)
    parts.append(_rounded(box, "box"))
    lines = text.split("\n")
    first = box.y - LINE_HEIGHT * (len(lines) - 1) / 2 + 3.5
    parts.append(
        tag(
            "text",
            [
                tag("tspan", line, x=box.x, y=first + LINE_HEIGHT * k)
                for k, line in enumerate(lines)
            ],
        )
    )
    return tag("g", parts, class_=look, data_node=number)


def _rounded(box: Box, class_: str) -> Markup:
    return tag(
        "rect",
        x=box.x - box.width / 2,
        y=box.y - box.height / 2,
        width=box.width,
        height=box.height,
        rx=6,
        class_=class_,
    )


def graph_data(facts: Facts, drawn: Drawn) -> Markup:
    """What the script tells about a chosen node, as JSON that cannot end its script element."""
    names = list(drawn.graph)
    acts = environment_strength(facts.graph)
    kinds = {c.name: c.kind for c in (*facts.columns, facts.label)}
    described = _effects(facts)
    data = []
    for node in names:
        around = {
            "parents": [(u, (u, node)) for u in facts.graph.predecessors(node)],
            "children": [(v, (node, v)) for v in facts.graph.successors(node)],
        }
        data.append(
            {
                "name": str(node),
                "kind": KINDS[kinds[node]],
                "label": node == facts.label.name,
                "environment": number(acts[node], 2) if facts.uses_environment else None,
                "ringed": node in drawn.ringed,
                "effects": described.get(node, []),
                **{
                    side: [
                        {"name": str(other), "strength": edge_effect(facts.graph, edge)}
                        for other, edge in sorted(pairs, key=lambda p: -drawn.strength[p[1]])
                    ]
                    for side, pairs in around.items()
                },
            }
        )
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")
    return Markup(f'<script type="application/json" id="graph-data">{text}</script>')


def _effects(facts: Facts) -> dict[Hashable, list[str]]:
    """For each variable the sentences that say what E does to it."""
    if facts.effects is None:
        return {}
    ends = facts.effects.values.iloc[[0, -1]].to_numpy(dtype=float)
    change = (ends[1] - ends[0]) / facts.effects.deviations.to_numpy(dtype=float)
    said: dict[Hashable, list[str]] = {}
    for k, column in enumerate(facts.effects.values):
        owner = facts.effect_owner[column]
        move = f"{number(ends[0, k])} → {number(ends[1, k])}"
        if not np.isnan(change[k]):
            move += f" ({signed(change[k], 2)} sd)"
        text = move if column == owner else f"{str(column).removeprefix(f'{owner}=')}: {move}"
        said.setdefault(owner, []).append(text)
    return said
