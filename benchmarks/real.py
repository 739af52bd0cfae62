"""Real data, leave one domain out: DAPDAG against the usual pooled methods.

    DAPDAG_DATA=folder python benchmarks/real.py --replicates 3
    python benchmarks/real.py --sets uci_heart sachs --set hidden=32 max_epochs=300
    python benchmarks/real.py --methods linear mlp dapdag-b --variant wide:hidden=32 --rows 500
    pip install -c constraints.txt -e '.[boosting]'
    python benchmarks/real.py --rows 100 --methods linear lightgbm peers site-aware dapdag-b

A kind of methods, such as peers, stands for all of it; what cannot run here is left out, and why is
said.

Finished runs are appended to the file of --out, and a rerun goes on from there. The file records
data and settings, not the code: after a change of the code, --again METHOD … runs it anew. A
--variant is a further column, our default with other settings.
"""

import argparse
import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dapdag.baselines import registry
from dapdag.datasets.real import LOADERS
from dapdag.evaluate import leave_one_domain_out
from dapdag.evaluate.log import RunLog

METHODS = ("linear", "boosting", "mlp", "castle", "dapdag-b")
OURS, POOLED = "dapdag-b", "mlp"


def limited(data, rows):
    """At most this many rows of every domain, the same ones in every call."""
    if rows is None:
        return data
    rng = np.random.default_rng(0)
    groups = pd.Series(data.sample_domain).groupby(data.sample_domain, sort=False).indices
    kept = np.concatenate([np.sort(rng.permutation(g)[:rows]) for g in groups.values()])
    return replace(
        data,
        X=data.X.iloc[kept].reset_index(drop=True),
        y=data.y.iloc[kept].reset_index(drop=True),
        sample_domain=data.sample_domain[kept],
    )


def estimators_for(task, arguments):
    """The methods asked for, ours with the settings of --set, and its variants."""
    found = {}
    for method in named(arguments.methods):
        if reason := registry.METHODS[method].lacks(task):
            print(f"left out: {reason}", file=sys.stderr)
            continue
        found[method] = registry.make(method, task)
        if method.startswith("dapdag"):
            found[method].set_params(**settings(arguments.set))
    for variant in arguments.variant:
        name, _, changes = variant.partition(":")
        pairs = [*arguments.set, *(changes.split(",") if changes else [])]
        found[name] = registry.make(OURS, task).set_params(**settings(pairs))
    return found


def named(methods):
    """Names of methods, those of a kind in place of its name."""
    found = []
    for one in methods:
        found += [name for name, method in registry.METHODS.items() if method.kind == one] or [one]
    return list(dict.fromkeys(found))


def settings(pairs):
    return {key: _value(text) for key, text in (pair.split("=", 1) for pair in pairs)}


def _value(text):
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return {"True": True, "False": False, "None": None}.get(text, text)


def forget(path, methods):
    """Drop these methods' runs from the file, so that they run anew."""
    if methods and path.exists():
        log = RunLog(path)
        log.forget([key for key, run in log.read().items() if _rows(run)[0]["method"] in methods])


def _rows(run):
    """Scores of a finished run; files of earlier versions hold nothing else."""
    return run if isinstance(run, list) else run["rows"]


def show(title, text):
    print(f"\n{title}\n{text}", flush=True)


def report_set(evaluation):
    metrics = ["log_loss", "auc"] if evaluation.task == "classification" else ["r2"]
    for metric in metrics:
        show(f"{evaluation.name}, {metric} by target", evaluation.markdown(metric))
    means = evaluation.summary()
    if evaluation.task == "regression":
        means.insert(1, "median r2", evaluation.summary("median")["r2"])
    show(f"{evaluation.name}, means over targets", means.round(4).to_string())


def report_all(evaluations, ours):
    ranks = pd.concat([e.target_ranks() for e in evaluations])
    show(
        f"mean rank over {len(ranks)} targets of {len(evaluations)} set(s) (log-loss, R2)",
        pd.DataFrame({"mean rank": ranks.mean(), "best on": (ranks == 1).sum()})
        .sort_values("mean rank")
        .round(3)
        .to_string(),
    )
    by_set = {e.name: e.target_ranks().mean() for e in evaluations}
    show("mean rank by set", pd.DataFrame(by_set).round(2).to_string())
    for method in ours:
        shared = set.intersection(*(set(e.methods) for e in evaluations)) - set(ours)
        for reference in [m for m in evaluations[0].methods if m in shared]:
            rows = [e.paired(reference).loc[method].rename(e.name) for e in evaluations]
            show(
                f"{method} - {reference} (log-loss, R2; positive: {method} is better)",
                pd.DataFrame(rows).round(4).to_string(),
            )
        harm(evaluations, method)
        coverage([e for e in evaluations if e.task == "regression"], method)


def harm(evaluations, method):
    """Targets on which a method is worse than the pooled network by more than two errors."""
    if POOLED not in evaluations[0].methods:
        return
    parts = []
    for e in evaluations:
        found = e.paired_by_target(POOLED).loc[method].reset_index().assign(set=e.name)
        parts.append(found)
    table = pd.concat(parts)
    better = f"{method} is better than {POOLED} on {(table['difference'] > 0).mean():.0%}"
    show(f"{better} of {len(table)} targets", table["difference"].describe().round(4).to_string())
    if table["standard_error"].isna().all():
        return  # one replicate has no standard error
    worse = table[table["difference"] < -2 * table["standard_error"].fillna(0)]
    silent = worse[~worse["outside"].eq(True)]
    columns = ["set", "target", "difference", "standard_error", "outside"]
    show(
        f"{method} worse than {POOLED} by more than two standard errors: {len(worse)} of "
        f"{len(table)} targets, {len(silent)} of them without a flag",
        worse[columns].round(4).to_string(index=False) if len(worse) else "none",
    )


def coverage(evaluations, method):
    rows = [e.scores[(e.scores["method"] == method)].assign(set=e.name) for e in evaluations]
    if not rows:
        return
    table = pd.concat(rows)
    table = table[table["metric"].isin(["coverage", "width"])]
    table["outside"] = table["outside"].map({0.0: "inside", 1.0: "outside"}).fillna("unknown")
    means = table.pivot_table(
        index=["set", "outside"], columns="metric", values="value", aggfunc="mean"
    )
    show(f"{method}: coverage and mean width of 90 % intervals", means.round(3).to_string())
    covered = table[table["metric"] == "coverage"].groupby("outside")["value"]
    show("coverage over all sets", covered.agg(["mean", "count"]).round(3).to_string())


def main(description, loaders, out, rows=None):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", nargs="+", default=list(loaders), choices=list(loaders), metavar="SET"
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=list(METHODS),
        choices=[*registry.METHODS, *registry.KINDS],
        metavar="METHOD",
    )
    parser.add_argument("--targets", nargs="+", metavar="DOMAIN", help="only these domains")
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the first replicate")
    parser.add_argument("--rows", type=int, default=rows, help="at most so many of every domain")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="for ours")
    parser.add_argument(
        "--variant", nargs="*", default=[], metavar="NAME:KEY=VALUE,…", help="further columns"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--again", nargs="*", default=[], metavar="METHOD", help="run anew")
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    forget(arguments.out, arguments.again)
    evaluations = []
    for name in arguments.sets:
        try:
            data = limited(loaders[name](), arguments.rows)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            parser.exit(2, f"{error}\n")
        targets = None
        if arguments.targets:
            targets = [d for d in data.domains if str(d) in arguments.targets]
            if not targets:
                continue
        evaluations.append(
            leave_one_domain_out(
                estimators_for(data.task, arguments),
                data,
                targets=targets,
                n_replicates=arguments.replicates,
                random_state=arguments.seed,
                distances=False,
                checkpoint=arguments.out,
                n_jobs=arguments.jobs,
                progress=True,
            )
        )
        report_set(evaluations[-1])
    if evaluations:
        variants = [v.partition(":")[0] for v in arguments.variant]
        ours = [m for m in named(arguments.methods) if m.startswith("dapdag")] + variants
        report_all(evaluations, ours)


if __name__ == "__main__":
    main(__doc__, LOADERS, Path("build/real.jsonl"))
