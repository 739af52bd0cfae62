"""Does a better graph give better predictions? The same fit on several graphs.

    python benchmarks/graph_given.py --seeds 0:6
    python benchmarks/graph_given.py --tasks classification --seeds 700:706

Ten simulated sites a seed by the paper's equations, the last one is the unlabelled target. The fit
takes the graph that GraphSearch finds (the default), the true one, that of CD-NOD with a domain
test, no edges at all, and the searched graph without inference on it (networks alone). Printed are
the score at the target (R2, or log-loss), the difference from the default paired over seeds with
its standard error (positive: better than the default), and the distance of the graph to the truth.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, r2_score

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import make_classification_domains, make_regression_domains
from dapdag.graph import empty_graph, structural_hamming_distance
from dapdag.graph_baselines import cdnod
from dapdag.inference.parts import Parts, using

TARGET = 9
DEFAULT = "searched"


def graphs(data, split):
    """Structures to fit on, by name."""
    table = split.X.assign(**{split.y.name: split.y})
    found = cdnod(table, split.sample_domain, test="domain")
    empty = empty_graph(table.columns)
    return {DEFAULT: "search", "true": data.graph, "CD-NOD": found, "empty": empty}


def run(task, seed):
    make = make_regression_domains if task == "regression" else make_classification_domains
    options = {} if task == "regression" else {"env_scale": 2.0}
    data = make(random_state=seed, **options)
    split = data.leave_out(TARGET)
    kind = DAPDAGRegressor if task == "regression" else DAPDAGClassifier
    rows = []
    for name, structure in graphs(data, split).items():
        model = kind(structure=structure).fit(split.X, split.y, sample_domain=split.sample_domain)
        rows.append({"graph": name, "seed": seed, **scores(task, model, data, split)})
    with using(Parts(graph_inference=False)):
        model = kind().fit(split.X, split.y, sample_domain=split.sample_domain)
    rows.append({"graph": "networks alone", "seed": seed, **scores(task, model, data, split)})
    return rows


def scores(task, model, data, split):
    if task == "regression":
        score = max(-1.0, r2_score(split.y_target, model.predict(split.X_target)))
    else:
        score = -log_loss(split.y_target, model.predict_proba(split.X_target))
    distance = structural_hamming_distance(data.graph, model.graph_)
    return {"score": score, "shd": distance, "weight": model.expert_weights_["graph"]}


def report(task, rows):
    table = pd.DataFrame(rows)
    wide = table.pivot(index="seed", columns="graph", values="score")
    print(f"\n{task}: {'R2' if task == 'regression' else 'minus log-loss'}, {len(wide)} seeds")
    for name in dict.fromkeys(table["graph"]):
        part = table[table["graph"] == name]
        gain = wide[name] - wide[DEFAULT]
        error = gain.std() / np.sqrt(len(gain))
        print(
            f"  {name:15s} {wide[name].mean():.4f}   {gain.mean():+.4f} ± {error:.4f}   "
            f"SHD {part['shd'].mean():.1f}   weight of inference {part['weight'].mean():.2f}"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = ("regression", "classification")
    parser.add_argument("--tasks", nargs="+", default=tasks, choices=tasks)
    parser.add_argument("--seeds", default="0:6", help="first:last+1")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    first, last = map(int, arguments.seeds.split(":"))
    for task in arguments.tasks:
        report(task, [row for seed in range(first, last) for row in run(task, seed)])


if __name__ == "__main__":
    main()
