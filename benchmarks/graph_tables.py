"""Tables of graph searches: methods in rows, scenarios in columns."""

import numpy as np
import pandas as pd

from dapdag.experiments.tables import markdown

# Scenarios of one table, and what they vary.
GROUPS = {
    "Number of variables": ("d5", "d10", "d20", "d30", "d50", "d100"),
    "Sites, rows, density": ("d10-1-site", "d10-3-sites", "100-rows", "dense"),
    "The paper's regression set": ("author", "paper-0.5", "paper-1"),
    "Mechanisms": ("all-shift", "none-shift", "relu", "sigmoid", "linear"),
    "Noise and columns": ("laplace", "uniform", "exponential", "distorted", "missing"),
    "Measured": ("chamber", "sachs"),
}
MEASURES = {
    "shd": "SHD, mean (standard error)",
    "skeleton f1": "F1 of the skeleton",
    "orientation": "Share of the pairs found whose direction is right",
    "seconds": "Seconds of one CPU",
    "times": "Seconds as a multiple of GraphSearch's on the same tables",
}
TIMES = ("seconds", "times")


def report(runs, titles):
    """Markdown of all measures; SHD of every group first."""
    parts = []
    runs = runs.assign(times=_multiples(runs, next(iter(titles))))
    for measure, words in MEASURES.items():
        parts.append(f"## {words}")
        for group, scenarios in GROUPS.items():
            present = [s for s in scenarios if s in set(runs["scenario"])]
            if present:
                parts.append(f"### {group}")
                parts.append(_table(runs, measure, present, titles))
    failures = runs[runs["status"].str.startswith("failed")]
    if len(failures):
        first = failures.drop_duplicates(["method", "scenario"])
        lines = [
            f"- {titles[r.method]}, {r.scenario}: {r.status.removeprefix('failed: ')}"
            for r in first.itertuples()
        ]
        parts += ["## Runs that failed", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _multiples(runs, reference):
    """Seconds of every run over those of the reference on the same table."""
    own = runs[runs["method"] == reference].set_index(["scenario", "seed"])["seconds"]
    keys = pd.MultiIndex.from_frame(runs[["scenario", "seed"]])
    return runs["seconds"].to_numpy(dtype=float) / own.reindex(keys).to_numpy(dtype=float)


def _table(runs, measure, scenarios, titles):
    methods = [m for m in titles if m in set(runs["method"])]
    cells = {(m, s): _values(runs, m, s) for m in methods for s in scenarios}
    header = ["", *(f"{s} ({_edges(runs, s)})" for s in scenarios)]
    best = {s: _best(measure, [cells[m, s] for m in methods]) for s in scenarios}
    body = [
        [titles[m], *(_cell(cells[m, s], measure, best[s]) for s in scenarios)] for m in methods
    ]
    return markdown(header, body)


def _values(runs, method, scenario):
    return runs[(runs["method"] == method) & (runs["scenario"] == scenario)]


def _edges(runs, scenario):
    edges = runs.loc[runs["scenario"] == scenario, "edges"].dropna()
    return f"{edges.mean():.0f} edges" if len(edges) else "–"


def _best(measure, groups):
    if measure in TIMES:
        return None
    means = [g[measure].mean() for g in groups if _complete(g)]
    if not means:
        return None
    return min(means) if measure == "shd" else max(means)


def _complete(group):
    return len(group) > 0 and (group["status"] == "finished").all()


def _cell(group, measure, best):
    if not len(group):
        return ""
    if (group["status"] == "too long").any():
        return "–" if measure == "times" else f"> {group['budget'].max():.0f} s"
    done = group.loc[group["status"] == "finished", measure].dropna()
    if not len(done):
        return "–"
    if measure in TIMES:
        mean = done.mean()
        digits = 0 if mean >= 100 else 2 if measure == "times" and mean < 10 else 1
        return f"{mean:.{digits}f}"
    digits = 1 if measure == "shd" else 2
    text = f"{done.mean():.{digits}f}"
    if measure == "shd" and len(done) > 1:
        text += f" ({done.std() / np.sqrt(len(done)):.{digits}f})"
    return f"**{text}**" if best is not None and np.isclose(done.mean(), best) else text
