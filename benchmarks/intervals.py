"""90 % intervals of numbers at new sites: coverage by predicted value, and Winkler scores.

    DAPDAG_DATA=folder python benchmarks/intervals.py --sets bike_sharing sachs
    python benchmarks/intervals.py --sets simulated --seeds 0:21
    python benchmarks/intervals.py --report

Methods:

    ours                 predict_interval
    ours, constant       without `row_noise`: the variance does not depend on the prediction
    quantile boosting    scikit-learn's HistGradientBoostingRegressor, quantiles .05 and .95, pooled
    CQR                  conformalised quantile regression (Romano et al. 2019) around the pooled
                         MLP: the MLP has 60 % of the rows, quantile boosting of its errors 20 %,
                         and 20 % calibrate

On a real table every domain is left out in turn, with at most --rows rows of each; a simulated one
has eight sources of 300 rows, whose noise is constant, and six new sites. The Winkler score of an
interval is its width plus 20 times what the label lies outside of it, in standard deviations of the
sources' labels: less is better. Quarters are those of the predictions of ours at a site. Sites that
`environment` flags as outside are apart.

Finished sites are appended to --out; a rerun goes on from there.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from parts import append, read, without
from real import limited
from sklearn.ensemble import HistGradientBoostingRegressor

from dapdag import DAPDAGRegressor
from dapdag.baselines import MLPRegressor
from dapdag.datasets import make_regression_domains
from dapdag.datasets.real import LOADERS

LEVEL = 0.1
OURS, CONSTANT = "ours", "ours, constant"
METHODS = (OURS, CONSTANT, "quantile boosting", "CQR")
SOURCES, SITES, ROWS = 8, 6, 300


def simulated(seed, rows):
    """(replicate, sources, [(site, X, y)]) of simulated data."""
    data = make_regression_domains(n_domains=SOURCES + SITES, n_samples=ROWS, random_state=seed)
    own = data.sample_domain < SOURCES
    sources = data.X[own], data.y[own], data.sample_domain[own]
    sites = [
        (str(d), data.X[data.sample_domain == d], data.y[data.sample_domain == d])
        for d in range(SOURCES, SOURCES + SITES)
    ]
    yield "all", sources, sites


def real(name):
    def tables(seed, rows):
        data = limited(LOADERS[name](), rows)
        for domain in data.domains:
            split = data.leave_out(domain)
            sources = split.X, split.y, split.sample_domain
            yield str(domain), sources, [(str(domain), split.X_target, split.y_target)]

    return tables


SETS = {"simulated": simulated, "bike_sharing": real("bike_sharing"), "sachs": real("sachs")}


def codes(X, reference):
    """Columns as numbers, for boosting: levels of text by their position among the sources'."""
    out = X.copy()
    for name in X.columns[[not pd.api.types.is_numeric_dtype(t) for t in X.dtypes]]:
        levels = sorted(reference[name].dropna().astype(str).unique())
        out[name] = pd.Categorical(X[name].astype(str), categories=levels).codes
    return out.astype(float)


def quantiles(X, y, seed):
    """Functions that predict the 5 % and the 95 % quantile."""
    fits = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed).fit(X, y)
        for q in (LEVEL / 2, 1 - LEVEL / 2)
    ]
    return lambda rows: np.column_stack([fit.predict(rows) for fit in fits])


def conformalised(X, y, seed):
    """Intervals by CQR around the pooled MLP."""
    part = np.random.default_rng(seed).choice(3, len(X), p=[0.6, 0.2, 0.2])
    mlp = MLPRegressor(random_state=seed).fit(X[part == 0], y[part == 0])

    def about(rows):
        mean = np.asarray(mlp.predict(rows))
        return mean, codes(rows, X).assign(predicted=mean)

    mean, inputs = about(X[part == 1])
    errors = quantiles(inputs, y[part == 1] - mean, seed)
    mean, inputs = about(X[part == 2])
    low, high = (mean[:, None] + errors(inputs)).T
    label = y[part == 2].to_numpy()
    beyond = np.sort(np.maximum(low - label, label - high))
    rank = min(int(np.ceil((1 - LEVEL) * (len(beyond) + 1))), len(beyond))

    def interval(rows):
        mean, inputs = about(rows)
        return mean[:, None] + errors(inputs) + beyond[rank - 1] * np.array([-1.0, 1.0])

    return interval


def judged(ends, y, predicted, unit):
    """Winkler score, coverage, and coverage in each quarter of predicted values."""
    low, high = ends.T
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    covered = outside == 0
    quarter = np.searchsorted(np.quantile(predicted, [0.25, 0.5, 0.75]), predicted, side="right")
    return {
        "winkler": float(np.mean(high - low + 2 / LEVEL * outside) / unit),
        "coverage": float(covered.mean()),
        "quarters": [float(covered[quarter == k].mean()) for k in range(4)],
    }


def run(name, seed, rows, out):
    done = {(r["set"], r["seed"], r["replicate"]) for r in read(out)}
    for replicate, (X, y, domain), sites in SETS[name](seed, rows):
        if (name, seed, replicate) in done:
            continue
        start = time.perf_counter()
        X, y = X.reset_index(drop=True), y.reset_index(drop=True).astype(float)
        model = DAPDAGRegressor(random_state=seed).fit(X, y, sample_domain=domain)
        boosting = quantiles(codes(X, X), y, seed)
        asked = {
            OURS: model.predict_interval,
            CONSTANT: without(model, "row_noise").predict_interval,
            "quantile boosting": lambda rows, X=X, boosting=boosting: boosting(codes(rows, X)),
            "CQR": conformalised(X, y, seed),
        }
        found = []
        for site, X_site, y_site in sites:
            predicted, flagged = model.predict(X_site), model.environment(X_site)["outside"].iloc[0]
            key = {"set": name, "seed": seed, "replicate": replicate, "site": site}
            key["flagged"] = bool(flagged)
            truth = y_site.to_numpy(dtype=float)
            for method, interval in asked.items():
                result = judged(np.asarray(interval(X_site)), truth, predicted, y.std())
                found.append(key | {"method": method} | result)
        append(out, *found)
        seconds = time.perf_counter() - start
        print(f"{name} {replicate} seed {seed}: {seconds:.0f} s", flush=True)


def report(out):
    runs = pd.DataFrame(read(out))
    sites = ["set", "seed", "replicate", "site"]
    for (name, flagged), own in runs.groupby(["set", "flagged"], sort=False):
        count = own.groupby(sites).ngroups
        kind = "flagged as outside" if flagged else "not flagged"
        print(f"\n{name}: {count} site(s) {kind}\n")
        print("| | Winkler score | ours less this (standard error) | coverage | by quarter |")
        print("|---|---|---|---|---|")
        scores = own.pivot_table(index=sites, columns="method", values="winkler")
        for method in METHODS:
            rows = own[own["method"] == method]
            less = scores[OURS] - scores[method]
            # sites of one fit are not independent of each other
            less = less.groupby(["seed", "replicate"]).mean()
            error = f" ({less.sem():.3f})" if len(less) > 1 else ""
            paired = "" if method == OURS else f"{less.mean():+.3f}{error}"
            quarters = np.mean(rows["quarters"].tolist(), axis=0)
            shown = ", ".join(f"{q:.2f}" for q in quarters)
            print(
                f"| {method} | {rows['winkler'].mean():.3f} | {paired} "
                f"| {rows['coverage'].mean():.3f} | {shown} |"
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), metavar="SET")
    parser.add_argument("--seeds", default="0:1", help="first:last+1, below 100")
    parser.add_argument("--rows", type=int, default=400, help="of a domain of a real table at most")
    parser.add_argument("--out", type=Path, default=Path("build/intervals.jsonl"))
    parser.add_argument("--report", action="store_true", help="only from what is in --out")
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", category=UserWarning)
    if not arguments.report:
        for seed in range(*map(int, arguments.seeds.split(":"))):
            for name in arguments.sets:
                run(name, seed, arguments.rows, arguments.out)
    report(arguments.out)


if __name__ == "__main__":
    main()
