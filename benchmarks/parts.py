"""Effect of each mechanism beyond the paper: all on, minus one switched off, paired over seeds.

    DAPDAG_DATA=folder python benchmarks/parts.py --seeds 0:8 --out build/parts.jsonl
    python benchmarks/parts.py --sets regression no_shift_regression --parts graph_inference
    python benchmarks/parts.py --report --markdown build/parts.md

The switches are the fields of `dapdag.inference.parts.Parts`; mechanisms with a public setting are
switched by it. Data: synthetic sites of both tasks with nine sources of 500 rows, with three of 150
rows, with missing features, and with effects of the label that are turned round at the target or
not; one domain split at random, so that there is no shift; and the five
development sets, each with at most 200 rows of a domain and at most five evenly spaced targets. A
replicate is a seed, on the development sets a target (seeds then only change the fit, and the
differences of a target are averaged over them).

Scores: R2 (clipped at -1) for numbers, minus the log-loss for classes; for numbers also the log
density of the labels and the coverage of 90 % intervals. A difference is all on minus one off:
positive where the mechanism helps. Finished runs are appended to the JSON lines of --out, and a
rerun goes on from there; the file does not record the code.
"""

import argparse
import contextlib
import copy
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.metrics import log_loss, r2_score

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import (
    make_anticausal_domains,
    make_classification_domains,
    make_regression_domains,
)
from dapdag.datasets.real import LOADERS
from dapdag.inference.parts import AT_PREDICTION, Parts, using
from dapdag.training import build, fit
from dapdag.training.build import reduced
from dapdag.training.fit import _train_on_graph as train_on_graph
from dapdag.training.graph import find_graph

ALL_ON = "all on"
MOST_ROWS, MOST_TARGETS = 200, 5
NUMBERS, CLASSES = "regression", "classification"
LIKELIHOOD = "log_density"
LEAST = 0.001  # of R2 or of a nat: less than this does not matter
# These act only through the combination of the experts, which is computed once.
STACKING = ("pooled_networks", "stacking_weight", "source_cap")
# These need no other training either, but new predictions for left-out sources.
COMBINATION = (*STACKING, "graph_inference", "site_effects")


@dataclass(frozen=True)
class Part:
    """A mechanism: its number in docs/results/parts.md, and where it can act at all."""

    number: str
    title: str
    task: str | None = None  # only this one
    judged_by: str = "score"
    few_rows: bool = False  # acts on small tables only
    settings: dict = field(default_factory=dict)  # public settings in place of a switch


PARTS = {
    "one_predictor": Part(
        "1",
        "four label networks of each kind (off: one, which sees E)",
        settings={"n_predictors": 1},
    ),
    "env_squared_inputs": Part("2", "E² as an input of the label networks"),
    "pooled_networks": Part("3", "pooled label networks take part (off: weight 0)"),
    "graph_inference": Part("4", "inference on the graph takes part (off: networks alone)"),
    "site_effects": Part("4a", "effects of a new site on mechanisms, by EM (off: the sources')"),
    "referee": Part("4b", "no weight for experts that contradict the label's parents"),
    "stacking_weight": Part("5", "weights of experts from left-out sources (off: ½, ½, 0)"),
    "source_cap": Part("5b", "cap on the loss difference of one source"),
    "label_rate": Part("8", "learning rate × 4 for label networks", task=NUMBERS),
    "paper_form": Part(
        "9–11",
        "structure first, label's experts and all that (off: the paper's form)",
        settings={"structure": "paper"},
    ),
    "weight_average": Part("13", "moving average of weights over 200 steps"),
    "min_steps": Part("14", "at least 16 steps an epoch", few_rows=True),
    "heldout_noise": Part("15", "noise scale from held-out rows", NUMBERS, LIKELIHOOD),
    "between_sites": Part("16", "variance between sites, and ratio within", NUMBERS, LIKELIHOOD),
    "row_noise": Part("16b", "variance that depends on the prediction", NUMBERS, LIKELIHOOD),
    "missing_cost": Part("17", "allowance for missing features", judged_by=LIKELIHOOD),
    "site_slope": Part("18", "slope of a site's level"),
    "map_refinement": Part("19", "MAP estimate of E outside the sources"),
    "env_clipping": Part("20", "E clipped at two ranges beyond the sources"),
    "narrow_mean": Part("23", "mean in place of a narrow posterior of E"),
}


@dataclass(frozen=True)
class Table:
    """One table to learn from, and the rows of the site to predict."""

    X: pd.DataFrame
    y: pd.Series
    sample_domain: np.ndarray
    X_target: pd.DataFrame
    y_target: pd.Series


@dataclass(frozen=True)
class Case:
    """Data of one kind; `tables` gives (replicate, table) for a seed."""

    task: str
    tables: Callable[[int], Iterator[tuple[str, Table]]]
    few_rows: bool = False
    only: tuple[str, ...] | None = None  # parts that this case is about

    def has(self, name: str) -> bool:
        part = PARTS[name]
        if self.only is not None:
            return name in self.only
        return part.task in (None, self.task) and (self.few_rows or not part.few_rows)


def synthetic(task, n_sources=9, n_rows=500, missing=0.0):
    options = {} if task == NUMBERS else {"env_scale": 2.0}
    make = make_regression_domains if task == NUMBERS else make_classification_domains

    def tables(seed):
        data = make(n_domains=n_sources + 1, n_samples=n_rows, random_state=seed, **options)
        if missing:
            data = replace(data, X=with_missing(data.X, data.sample_domain, missing, seed))
        yield f"seed {seed}", table_of(data.leave_out(n_sources))

    return tables


def with_missing(X, domain, share, seed):
    """Cells missing at random, in the last domain twice as many."""
    rng = np.random.default_rng(seed)
    chance = np.where(domain == domain.max(), 2 * share, share)
    return X.mask(rng.random(X.shape) < chance[:, None])


def anticausal(task, mode):
    """The label's effects at the target are drawn as at the sources, or turned round."""

    def tables(seed):
        data = make_anticausal_domains(
            n_domains=8, n_samples=500, task=task, mode=mode, random_state=seed
        )
        yield f"seed {seed}", table_of(data.leave_out(data.targets[0]))

    return tables


def no_shift(task, parts=10):
    make = make_regression_domains if task == NUMBERS else make_classification_domains

    def tables(seed):
        data = make(n_domains=1, n_samples=500 * parts, random_state=seed)
        part = np.random.default_rng(seed).permutation(np.arange(len(data.X)) % parts)
        yield f"seed {seed}", table_of(replace(data, sample_domain=part).leave_out(parts - 1))

    return tables


def development(name):
    def tables(seed):
        data = LOADERS[name]()
        rng = np.random.default_rng(0)
        groups = pd.Series(data.sample_domain).groupby(data.sample_domain, sort=False).indices
        kept = np.concatenate([np.sort(rng.permutation(g)[:MOST_ROWS]) for g in groups.values()])
        data = replace(
            data,
            X=data.X.iloc[kept].reset_index(drop=True),
            y=data.y.iloc[kept].reset_index(drop=True),
            sample_domain=data.sample_domain[kept],
        )
        n = len(data.domains)
        for d in np.unique(np.linspace(0, n - 1, min(n, MOST_TARGETS)).round().astype(int)):
            yield str(data.domains[d]), table_of(data.leave_out(data.domains[d]))

    return tables


def table_of(split):
    return Table(split.X, split.y, split.sample_domain, split.X_target, split.y_target)


# What decides at sites where an effect of the label has turned round.
ON_GRAPH = ("graph_inference", "site_effects", "referee")

CASES = {
    "regression": Case(NUMBERS, synthetic(NUMBERS)),
    "classification": Case(CLASSES, synthetic(CLASSES)),
    "regression_few": Case(NUMBERS, synthetic(NUMBERS, 3, 150), few_rows=True),
    "classification_few": Case(CLASSES, synthetic(CLASSES, 3, 150), few_rows=True),
    "reversed_numbers": Case(NUMBERS, anticausal(NUMBERS, "reversed"), only=ON_GRAPH),
    "reversed_classes": Case(CLASSES, anticausal(CLASSES, "reversed"), only=ON_GRAPH),
    "anticausal_numbers": Case(NUMBERS, anticausal(NUMBERS, "as_sources"), only=ON_GRAPH),
    "anticausal_classes": Case(CLASSES, anticausal(CLASSES, "as_sources"), only=ON_GRAPH),
    "uci_heart": Case(CLASSES, development("uci_heart"), few_rows=True),
    "impact_tbi": Case(CLASSES, development("impact_tbi")),
    "sachs": Case(NUMBERS, development("sachs")),
    "chamber_nonlin": Case(CLASSES, development("chamber_nonlin")),
    "bike_sharing": Case(NUMBERS, development("bike_sharing")),
    "no_shift_regression": Case(NUMBERS, no_shift(NUMBERS)),
    "no_shift_classification": Case(CLASSES, no_shift(CLASSES)),
    "regression_missing": Case(NUMBERS, synthetic(NUMBERS, missing=0.1), only=("missing_cost",)),
    "classification_missing": Case(
        CLASSES, synthetic(CLASSES, missing=0.1), only=("missing_cost",)
    ),
}


def fitted(task, table, name, seed):
    """An estimator without the mechanism `name`, trained on the table's sources."""
    options = PARTS[name].settings if name in PARTS else {}
    switched = {} if name == ALL_ON or options else {name: False}
    make = DAPDAGRegressor if task == NUMBERS else DAPDAGClassifier
    with using(Parts(**switched)):
        model = make(**options, random_state=seed)
        return model.fit(table.X, table.y, sample_domain=table.sample_domain)


class Reused:
    """Graph and trained networks of the fit with all mechanisms, for those of the same table that
    differ from it in the combination of the experts only; the graph for all that search one."""

    def __init__(self):
        self.graph = self.learned = None
        self.name = ALL_ON

    def find_graph(self, *arguments):
        if self.graph is None:
            self.graph = find_graph(*arguments)
        return self.graph

    def train(self, data):
        if self.name not in COMBINATION:
            learned = train_on_graph(data)
            self.learned = learned if self.name == ALL_ON else self.learned
            return learned
        return train_on_graph(data) if self.learned is None else self.learned

    @contextlib.contextmanager
    def of(self, name):
        """Fits inside lack the mechanism `name`."""
        self.name = name
        fit.find_graph, fit._train_on_graph = self.find_graph, self.train
        try:
            yield
        finally:
            fit.find_graph, fit._train_on_graph = find_graph, train_on_graph


@contextlib.contextmanager
def stacking_calls():
    """The arguments from which combinations of experts are computed inside."""
    calls, usual = [], build.combine

    def noting(*arguments):
        calls.append(arguments[:2])
        return usual(*arguments)

    build.combine = noting
    try:
        yield calls
    finally:
        build.combine = usual


def idle(names, calls):
    """Those switches of the combination that leave it as it is: the fit is then the same."""

    def same(name, call):
        usual, other = build.combine(*call), build.combine(*call, Parts(**{name: False}))
        alike = np.array_equal(usual.weights, other.weights)
        return alike and usual.temperature == other.temperature

    return [n for n in names if n in STACKING and all(same(n, call) for call in calls)]


def without(estimator, name):
    """The same fit without a mechanism of prediction."""
    other = copy.copy(estimator)
    fit = estimator.fitted_
    other.fitted_ = replace(fit, model=reduced(fit.model, Parts(**{name: False})))
    return other


def scores(task, estimator, table):
    if task == CLASSES:
        probability = np.clip(estimator.predict_proba(table.X_target), 1e-6, 1.0)
        loss = log_loss(table.y_target, probability, labels=list(estimator.classes_))
        return {"score": -loss, LIKELIHOOD: -loss}
    y = table.y_target.to_numpy(dtype=float)
    mean, std = estimator.predict(table.X_target, return_std=True)
    return {
        "score": max(-1.0, r2_score(y, mean)),
        LIKELIHOOD: float(norm.logpdf(y, mean, std).mean()),
        "coverage": float(np.mean(np.abs(y - mean) < 1.645 * std)),
    }


def run(case_name, names, seeds, out, deadline):
    """All runs of one case that are not in the file yet: one part after the other."""
    case, done = CASES[case_name], finished(out)
    at_prediction = [n for n in names if n in AT_PREDICTION and case.has(n)]
    trained = [n for n in names if n not in AT_PREDICTION and case.has(n)]
    for seed in seeds:
        for replicate, table in case.tables(seed):
            key, reused = {"case": case_name, "replicate": replicate, "seed": seed}, Reused()
            for name in [ALL_ON, *trained]:
                derived = at_prediction if name == ALL_ON else []
                wanted = [n for n in (name, *derived) if (*key.values(), n) not in done]
                if not wanted:
                    continue
                if time.monotonic() > deadline:
                    return
                start = time.perf_counter()
                with stacking_calls() as calls, reused.of(name):
                    estimator = fitted(case.task, table, name, seed)
                seconds = time.perf_counter() - start
                if name == ALL_ON:
                    wanted += idle(trained, calls)
                for one in wanted:
                    model = without(estimator, one) if one in derived else estimator
                    found = scores(case.task, model, table)
                    append(out, key | {"part": one} | found | {"seconds": seconds})
                    done.add((*key.values(), one))
                print(f"{case_name}, {name}, {replicate}, seed {seed}: {seconds:.1f} s", flush=True)


def append(path, *rows):
    """Add runs to the JSON lines of a file."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def read(path):
    """Finished runs; a line that a crash cut short is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def finished(path):
    return {(r["case"], r["replicate"], r["seed"], r["part"]) for r in read(path)}


def differences(runs):
    """All on minus one off, [case, part, measure]: mean, standard error, number of replicates."""
    measures = [m for m in ("score", LIKELIHOOD, "coverage") if m in runs]
    keys = ["case", "replicate", "seed"]
    base = runs[runs["part"] == ALL_ON].set_index(keys)[measures]
    found = []
    for (case, part), own in runs[runs["part"] != ALL_ON].groupby(["case", "part"], sort=False):
        own = own.set_index(keys)[measures]
        pairs = (base.loc[base.index.intersection(own.index)] - own).dropna(how="all")
        by_replicate = pairs.groupby("replicate").mean()
        for measure in measures:
            values = by_replicate[measure].dropna()
            if len(values):
                error = values.sem() if len(values) > 1 else np.nan
                found.append((case, part, measure, values.mean(), error, len(values)))
    columns = ["case", "part", "measure", "mean", "error", "n"]
    return pd.DataFrame(found, columns=columns)


def verdict(name, table):
    """Where a mechanism helps and where it harms by more than one standard error, and z overall.

    z is the sum of the standardised differences over the root of their number; data on which
    nothing changes do not count. With few replicates a standard error may be tiny by chance:
    `LEAST` is added to it in squares.
    """
    own = table[(table["part"] == name) & (table["measure"] == PARTS[name].judged_by)]
    own = own[(own["error"] > 0) & (own["n"] > 2)]
    z = own["mean"] / np.hypot(own["error"], LEAST)
    helps, harms = list(own["case"][z > 1]), list(own["case"][z < -1])
    overall = z.sum() / np.sqrt(len(z)) if len(z) else 0.0
    earns = "yes" if helps and overall >= 1 else "harms" if harms and overall <= -1 else "no"
    return helps, harms, overall, earns


def markdown(runs):
    """The tables as text: verdicts, then differences by data, then coverage."""
    table = differences(runs)
    cases = [c for c in CASES if c in set(table["case"])]
    lines = [
        "| # | mechanism | helps on | harms on | z | earns its place |",
        "|---|---|---|---|---|---|",
    ]
    shown = [n for n in PARTS if n in set(table["part"])]
    for name in shown:
        helps, harms, overall, earns = verdict(name, table)
        where = ", ".join(helps) or "–", ", ".join(harms) or "–"
        lines.append(
            f"| {PARTS[name].number} | {PARTS[name].title} | {where[0]} | {where[1]} "
            f"| {overall:+.1f} | {earns} |"
        )
    for measure, title in (
        ("score", "R² or minus log-loss: all on minus one off (standard error), in thousandths"),
        (LIKELIHOOD, "log density of the labels, numbers only, in thousandths of a nat"),
    ):
        shown_cases = [c for c in cases if measure == "score" or CASES[c].task == NUMBERS]
        lines += ["", title, "", *_grid(table[table["measure"] == measure], shown, shown_cases)]
    if "coverage" in runs:
        title = "Coverage of 90 % intervals, one off (all on)"
        lines += ["", title, "", *_coverage(runs, shown, cases)]
    return "\n".join(lines) + "\n"


def _grid(table, names, cases):
    found = table.set_index(["part", "case"])
    lines = [f"| switched off | {' | '.join(cases)} |", "|---" * (len(cases) + 1) + "|"]
    counts = table.groupby("case")["n"].agg(["min", "max"])
    cells = ["–".join(dict.fromkeys(counts.loc[c].astype(str))) for c in cases]
    lines.append(f"| replicates | {' | '.join(cells)} |")
    for name in names:
        cells = []
        for case in cases:
            if (name, case) not in found.index:
                cells.append("")
                continue
            mean, error = (1000 * found.loc[(name, case), c] for c in ("mean", "error"))
            same = mean == 0 and not error > 0
            cells.append("0" if same else f"{mean:+.1f} ({error:.1f})")
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _coverage(runs, names, cases):
    """Without the mechanism and, on the same runs, with all of them."""
    numbers = [c for c in cases if CASES[c].task == NUMBERS]
    keys = ["case", "replicate", "seed"]
    covered = runs[runs["case"].isin(numbers)].set_index(keys)
    lines = [f"| switched off | {' | '.join(numbers)} |", "|---" * (len(numbers) + 1) + "|"]
    base = covered[covered["part"] == ALL_ON]["coverage"]
    for name in names:
        own = covered[covered["part"] == name]["coverage"]
        pairs = pd.concat([own, base], axis=1, join="inner", keys=["off", "on"])
        means = pairs.groupby("case").mean()
        cells = [
            f"{means.loc[c, 'off']:.3f} ({means.loc[c, 'on']:.3f})" if c in means.index else ""
            for c in numbers
        ]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", nargs="+", default=list(CASES), choices=list(CASES), metavar="SET"
    )
    parser.add_argument(
        "--parts", nargs="+", default=list(PARTS), choices=list(PARTS), metavar="PART"
    )
    parser.add_argument("--seeds", default="0:6", help="first:last+1, below 100")
    parser.add_argument("--block", type=int, default=100, help="seeds at a time, over all sets")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no run after this")
    parser.add_argument("--out", type=Path, default=Path("build/parts.jsonl"))
    parser.add_argument("--report", action="store_true", help="only from what is in --out")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", category=UserWarning)
    deadline = time.monotonic() + 60 * arguments.minutes
    seeds = range(*map(int, arguments.seeds.split(":")))
    if not arguments.report:
        for first in range(0, len(seeds), arguments.block):
            for case in arguments.sets:
                block = seeds[first : first + arguments.block]
                run(case, arguments.parts, block, arguments.out, deadline)
    runs = pd.DataFrame(read(arguments.out))
    runs = runs.drop_duplicates(["case", "replicate", "seed", "part"], keep="last")
    text = markdown(runs[runs["case"].isin(arguments.sets)])
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
