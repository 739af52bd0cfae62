"""Does the 95 % prediction interval for the next site hold it? Each site in turn is the next one.

    DAPDAG_DATA=folder python benchmarks/next_site.py
    python benchmarks/next_site.py --sets uci_heart impact_tbi --methods linear dapdag-b --rows 300

Every site is predicted from the others. Then each site in turn counts as the next one: the
statistics of the others are pooled (random effects, REML, Hartung-Knapp), and their 95 % prediction
interval, widened by the sampling error of the site's own estimate, holds that estimate or not.
Finished runs are kept in the file of --out, which real.py shares. Only sites with events.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from real import estimators_for, limited
from scipy.stats import t

from dapdag.baselines import registry
from dapdag.datasets.real import LOADERS
from dapdag.evaluate import STATISTICS, leave_one_domain_out
from dapdag.evaluate.clinical.pooling import pool

WANTED = ("c_statistic", "oe_ratio", "calibration_in_the_large", "calibration_slope")


def covered(sites, statistic):
    """One row per site: whether the interval from the others holds its estimate."""
    scale = STATISTICS[statistic].scale
    values = sites["transformed"].to_numpy(dtype=float)
    errors = sites["standard_error"].to_numpy(dtype=float)
    rows = []
    for k, target in enumerate(sites.index):
        if not np.isfinite(values[k]):
            continue
        others = np.arange(len(values)) != k
        found = pool(values[others], errors[others], scale)
        if found.sites < 3 or not np.isfinite(found.prediction_low):
            continue
        ends = sorted(map(scale.forward, (found.prediction_low, found.prediction_high)))
        centre, half = sum(ends) / 2, (ends[1] - ends[0]) / 2
        spread = half / t.ppf(0.975, found.sites - 2)
        # The estimate of the next site has its own sampling error beside tau².
        wide = t.ppf(0.975, found.sites - 2) * np.hypot(spread, errors[k])
        rows.append({"target": target, "inside": abs(values[k] - centre) <= wide})
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument(
        "--methods", nargs="+", default=["linear", "catboost"], choices=list(registry.METHODS)
    )
    parser.add_argument("--rows", type=int, help="at most so many of every site")
    parser.add_argument("--out", type=Path, default=Path("build/real.jsonl"))
    arguments = parser.parse_args()
    arguments.set, arguments.variant = [], []
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    parts = []
    for name in arguments.sets:
        data = limited(LOADERS[name](), arguments.rows)
        if data.task != "classification" or data.y.nunique() != 2:
            print(f"{name}: no event of two classes, left out")
            continue
        found = leave_one_domain_out(
            estimators_for(data.task, arguments), data, distances=False, checkpoint=arguments.out
        ).validation()
        for method in found.methods:
            for statistic in WANTED:
                table = covered(found.of(method, statistic), statistic)
                parts.append(table.assign(set=name, method=method, statistic=statistic))
    table = pd.concat(parts)
    keys = ["method", "statistic"]
    shares = table.groupby(keys, sort=False)["inside"].agg(["mean", "sum", "count"])
    print(shares.rename(columns={"mean": "coverage", "sum": "inside", "count": "sites"}).round(3))
    by_set = table.pivot_table("inside", index=keys, columns="set", aggfunc="mean", sort=False)
    print(f"\ncoverage by set\n{by_set.round(3).to_string()}")


if __name__ == "__main__":
    main()
