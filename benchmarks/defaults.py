"""Effect of each default setting: one change at a time, paired over the same seeds.

    python benchmarks/defaults.py --seeds 0:16

Regression sites of the paper's equations, nine sources and one target. Prints the mean R2 (clipped
at -1) and its paired difference to the defaults, with standard errors, apart for targets inside and
outside the span of the sources.
"""

import argparse

import pandas as pd
from sklearn.metrics import r2_score

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains

TARGET = 9
CHANGES = {
    "defaults": {},
    "one predictor": {"n_predictors": 1},
    "eight predictors": {"n_predictors": 8},
    "no ensemble": {"n_members": 1},
    "300 epochs": {"max_epochs": 300},
    "alternating updates": {"alternating": True},
    "point estimate of E": {"bayesian": False},
    "reconstruction weight .3": {"reconstruction_weight": 0.3},
    "no reconstruction, no graph": {"structure_weight": 0.0},
    "env_dim 2": {"env_dim": 2},
    "the paper's form": {"structure": "paper"},
}


def score(seed, options):
    data = make_regression_domains(random_state=seed)
    split = data.leave_out(TARGET)
    model = DAPDAGRegressor(**options).fit(split.X, split.y, sample_domain=split.sample_domain)
    return max(-1.0, r2_score(split.y_target, model.predict(split.X_target)))


def inside(seed):
    env = make_regression_domains(n_samples=1, random_state=seed).env
    sources = [e for domain, e in env.items() if domain != TARGET]
    return min(sources) <= env[TARGET] <= max(sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:16", help="first:last+1")
    first, last = map(int, parser.parse_args().seeds.split(":"))
    seeds = range(first, last)
    table = pd.DataFrame({"inside": [inside(s) for s in seeds]}, index=seeds)
    print(f"{len(table)} seeds, {(~table['inside']).sum()} with the target outside the sources\n")
    print("| change | R2 | difference to the defaults | inside | outside |\n|---|---|---|---|---|")
    for name, options in CHANGES.items():
        table[name] = [score(s, options) for s in seeds]
        gain = table[name] - table["defaults"]
        part = table.groupby("inside")[name].mean()
        print(
            f"| {name} | {table[name].mean():.4f} | {gain.mean():+.4f} ± {gain.sem():.4f} "
            f"| {part.get(True, float('nan')):.4f} | {part.get(False, float('nan')):.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
