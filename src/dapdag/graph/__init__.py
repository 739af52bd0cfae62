"""From edge strengths to a named DAG, and distances between graphs."""

from .comparison import (
    EdgeDifferences,
    GraphComparison,
    compare_graphs,
    edge_differences,
    structural_hamming_distance,
)
from .dag import (
    DAG,
    Edge,
    empty_graph,
    extract_dag,
    markov_blanket,
    relative_threshold,
    to_networkx,
)

__all__ = [
    "DAG",
    "Edge",
    "extract_dag",
    "relative_threshold",
    "to_networkx",
    "empty_graph",
    "markov_blanket",
    "EdgeDifferences",
    "edge_differences",
    "structural_hamming_distance",
    "GraphComparison",
    "compare_graphs",
]
