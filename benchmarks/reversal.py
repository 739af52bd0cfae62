"""Loss at anti-causal targets, for the prediction and for each expert that it is made of.

    python benchmarks/reversal.py --seeds 0:3
    python benchmarks/reversal.py --tasks classification --modes reversed absent --seeds 700:705

Causes → label → effects, eight sources of 500 rows; the effects' strength differs between sites
and at the target is drawn as at the sources, reversed, absent, or the same everywhere; in the mode
`intercept` the label's own intercept differs too. The loss is the log-loss, or the squared error of
the standardised label. `ratio` compares the prediction with the best of the pooled networks, those
with E, the label's parents alone and inference on the graph: by the means over seeds, and the
largest of a single seed. Means have standard errors behind ±.
"""

import argparse
import itertools
import warnings

import numpy as np
import pandas as pd

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag._sklearn.sites import adapt
from dapdag.data.chunks import padded
from dapdag.datasets import make_anticausal_domains
from dapdag.datasets.anticausal import MODES, TASKS
from dapdag.inference.environment import draws_of
from dapdag.inference.experts import evaluate_slots, label_support, network_moments
from dapdag.inference.graph_expert import expect, infer_label
from dapdag.inference.prediction import graph_setting

EXPERTS = ("pooled", "with E", "parents", "graph")
LEAST = 1e-6


def losses(task, mode, effects, seed):
    """Loss at the target of the prediction, of every expert and of the oracle."""
    data = make_anticausal_domains(task=task, mode=mode, effects=effects, random_state=seed)
    target = data.targets[0]
    split = data.leave_out(target)
    kind = DAPDAGClassifier if task == "classification" else DAPDAGRegressor
    model = kind().fit(split.X, split.y, sample_domain=split.sample_domain)
    y = split.y_target.to_numpy(dtype=float)
    if task == "classification":
        found = {"prediction": model.predict_proba(split.X_target)[:, 1]}
    else:
        found = {"prediction": model.predict(split.X_target)}
    found |= expert_predictions(model, split.X_target)
    found["oracle"] = data.oracle(split.X_target, data.env[target])
    scale = 1.0 if task == "classification" else split.y.var()
    row = {name: loss(task, y, p) / scale for name, p in found.items()}
    weights = adapt(model, split.X_target).sites[0].known.estimate.weights
    return row | dict(zip(("w0", "w1", "w2"), weights.tolist(), strict=True))


def loss(task, y, predicted):
    if task == "regression":
        return np.mean((y - predicted) ** 2)
    p = np.clip(predicted, LEAST, 1 - LEAST)
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


def expert_predictions(estimator, X):
    """What each expert alone predicts at a site of at most a few hundred rows."""
    model, site = estimator.fitted_.model, adapt(estimator, X).sites[0]
    known = site.known.estimate
    rows = site._chunks.encoded(np.arange(len(X)))
    n = len(X)
    networks, _ = network_moments(
        model, model.network_weights, draws_of(model, known.env), padded(rows)
    )
    means = {"pooled": networks[0, :n], "with E": networks[1, :n]}
    if model.effects is not None:
        shares, env, temperature = graph_setting(model, known.env)
        support = label_support(model)
        slots = evaluate_slots(model, shares, env, padded(rows), n, labelled=False)
        means["parents"] = infer_label(model.effects, slots, support, 0.0).mean(support)
        means["graph"] = expect(slots, support, known.effects, temperature).mean(support)
    decode = (lambda m: m[:, 0]) if hasattr(estimator, "classes_") else model.table.label.decode
    return {name: np.asarray(decode(m)).ravel() for name, m in means.items()}


def report(table):
    for (task, mode, effects), part in table.groupby(["task", "mode", "effects"], sort=False):
        columns = ["prediction", *(e for e in EXPERTS if e in part), "oracle"]
        best = part[[e for e in EXPERTS if e in part]]
        ratio = part["prediction"].mean() / best.mean().min()
        worst = (part["prediction"] / best.min(axis=1)).max()
        values = "  ".join(
            f"{c} {part[c].mean():.3f}" + (f" ± {part[c].sem():.3f}" if len(part) > 1 else "")
            for c in columns
        )
        weights = part[["w0", "w1", "w2"]].mean().round(2).tolist()
        print(f"{task:14s} {mode:10s} {effects:8s} {values}")
        print(f"{'':34s} ratio {ratio:.2f}, largest {worst:.2f}; mean weights {weights}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--effects", nargs="+", default=["numeric"])
    parser.add_argument("--seeds", default="0:3", help="first:last+1")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    first, last = map(int, arguments.seeds.split(":"))
    for case in itertools.product(arguments.tasks, arguments.modes, arguments.effects):
        rows = [losses(*case, seed) for seed in range(first, last)]
        about = dict(zip(("task", "mode", "effects"), case, strict=True))
        report(pd.DataFrame(rows).assign(**about))


if __name__ == "__main__":
    main()
