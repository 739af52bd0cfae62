"""Speed beside other tools, on the same data, as ratios within one run.

    make bench                                 # everything
    python benchmarks/speed.py --quick         # small tables
    python benchmarks/speed.py --large         # 5,000,000 rows × 20 columns: time and peak memory
    python benchmarks/speed.py --markdown FILE --figure FILE.png

Seconds are processor seconds of the process (imports left aside), of the second fit: programs are
compiled by then; the first one stands beside it. They vary less than wall time on a machine with
other work on it; where cores are free, wall time is lower by what runs on several of them. Peak
memory is that of the process beyond what it held before. Peers that are not installed are left out
with a reason. Sections can be chosen: --only fit graph step predict start.
"""

import argparse
import time
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from speed_steps import first_fit, growth, machine, shares_of_step
from threadpoolctl import threadpool_limits

from dapdag import DAPDAGRegressor, GraphSearch
from dapdag.datasets import make_anticausal_domains, make_random_sem_domains
from dapdag.graph_baselines import GRAPH_METHODS

SECTIONS = ("fit", "graph", "step", "predict", "start")
# Rows, columns with the label, sites.
FITS = {
    "rows": [(1_250, 8, 10), (5_000, 8, 10), (20_000, 8, 10), (80_000, 8, 10)],
    "columns": [(2_000, 30, 10), (2_000, 60, 10), (2_000, 120, 10)],
    "sites": [(20_000, 8, 50), (20_000, 8, 500), (100_000, 8, 5_000)],
}
QUICK = {"rows": [(1_250, 8, 10), (5_000, 8, 10)], "columns": [(1_000, 24, 10)], "sites": []}
GRAPHS = [(2_000, 10, 5), (2_000, 20, 5)]
GRAPH_PEERS = ("notears", "dagma", "cdnod")
TREES = 100


def table(n_rows, columns, n_sites, seed=0):
    """Sites of equal size of a random structural equation model of bounded degree."""
    per_site = max(n_rows // min(n_sites, 50), 1)
    made = make_random_sem_domains(
        n_variables=columns, n_domains=min(n_sites, 50), n_samples=per_site, random_state=seed
    )
    # More sites than the simulation draws: its sites, cut into pieces.
    pieces = -(-n_sites // min(n_sites, 50))
    own = np.arange(len(made.y)) % per_site * pieces // per_site
    return made.X, made.y, made.sample_domain * pieces + own


def peak_memory(reset=False):
    """GiB that the process held at most since the last reset; not a number where unknown."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20
    except (OSError, StopIteration):
        return np.nan


def taken(job):
    """Processor seconds of a call, and the GiB at its peak beyond what was held before."""
    before = peak_memory(reset=True)
    start = time.process_time()
    job()
    return time.process_time() - start, max(peak_memory() - before, 0.0)


def mlp():
    options = {"early_stopping": True, "n_iter_no_change": 20, "max_iter": 500, "random_state": 0}
    return make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(16, 16), **options))


def lightgbm():
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=TREES, n_jobs=1, verbose=-1, random_state=0)


def catboost():
    from catboost import CatBoostRegressor

    return CatBoostRegressor(thread_count=1, verbose=0, allow_writing_files=False, random_state=0)


PEERS = {
    "MLP, pooled": ("sklearn", mlp),
    f"LightGBM, {TREES} trees": ("lightgbm", lightgbm),
    "CatBoost": ("catboost", catboost),
}


def fits(cases):
    """One row per table and method."""
    rows = []
    for along, shapes in cases.items():
        for shape in shapes:
            at, (X, y, site) = len(rows), table(*shape)
            about = {"along": along, "rows": len(X), "columns": shape[1], "sites": shape[2]}
            ours = partial(lambda *t: DAPDAGRegressor().fit(*t[:2], sample_domain=t[2]), X, y, site)
            first, _ = taken(ours)
            warm, peak = taken(ours)
            rows.append(about | {"method": "dapdag", "s": warm, "first s": first, "GiB": peak})
            for name, (package, make) in PEERS.items():
                if find_spec(package) is None:
                    continue
                seconds, peak = taken(partial(make().fit, X, (y - y.mean()) / y.std()))
                rows.append(about | {"method": name, "s": seconds, "GiB": peak})
            tell(about | {row["method"]: row["s"] for row in rows[at:]})
    return pd.DataFrame(rows)


def graphs(shapes):
    """Processor seconds of the searches for a graph."""
    rows = []
    for shape in shapes:
        at, (X, _, site) = len(rows), table(*shape)
        about = {"rows": len(X), "columns": X.shape[1], "sites": shape[2]}
        seconds, _ = taken(partial(GraphSearch(random_state=0).fit, X, site))
        rows.append(about | {"method": "GraphSearch", "s": seconds})
        for name in GRAPH_PEERS:
            method = GRAPH_METHODS[name]
            if not method.available:
                continue
            seconds, _ = taken(partial(method.learn, X, site, 0))
            rows.append(about | {"method": name, "s": seconds})
        tell(about | {row["method"]: row["s"] for row in rows[at:]})
    return pd.DataFrame(rows)


def predictions(n_rows):
    """Rows per processor second of models fitted to one small table."""
    data = make_anticausal_domains(
        n_domains=8, n_samples=300, task="regression", n_effects=3, random_state=0
    )
    source = data.sample_domain >= 0
    X, y, site = data.X[source], data.y[source], data.sample_domain[source]
    few = DAPDAGRegressor(n_members=1).fit(X, y, sample_domain=site)
    both = DAPDAGRegressor().fit(X, y, sample_domain=site)
    many = X.iloc[np.arange(n_rows) % len(X)].reset_index(drop=True)
    # A child that reads the label alone has the same outputs in every row.
    effects = [name for name in X if name.startswith("effect")]
    shared = nx.DiGraph([(a, b) for b in effects for a in ("cause1", "Y")])
    shared.add_edges_from([("cause1", "Y"), ("cause2", "Y")])
    wider = DAPDAGRegressor(structure=shared, n_members=1).fit(X, y, sample_domain=site)
    models = {}
    for name, model in {"one member": few, "two members": both}.items():
        models[f"f0 and f1, {name}"] = weighted(model, [0.5, 0.5, 0.0])
        models[f"with inference on the graph, {name}"] = weighted(model, [0.25, 0.25, 0.5])
    models["the same, children with another parent"] = weighted(wider, [0.25, 0.25, 0.5])
    if find_spec("lightgbm") is not None:
        models[f"LightGBM, {TREES} trees"] = lightgbm().fit(X, y)
    rows = []
    with threadpool_limits(1):
        for name, model in models.items():
            model.predict(many)
            seconds, peak = taken(partial(model.predict, many))
            rows.append({"expert": name, "rows/s": n_rows / seconds, "GiB": peak})
            tell(rows[-1])
    return pd.DataFrame(rows)


def weighted(model, weights):
    """A copy of a model whose experts have these weights at every site."""
    import copy
    from dataclasses import replace

    out = copy.copy(model)
    inner = model.fitted_.model
    combination = replace(inner.combination, weights=np.array(weights))
    rules = replace(inner.rules, has_referee=False)
    changed = replace(inner, combination=combination, rules=rules)
    out.fitted_ = replace(model.fitted_, model=changed)
    return out


def large():
    """A table in single precision that takes 400 MB: what a fit adds to it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000_000, 19)).astype(np.float32)
    y = X[:, 0] - X[:, 1] ** 2 + rng.normal(size=len(X)).astype(np.float32)
    site = np.arange(len(X)) // 50_000
    seconds, peak = taken(lambda: DAPDAGRegressor(n_members=1).fit(X, y, sample_domain=site))
    return pd.DataFrame(
        [{"rows": len(X), "columns": 20, "sites": 100, "first s": seconds, "GiB": peak}]
    )


def tell(row):
    """Progress, on one line."""
    print(", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))


def with_ratio(found):
    """Each method's seconds, and ours as a multiple of them, table by table."""
    if found.empty:
        return found
    keys = [name for name in ("along", "rows", "columns", "sites") if name in found]
    wide = found.pivot_table(index=keys, columns="method", values="s", sort=False)
    own = wide.columns[wide.columns.isin(["dapdag", "GraphSearch"])][0]
    ratios = (wide[own].to_numpy()[:, None] / wide.drop(columns=own)).add_prefix("× ")
    return pd.concat([wide, ratios], axis=1).reset_index()


def as_markdown(frame):
    def cell(value):
        if isinstance(value, float):
            return "" if np.isnan(value) else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        return f"{value:,}" if isinstance(value, int | np.integer) else str(value)

    lines = ["| " + " | ".join(map(str, frame.columns)) + " |", "| --- " * frame.shape[1] + "|"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def draw(found, path):
    """Seconds against rows, columns and sites, one line per method."""
    from matplotlib import pyplot as plt

    from dapdag.plotting.style import BLUE, GREEN, ORANGE, PURPLE, tidy

    panels = [along for along in FITS if len(found[found.along == along].drop_duplicates(along))]
    size = 4 * len(panels), 3.7
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for ax, along in zip(axes[0], panels, strict=True):
        part = found[found.along == along]
        for name, colour in zip(part.method.unique(), (BLUE, ORANGE, GREEN, PURPLE), strict=False):
            own = part[part.method == name]
            ax.loglog(own[along], own.s, marker="o", color=colour, label=name)
        unit = "" if ax is not axes[0][0] else "processor seconds (less is better)"
        tidy(ax, f"Fit against {along}", along, unit)
        shown = sorted(part[along].unique())
        ax.set_xticks(shown, [f"{value:,}" for value in shown])
        ax.set_xticks([], minor=True)
    lines = axes[0][0].get_legend_handles_labels()
    figure.legend(*lines, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    parts = {}
    if asked.large:
        parts["A large table"] = large()
        asked.only = ()
    if "fit" in asked.only:
        found = fits(QUICK if asked.quick else FITS)
        first = found[found.method == "dapdag"].drop(columns=["method"])
        parts["Fit: processor seconds, and ours as a multiple"] = with_ratio(found)
        parts["First fit of a process, warm fit, memory"] = first
        parts["Growth exponents"] = growth(found)
        if asked.figure:
            draw(found, asked.figure)
    if "graph" in asked.only:
        parts["Search for the graph: processor seconds"] = with_ratio(
            graphs(GRAPHS[:1] if asked.quick else GRAPHS)
        )
    if "step" in asked.only:
        parts["A training step and its matrix products alone"] = shares_of_step()
    if "predict" in asked.only:
        parts["Prediction: rows per processor second"] = predictions(
            200_000 if asked.quick else 1_000_000
        )
    if "start" in asked.only:
        parts["First fit of a process: processor seconds"] = first_fit()
    peers = [name for name, (package, _) in PEERS.items() if find_spec(package) is None]
    peers += [name for name in GRAPH_PEERS if not GRAPH_METHODS[name].available]
    text = machine()
    text += f". Not installed, so left out: {', '.join(peers)}.\n" if peers else ".\n"
    text += "".join(f"\n## {name}\n\n{as_markdown(frame)}" for name, frame in parts.items())
    print("\n" + text)
    if asked.markdown:
        asked.markdown.write_text(text)


if __name__ == "__main__":
    main()
