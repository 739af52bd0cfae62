"""Where a method loses against its peers, site by site, and what these sites have in common.

    DAPDAG_DATA=folder python benchmarks/losses.py --rows 100 --out build/real.jsonl
    python benchmarks/losses.py --rows 100 --out build/real.jsonl --against linear catboost-sites

Takes the runs of real.py from its file (runs that are not there are made). `lead` is the method's
log-loss or R² minus that of the best of the others, positive where the method is better. Beside
it stand what may explain it: rows of the sources, share of missing cells, the mean standardised
difference between target and sources (smd), how much less a linear model explains than boosting
(curved), how much site moments add to CatBoost (moments), and whether the method found the site
outside. At the end: rank correlations of the lead with each of them, within a set.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from real import OURS, estimators_for, limited

from dapdag.baselines import registry
from dapdag.datasets.real import LOADERS
from dapdag.evaluate import leave_one_domain_out
from dapdag.evaluate.distances import describe_targets
from dapdag.evaluate.metrics import METRICS, primary_metric

NEEDED = ("linear", "boosting", "catboost", "catboost-sites")
REASONS = ("missing", "smd", "curved", "moments", "outside")


def table_of(data, arguments):
    """One row per left-out site: the lead, over whom, and what may explain it."""
    found = leave_one_domain_out(
        estimators_for(data.task, arguments), data, distances=False, checkpoint=arguments.out
    )
    merit = METRICS[primary_metric(data.task)].merit(found.by_target())
    others = merit[[m for m in arguments.against if m in merit]]
    rows = pd.Series({t: int((data.sample_domain != t).sum()) for t in merit.index})
    outside = found.paired_by_target("linear").loc[arguments.method]["outside"]
    about = describe_targets(data, list(merit.index))
    return pd.DataFrame(
        {
            "lead": merit[arguments.method] - others.max(axis=1),
            "best other": others.idxmax(axis=1),
            "source_rows": rows,
            "missing": about["missing"],
            "smd": about["smd"],
            "curved": merit["boosting"] - merit["linear"],
            "moments": merit["catboost-sites"] - merit["catboost"],
            "outside": outside.astype(float),
        }
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--method", default=OURS, choices=list(registry.METHODS))
    parser.add_argument("--against", nargs="+", default=NEEDED, choices=list(registry.METHODS))
    parser.add_argument("--rows", type=int, help="at most so many of every site")
    parser.add_argument("--out", type=Path, default=Path("build/real.jsonl"))
    arguments = parser.parse_args()
    arguments.set, arguments.variant = [], []
    arguments.methods = list(dict.fromkeys([*NEEDED, *arguments.against, arguments.method]))
    parts = {}
    for name in arguments.sets:
        parts[name] = table_of(limited(LOADERS[name](), arguments.rows), arguments)
        print(f"\n{name}\n{parts[name].round(3).to_string()}", flush=True)
    within = {
        name: part[[*REASONS]].corrwith(part["lead"], method="spearman")
        for name, part in parts.items()
        if len(part) > 3
    }
    with np.errstate(invalid="ignore"):
        print(f"\nrank correlation with the lead\n{pd.DataFrame(within).T.round(2).to_string()}")


if __name__ == "__main__":
    main()
