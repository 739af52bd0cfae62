"""Structural Hamming distance of learned graphs on the author's synthetic data.

    python benchmarks/honest_graph.py --seeds 0:10

All ten sites are labelled sources. Beside ours: the empty graph and R2-SortnRegress, because data
like these can be sorted by how well a variable is explained. Also printed: the largest derivative
of any reconstruction when a variable that is not a parent moves, which is 0 for an exact graph.
"""

import argparse

import numpy as np
import pandas as pd

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains
from dapdag.graph import compare_graphs, empty_graph
from dapdag.graph_baselines import r2_sort_n_regress


def dishonesty(estimator, data):
    """Largest change of a reconstruction when a variable that is not its parent changes."""
    X, y = data.X.iloc[:200], data.y.iloc[:200]
    env = estimator.source_environments_["E1_mean"].iloc[:1]
    base = estimator.reconstruct(X, y, env=env)
    largest = 0.0
    for name in [*X, y.name]:
        moved_X = X.assign(**{name: X[name] + X[name].std()}) if name in X else X
        moved_y = y + y.std() if name == y.name else y
        moved = estimator.reconstruct(moved_X, moved_y, env=env)
        strangers = [v for v in base if v != name and not estimator.graph_.has_edge(name, v)]
        largest = max(largest, float(np.abs(moved[strangers] - base[strangers]).max().max()))
    return largest


def one(seed, variant, options):
    data = make_regression_domains(variant=variant, random_state=seed)
    estimator = DAPDAGRegressor(**options).fit(data.X, data.y, sample_domain=data.sample_domain)
    found = compare_graphs(estimator.graph_, data.graph)
    everything = data.X.assign(**{data.y.name: data.y})
    return {
        "dapdag": found.shd,
        "precision": found.precision,
        "recall": found.recall,
        "removed": len(estimator.graph_.graph["removed"]),
        "empty": compare_graphs(empty_graph(list(data.graph)), data.graph).shd,
        "r2-sortnregress": compare_graphs(r2_sort_n_regress(everything), data.graph).shd,
        "dishonesty": dishonesty(estimator, data),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:10", help="first:last+1")
    parser.add_argument("--variant", default="author", choices=["author", "paper"])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="our options")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split(":"))
    from synthetic import _value

    options = {k: _value(v) for k, v in (s.split("=") for s in arguments.set)}
    table = pd.DataFrame([one(s, arguments.variant, options) for s in range(first, last)])
    print(table.to_string())
    print("\nmean (s.e.)")
    for name in table:
        print(f"  {name:16s} {table[name].mean():.3f} ({table[name].sem():.3f})")


if __name__ == "__main__":
    main()
