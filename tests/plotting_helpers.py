"""Tables and graphs that the tests of plotting draw."""

import networkx as nx
import numpy as np
import pandas as pd

from dapdag.effects import EnvironmentEffects

PAPER_EDGES = [
    *[("X1", "X2"), ("X2", "X3"), ("X1", "Y"), ("X2", "Y"), ("X1", "X4")],
    *[("X4", "X5"), ("Y", "X5"), ("X3", "X6"), ("Y", "X6"), ("X6", "X7")],
]


def random_dag(seed, density=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 31))
    density = rng.uniform(0, 0.3) if density is None else density
    names = [f"node_{k}" + "_with_a_long_name" * int(rng.integers(3)) for k in range(n)]
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for i, j in np.argwhere(np.triu(rng.random((n, n)) < density, 1)):
        graph.add_edge(names[i], names[j], weight=float(rng.random()))
    return graph


def environments(n, dims=1, prefix="site ", seed=0):
    rng = np.random.default_rng(seed)
    columns = {}
    for k in range(1, dims + 1):
        columns[f"E{k}_mean"] = rng.normal(size=n)
        columns[f"E{k}_sd"] = rng.uniform(0.05, 0.2, size=n)
    return pd.DataFrame(columns, index=[f"{prefix}{k}" for k in range(n)])


def loss_history(**terms):
    return pd.DataFrame({"epoch": np.arange(50), **terms})


def falling(start, end):
    return np.geomspace(start, end, 50)


LONG = "a hospital whose name is far too long to be written beside a point"


def effects_of(**slopes):
    """Straight lines from E = −1 to 1, each variable with a standard deviation of 2."""
    env = pd.Index(np.linspace(-1, 1, 11), name="E1")
    values = pd.DataFrame({name: 5 + s * env.to_numpy() for name, s in slopes.items()}, index=env)
    return EnvironmentEffects(values, pd.Series(2.0, index=list(slopes)))


def perturbed_graph(**strengths):
    graph = nx.DiGraph()
    for name, strength in strengths.items():
        graph.add_node(name, environment=strength, label=name == "Y")
    return graph


def legend_of(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}
