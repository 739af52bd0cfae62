"""The inferred schema on a terminal: what each column was taken for, and what each site holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dapdag._runtime.text import fine_percent, fixed

from ._show import print_lines, print_table

if TYPE_CHECKING:
    from dapdag.io import Study


def show_study(study: Study, files: Sequence[str]) -> None:
    from dapdag.io.columns import likely_codes
    from dapdag.io.schema import describe_columns, describe_sites

    named = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    sites = describe_sites(study)
    print_lines(
        f"{named}: {len(study.X):,} rows, {study.X.shape[1]} columns to learn from, "
        f"{len(sites)} sites",
        f"Label {study.y.name}: {_task(study)}",
        "",
    )
    print_table(
        ["column", "type", "missing", "values"],
        [[c.name, c.type, fine_percent(c.missing), c.values] for c in describe_columns(study)],
        numbers=[2],
    )
    shares = sorted({name for site in sites for name in site.label})
    shown = shares[-1:] if len(shares) == 2 else shares[:5]
    heads = ["mean"] if study.task == "regression" else [f"share of {name}" for name in shown]
    print_table(
        ["site", "rows", "labelled", "missing", *heads],
        [
            [
                site.name if site.role == "source" else f"{site.name} (target)",
                f"{site.rows:,}",
                f"{site.labelled:,}" if site.role == "source" else "–",
                fine_percent(site.missing),
                *(_share(study, site.label, name) for name in shown),
            ]
            for site in sites
        ],
        numbers=range(1, 4 + len(shown)),
        most=25,
    )
    codes = likely_codes(study.X)
    if codes:
        # On a line of its own, however long, so that it can be copied.
        typer.echo("Whole numbers of few values were taken for quantities. For codes, add")
        typer.echo(f"  --categorical {','.join(codes)}\n")


def _task(study: Study) -> str:
    if study.task == "regression":
        return "a number (regression)"
    classes = study.y[~study.is_target].nunique()
    return f"{classes} classes (classification)"


def _share(study: Study, label: dict[str, float], name: str) -> str:
    if not label:
        return "–"
    if study.task == "regression":
        return fixed(label["mean"], 3 if abs(label["mean"]) < 10 else 1)
    return fine_percent(label.get(name, 0.0))
