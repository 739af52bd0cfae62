"""Does the 95 % prediction interval for the next site hold it? Each site in turn is the next one.

    DAPDAG_DATA=folder python benchmarks/next_site.py
    python benchmarks/next_site.py --sets uci_heart impact_tbi --methods linear dapdag-b --rows 300

Every site is predicted from the others. Then each site in turn counts as the next one: the
statistics of the others are pooled (random effects, REML, Hartung-Knapp), and their 95 % prediction
interval, widened by the sampling error of the site's own estimate, holds that estimate or not.
Finished runs are kept in the file of --out, which real.py shares. Sites with numbers have R² in
place of the c-statistic and the mean error in place of O:E.
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

WANTED = {
    "classification": ("c_statistic", "oe_ratio", "calibration_in_the_large", "calibration_slope"),
    "regression": ("r2", "calibration_in_the_large", "calibration_slope"),
}


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


def coverage(inside, sites):
    """Share of sites with its standard error, as if they were independent (Agresti, Coull 1998).

    The plain standard error of 30 of 30 would be 0.
    """
    share = (inside + 2) / (sites + 4)
    error = np.sqrt(share * (1 - share) / (sites + 4))
    return {"coverage": inside / sites, "standard error": error}


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
        if data.task == "classification" and data.y.nunique() != 2:
            print(f"{name}: more than two classes, left out")
            continue
        found = leave_one_domain_out(
            estimators_for(data.task, arguments), data, distances=False, checkpoint=arguments.out
        ).validation()
        for method in set(arguments.methods) - set(found.methods):
            print(f"{name}, {method}: no predictions in {arguments.out}, real.py --again runs anew")
        for method in found.methods:
            for statistic in WANTED[data.task]:
                table = covered(found.of(method, statistic), statistic)
                about = {"set": name, "task": data.task, "method": method, "statistic": statistic}
                parts.append(table.assign(**about))
    table = pd.concat(parts)
    keys = ["task", "method", "statistic"]
    shares = table.groupby(keys, sort=False)["inside"].agg(["sum", "count"])
    shares.columns = ["inside", "sites"]
    print(shares.assign(**coverage(shares["inside"], shares["sites"])).round(3).to_string())
    by_set = table.pivot_table("inside", index=keys, columns="set", aggfunc="mean", sort=False)
    print(f"\ncoverage by set\n{by_set.round(3).to_string()}")
    missed = table[~table["inside"]]
    print(f"\nnot held\n{missed[['set', 'target', *keys[1:]]].to_string(index=False)}")


if __name__ == "__main__":
    main()
