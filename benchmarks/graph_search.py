"""GraphSearch on simulated and real tables with a known graph.

    python benchmarks/graph_search.py --scenarios d10 d20 author --seeds 700:710
    python benchmarks/graph_search.py calibration --scenarios d10 d20 --seeds 720:730 --plot a.png
    python benchmarks/graph_search.py shifts --seeds 700:710
    python benchmarks/graph_search.py all --scenarios d10 d20 --seeds 700:710
    OMP_NUM_THREADS=1 python benchmarks/graph_search.py speed --n-jobs 2

The first prints the structural Hamming distance (a reversal counts once), what it consists of,
seconds, and seconds of processor time; the second how often edges of a stated probability are
there; the third the area under the ROC curve of `mechanism_shift_` against the variables that E
acts on; the fourth prints all three from the same searches; the last prints seconds, processor
seconds and peak memory of tables of several sizes, each in a process of its own. Constants were
chosen on seeds 0 to 99; seeds from 700 only judge. The real tables need the folder that
DAPDAG_DATA names.
"""

import argparse
import multiprocessing
import resource
import time
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
from graph_scenarios import SCENARIOS, Case, random_sem
from sklearn.metrics import roc_auc_score

from dapdag import GraphSearch
from dapdag.graph import compare_graphs
from dapdag.plotting import plot_calibration

# Real tables are the same, or nearly so, for every seed.
SIMULATED = [name for name in SCENARIOS if name not in ("chamber", "sachs")]
# Name: variables and rows of each of nine sites.
SIZES = {
    "d10": (10, 500),
    "d30": (30, 500),
    "d100": (100, 500),
    "d500": (500, 500),
    "1,000,000 rows": (20, 111_112),
}
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class Run(NamedTuple):
    case: Case
    found: GraphSearch
    seconds: float
    cpu_seconds: float


def run(scenario, seed, n_jobs):
    case = SCENARIOS[scenario](seed)
    return Run(case, *timed(case, n_jobs))


def timed(case, n_jobs):
    """A search, its seconds and its processor seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    found = GraphSearch(n_jobs=n_jobs).fit(case.X, case.sample_domain)
    return found, time.perf_counter() - start, time.process_time() - cpu


def distances(runs):
    """Mean and standard error of what separates the graphs from the true ones."""
    rows = []
    for case, found, seconds, cpu_seconds in runs:
        result = compare_graphs(found.graph_, case.graph)
        n_shared = case.graph.number_of_edges() - result.missing
        rows.append(
            {
                "edges": case.graph.number_of_edges(),
                "shd": result.shd,
                "missing": result.missing,
                "extra": result.extra,
                "reversed": result.reversed,
                "skeleton f1": _f1(result.skeleton_precision, result.skeleton_recall),
                "orientation": 1 - result.reversed / n_shared if n_shared else 1.0,
                "seconds": seconds,
                "cpu": cpu_seconds,
            }
        )
    frame = pd.DataFrame(rows)
    out = frame.mean()
    out["s.e."] = frame["shd"].std(ddof=1) / np.sqrt(len(frame)) if len(frame) > 1 else 0.0
    return out[["edges", "shd", "s.e.", *frame.columns[2:]]]


def _f1(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def stated_and_true(runs):
    """Probability of every ordered pair, that of an edge either way, and what is there."""
    rows = []
    for case, found, *_ in runs:
        stated = found.edge_probability_
        rows += [
            {
                "stated": stated.at[a, b],
                "true": case.graph.has_edge(a, b),
                "either": stated.at[a, b] + stated.at[b, a],
                "adjacent": case.graph.has_edge(a, b) or case.graph.has_edge(b, a),
                "once": a < b,  # a pair has one value for either way
            }
            for a, b in permutations(stated.index, 2)
        ]
    return pd.DataFrame(rows)


def calibration(frame):
    """Share of true edges among the ordered pairs of each stated probability."""
    by_bin = frame.groupby(pd.cut(frame["stated"], BINS, include_lowest=True), observed=False)
    return by_bin.agg(edges=("true", "size"), stated=("stated", "mean"), true=("true", "mean"))


def plot_reliability(frame, path):
    """Share of edges that are there against their probability: directed, and either way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    pairs = frame[frame["once"]]
    plot_calibration(frame["true"], frame["stated"], ax=left)
    plot_calibration(pairs["adjacent"], pairs["either"].clip(0, 1), ax=right)
    for ax, words in ((left, "A → B"), (right, "A → B or B → A")):
        ax.set(xlabel=f"stated probability of {words}", ylabel="share that is there")
        distance = (
            ax.get_title(loc="left").removeprefix("Calibration: ").removesuffix(" on average")
        )
        ax.set_title(f"{words}: {distance}", loc="left", fontsize="medium")
    figure.savefig(path, dpi=150)


def shifts(runs):
    """AUC of the log Bayes factor and the probability, over the variables of all tables."""
    factor, probability, truth = [], [], []
    for case, found, *_ in runs:
        factor += found.mechanism_shift_["log_bayes_factor"].tolist()
        probability += found.mechanism_shift_["probability"].tolist()
        truth += [name in case.shifted for name in found.mechanism_shift_.index]
    return pd.Series(
        {
            "variables": len(truth),
            "shifted": sum(truth),
            "AUC log Bayes factor": roc_auc_score(truth, factor),
            "AUC probability": roc_auc_score(truth, probability),
            "shifted where said >= .9": np.mean(np.array(truth)[np.array(probability) >= 0.9]),
        }
    )


def measure(name, seed, n_jobs, connection):
    """Send wall and processor seconds, peak memory in GiB and SHD of one search."""
    d, n_samples = SIZES[name]
    case = random_sem(seed, d=d, n_samples=n_samples)
    small = random_sem(seed, d=4, n_samples=50)
    GraphSearch().fit(small.X, small.sample_domain)  # what is imported or built once
    found, wall, cpu = timed(case, n_jobs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    shd = compare_graphs(found.graph_, case.graph).shd
    connection.send({"seconds": wall, "cpu": cpu, "GiB": peak, "shd": shd})


def speed(names, seeds, n_jobs):
    """Print one row per table, the median over seeds."""
    context = multiprocessing.get_context("spawn")
    for name in names:
        rows = []
        for seed in seeds:
            ours, theirs = context.Pipe()
            process = context.Process(target=measure, args=(name, seed, n_jobs, theirs))
            process.start()
            theirs.close()
            rows.append(ours.recv())
            process.join()
        row = pd.DataFrame(rows).median()
        print(pd.DataFrame({name: row}).T.round(2).to_string(header=name == names[0]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ["shd", "calibration", "shifts", "all", "speed"]
    parser.add_argument("part", nargs="?", default="shd", choices=parts)
    parser.add_argument("--scenarios", nargs="*", choices=list(SCENARIOS), metavar="NAME")
    parser.add_argument("--sizes", nargs="*", choices=list(SIZES), metavar="NAME", help="of speed")
    parser.add_argument("--seeds", help="first:last+1; 0:5, for speed 0:1")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--plot", help="calibration: draw it into this file")
    options = parser.parse_args()
    part = options.part
    default = "0:1" if part == "speed" else "0:5"
    seeds = range(*map(int, (options.seeds or default).split(":")))
    if part == "speed":
        speed(options.sizes or list(SIZES), seeds, options.n_jobs)
        return
    scenarios = options.scenarios or {"shd": list(SCENARIOS), "shifts": ["d10", "d20"]}.get(
        part, SIMULATED
    )
    runs = {}
    for scenario in scenarios:
        runs[scenario] = [run(scenario, seed, options.n_jobs) for seed in seeds]
        if part in ("shd", "all"):
            row = pd.DataFrame({scenario: distances(runs[scenario])}).T.round(2)
            print(row.to_string(header=len(runs) == 1), flush=True)
    if part in ("calibration", "all"):
        frame = stated_and_true([r for own in runs.values() for r in own])
        print(calibration(frame).round(3).to_string())
        if options.plot:
            plot_reliability(frame, options.plot)
    if part in ("shifts", "all"):
        known = {name: own for name, own in runs.items() if own[0].case.shifted}
        print(
            pd.DataFrame({name: shifts(own) for name, own in known.items()}).T.round(3).to_string()
        )


if __name__ == "__main__":
    main()
