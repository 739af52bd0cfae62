"""GraphSearch beside other searches for graphs, on tables whose graph is known.

    python benchmarks/graphs.py --seeds 740:743 --out docs/results/runs/peers.jsonl
    python benchmarks/graphs.py --scenarios d10 author --methods graph-search linc --budget 600
    python benchmarks/graphs.py --report --out docs/results/runs/peers.jsonl --markdown peers.md

Tables come from graph_scenarios.py: 9 sites of 500 rows unless their name says otherwise. SHD:
missing, extra and reversed edges, a reversal counting once. Skeleton F1 looks at pairs,
orientation at the share of the pairs found whose direction is right. Seconds are those of one CPU
(set OMP_NUM_THREADS=1), imports left aside.

Every method sees the same rows, with the columns in an order drawn by the seed. Where cells are
missing, GraphSearch fills them itself, and the others get one draw from within-site regressions,
whose time is not counted. Equivalence classes are completed to a DAG. Runs have a process of
their own and at most --budget seconds of CPU time; a method that needs more is not tried on
further seeds or larger tables of that kind. Peers that are not installed are left out, with a
message that says how to get them. Finished runs are appended to --out, and a rerun goes on from
there; --again METHOD drops a method's runs first. Seeds from 700 only judge: nothing was chosen
on them.
"""

import argparse
import multiprocessing
import signal
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from graph_scenarios import SCENARIOS
from graph_tables import report
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from dapdag.evaluate.log import RunLog
from dapdag.graph import compare_graphs
from dapdag.graph_baselines import GRAPH_METHODS

OURS = "graph-search"
METHODS = [OURS, *GRAPH_METHODS]
# From small to large: what takes too long on one takes too long on the next.
LADDER = ("d5", "d10", "d20", "d30", "d50", "d100")
PATIENCE = 20  # seconds to wait for a second of CPU time, on a busy machine
FINISHED, TOO_LONG = "finished", "too long"


def learn(method, case, seed):
    """The graph that a method finds."""
    if method == OURS:
        from dapdag import GraphSearch

        return GraphSearch(random_state=seed).fit(case.X, case.sample_domain).graph_
    return GRAPH_METHODS[method].learn(case.X, case.sample_domain, seed)


def filled(case, seed):
    """The case with missing cells replaced by one draw of Bayesian regressions within the site."""
    if not case.X.isna().any(axis=None):
        return case
    parts = []
    for _, rows in case.X.groupby(case.sample_domain):
        imputer = IterativeImputer(sample_posterior=True, random_state=seed)
        parts.append(pd.DataFrame(imputer.fit_transform(rows), rows.index, rows.columns))
    return replace(case, X=pd.concat(parts).loc[case.X.index])


def shuffled(scenario, seed):
    """A scenario with its columns in random order: some searches begin with the order they get."""
    case = SCENARIOS[scenario](seed)
    names = np.random.default_rng([seed, 16]).permutation(list(case.X)).tolist()
    return replace(case, X=case.X[names])


@lru_cache(maxsize=1)
def complete_case(scenario, seed):
    """The table of a run, as methods that take no missing cells get it."""
    return filled(shuffled(scenario, seed), seed)


class TooLong(BaseException):
    """The budget is spent; no library may catch this as an error of its own."""


@contextmanager
def cpu_limit(seconds):
    """Raise `TooLong` after so many seconds of this process's CPU time."""

    def stop(*_):
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measure(method, scenario, seed, budget):
    """One run: what separates the graph from the true one, and the time that it took."""
    case = complete_case(scenario, seed)
    if method == OURS and scenario == "missing":
        case = shuffled(scenario, seed)
    wall, cpu = time.perf_counter(), time.process_time()
    with cpu_limit(budget):
        graph = learn(method, case, seed)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = compare_graphs(graph, case.graph)
    n_edges = case.graph.number_of_edges()
    pairs = found.skeleton_precision + found.skeleton_recall
    shared = n_edges - found.missing
    return {
        "status": FINISHED,
        "edges": n_edges,
        "shd": found.shd,
        "missing": found.missing,
        "extra": found.extra,
        "reversed": found.reversed,
        "skeleton f1": 2 * found.skeleton_precision * found.skeleton_recall / pairs if pairs else 0,
        "orientation": 1 - found.reversed / shared if shared else float("nan"),
        "seconds": cpu,
        "wall": wall,
    }


def serve(connection):
    """Answer runs until the other end closes."""
    warnings.simplefilter("ignore")
    while True:
        try:
            method, scenario, seed, budget = connection.recv()
        except EOFError:
            return
        try:
            load(method)
            connection.send(("done", measure(method, scenario, seed, budget)))
        except TooLong:
            connection.send(("done", {"status": TOO_LONG, "budget": budget}))
        except Exception as error:  # one failing method must not lose the others' results
            text = " ".join(f"{type(error).__name__}: {error}".split())
            connection.send(("failed", text))


def load(method):
    """Import what a method needs, so that its first run takes no longer than the next."""
    packages = GRAPH_METHODS[method].packages if method in GRAPH_METHODS else ("dapdag.structure",)
    for package in ("jax",) if method == "notears" else packages:
        import_module(package)


class Worker:
    """A process that runs one method after the other, and is ended when one takes too long."""

    def __init__(self):
        self.process = None

    def run(self, task, budget):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(theirs,), daemon=True)
            self.process.start()
        self.connection.send((*task, budget))
        # The worker counts its CPU time itself. This is for code that never returns to Python.
        if self.connection.poll(PATIENCE * budget):
            kind, content = self.connection.recv()
            return content if kind == "done" else {"status": f"failed: {content}"}
        self.end()
        return {"status": TOO_LONG, "budget": budget}

    def end(self):
        if self.process is not None:
            self.process.terminate()
            self.process.join()
            self.process = None


def available(methods):
    found = []
    for method in methods:
        if method == OURS or GRAPH_METHODS[method].available:
            found.append(method)
        else:
            print(f"left out: {GRAPH_METHODS[method].how_to_install}", flush=True)
    return found


def run_all(options, log):
    """All methods on one table, then on the next; what is in the log is not run again."""
    known = log.read()
    deadline = time.monotonic() + 60 * options.minutes
    worker, methods = Worker(), available(options.methods)
    too_slow = {(run["method"], run["scenario"]) for run in known.values() if is_too_long(run)}
    for scenario in options.scenarios:
        for seed in options.seeds:
            for method in methods:
                key = f"{scenario}|{method}|{seed}"
                if key in known or (method, scenario) in too_slow:
                    continue
                if time.monotonic() > deadline:
                    worker.end()
                    return
                if (method, smaller(scenario)) in too_slow:
                    found = {"status": TOO_LONG, "budget": options.budget}
                else:
                    found = worker.run((method, scenario, seed), options.budget)
                run = {"scenario": scenario, "method": method, "seed": seed, **found}
                if is_too_long(run):
                    too_slow.add((method, scenario))
                log.append(key, run)
                print(key, {k: v for k, v in found.items() if k in SHOWN}, flush=True)
    worker.end()


def is_too_long(run):
    return run["status"] == TOO_LONG


def smaller(scenario):
    """The next smaller table of the same kind, if there is one."""
    place = LADDER.index(scenario) if scenario in LADDER else 0
    return LADDER[place - 1] if place else None


COLUMNS = (
    *("scenario", "method", "seed", "status", "budget", "edges", "shd", "missing", "extra"),
    *("reversed", "skeleton f1", "orientation", "seconds", "wall"),
)
SHOWN = ("status", "shd", "seconds")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = list(SCENARIOS)
    parser.add_argument("--scenarios", nargs="+", default=names, choices=names, metavar="NAME")
    parser.add_argument(
        "--methods", nargs="+", default=METHODS, choices=METHODS, metavar="METHOD", help="all"
    )
    parser.add_argument("--seeds", default="0:3", help="first:last+1")
    parser.add_argument("--budget", type=float, default=120.0, help="CPU seconds for one graph")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no run after this")
    parser.add_argument("--out", type=Path, default=Path("build/graphs.jsonl"))
    parser.add_argument("--again", nargs="*", default=[], metavar="METHOD", help="run anew")
    parser.add_argument("--report", action="store_true", help="only from what is in --out")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args()
    options.seeds = range(*map(int, options.seeds.split(":")))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    log = RunLog(options.out)
    if options.again:
        log.forget([k for k, run in log.read().items() if run["method"] in options.again])
    if not options.report:
        run_all(options, log)
    runs = pd.DataFrame(list(log.read().values()), columns=COLUMNS)
    runs = runs[runs["scenario"].isin(options.scenarios) & runs["method"].isin(options.methods)]
    titles = {OURS: "GraphSearch"} | {name: m.title for name, m in GRAPH_METHODS.items()}
    text = report(runs, titles)
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
