"""Data without shift: the cost of adaptation where there is nothing to adapt to.

    python benchmarks/no_shift.py --seeds 0:10
    DAPDAG_DATA=folder python benchmarks/no_shift.py --seeds 0:4 --real

One domain is split at random into ten; one of the ten is the unlabelled target. Ours against the
pooled network of the same width and budget (`dapdag.baselines`), on the same rows, as paired
differences: R2, or minus the log-loss, so that more is better.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import log_loss, r2_score

from dapdag.baselines import registry
from dapdag.datasets import make_classification_domains, make_regression_domains
from dapdag.datasets.real import LOADERS

PARTS = 10
OURS, POOLED = "dapdag-b", "mlp"
# One domain of each real set that is large enough to be split.
REAL = {"bike_sharing": "2012_summer", "impact_tbi": "TINT", "sachs": "cd3cd28"}


def synthetic(make, task):
    def single(seed):
        data = make(n_domains=1, n_samples=500 * PARTS, random_state=seed)
        return data.X, data.y

    return task, single


def real(name, domain):
    data = LOADERS[name]()
    rows = np.flatnonzero(data.sample_domain == domain)

    def single(seed):
        return data.X.iloc[rows], data.y.iloc[rows]

    return data.task, single


def scores(task, X, y, seed):
    """The score of each method on the last of ten random parts."""
    part = np.random.default_rng(seed).permutation(np.arange(len(X)) % PARTS)
    source, target = part < PARTS - 1, part == PARTS - 1
    found = {}
    for method in (OURS, POOLED):
        model = registry.make(method, task).set_params(random_state=seed)
        model.fit(X[source], y[source], sample_domain=part[source])
        if task == "regression":
            found[method] = r2_score(y[target], model.predict(X[target]))
        else:
            found[method] = -log_loss(y[target], model.predict_proba(X[target]))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="0:10", help="first:last+1")
    parser.add_argument("--real", action="store_true", help="domains of the real sets as well")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    first, last = map(int, arguments.seeds.split(":"))
    cases = {
        "synthetic regression": synthetic(make_regression_domains, "regression"),
        "synthetic classification": synthetic(make_classification_domains, "classification"),
    }
    if arguments.real:
        cases |= {f"{name} {domain}": real(name, domain) for name, domain in REAL.items()}
    for name, (task, single) in cases.items():
        rows = [scores(task, *single(seed), seed) for seed in range(first, last)]
        ours, pooled = (np.array([row[m] for row in rows]) for m in (OURS, POOLED))
        gain = ours - pooled
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        metric = "R2" if task == "regression" else "-log-loss"
        print(
            f"{name}: {metric} {OURS} {ours.mean():.4f}, {POOLED} {pooled.mean():.4f}, "
            f"difference {gain.mean():+.4f} ({error:.4f}) over {len(gain)} seeds",
            flush=True,
        )


if __name__ == "__main__":
    main()
