"""The files of an experiment: rows, table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .._runtime.files import atomic_write, atomic_write_text
from .runs import Experiment, Parameters
from .statements import Statement
from .store import Store

ROWS, TABLE, FIGURE = "results.csv", "table.md", "figure"
LAST_COLUMNS = ("metric", "value", "seconds")


def write_report(
    experiment: Experiment, parameters: Parameters, rows: pd.DataFrame, store: Store
) -> None:
    """Write the tidy rows, the table with the paper's statements, and the figure twice."""
    first = [c for c in rows if c not in LAST_COLUMNS]
    with atomic_write(store.folder / ROWS) as path:
        rows[[*first, *LAST_COLUMNS]].to_csv(path, index=False)
    text = [
        f"# {experiment.title}",
        provenance(rows, store, experiment.trains),
        experiment.table(rows, parameters),
    ]
    if found := experiment.statements(rows, parameters):
        text += ["## The paper's statements", statement_table(found)]
    atomic_write_text(store.folder / TABLE, "\n\n".join(text) + "\n")
    save_figure(experiment.figure(rows, parameters), store.folder / FIGURE)


def provenance(rows: pd.DataFrame, store: Store, trains: bool) -> str:
    """What was run, by which code, and how long it took."""
    manifest = store.manifest
    seeds = sorted(rows["seed"].unique().tolist())
    runs = rows.drop_duplicates([c for c in rows if c in _run_columns(rows)])
    code = f"dapdag {manifest['version']}"
    if manifest["commit"]:
        code += f", commit {manifest['commit']}"
    budget = manifest["parameters"]["budget"]
    networks = f"{budget['n_members']} member(s) and at most {budget['max_epochs']} epochs"
    said = [
        f"Preset `{manifest['preset']}`: {len(seeds)} seeds ({seeds[0]}–{seeds[-1]})"
        + (f", networks with {networks}." if trains else "."),
        f"{len(runs)} runs, {runs['seconds'].sum() / 60:.1f} minutes of computing.",
        f"{code}.",
    ]
    return " ".join(said)


def statement_table(found: Sequence[Statement]) -> str:
    """The statements, their effects (mean ± standard error) and verdicts."""
    head = "| statement | effect | n | verdict |\n|---|---|---:|---|"
    return "\n".join([head, *(s.as_row() for s in found)])


def save_figure(figure: Any, path: Path) -> None:
    """Save as PNG and as SVG; the same figure gives the same bytes."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "dapdag", "svg.fonttype": "none"}):
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            with atomic_write(path.with_suffix(suffix)) as temporary:
                figure.savefig(temporary, dpi=160, metadata=metadata)


def _run_columns(rows: pd.DataFrame) -> list[str]:
    """Columns that tell runs apart: those before the metric that do not differ within a run."""
    return [*rows.columns[: list(rows.columns).index("seed") + 1]]
