"""`dapdag reproduce`: the figures and tables of the paper, run here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._shared import Quiet, make_folder, say

if TYPE_CHECKING:
    from dapdag.experiments.runner import Result

ALL = "all"
FAILED = 1
MOST_JOBS = 4


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An experiment of --list, or 'all'.")
    ] = None,
    preset: Annotated[
        str,
        typer.Option(help="'quick' (minutes, few repetitions) or 'paper' (the paper's, hours)."),
    ] = "quick",
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Runs side by side: by default a few, one where time is measured."
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder; each experiment has one of its own there."),
    ] = Path("reproduced"),
    seeds: Annotated[
        str | None, typer.Option(metavar="A:B", help="Seeds A to B - 1 instead of the preset's.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="These methods instead of the preset's.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Data set of 'studies', such as uci_heart."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the runs that are there.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run the experiments of the paper.

    A run that was stopped goes on where it was.
    """
    from dapdag.experiments import CATALOGUE

    if show_list:
        width = max(map(len, CATALOGUE))
        for one, shows in CATALOGUE.items():
            typer.echo(f"{one:{width}s}  {shows}")
        return
    if name is None:
        raise ValueError("name an experiment, or 'all': dapdag reproduce --list shows them")
    if name != ALL and name not in CATALOGUE:
        raise ValueError(f"unknown experiment {name!r}: choose one of {[*CATALOGUE, ALL]}")
    chosen = {
        "preset": preset,
        "seeds": None if seeds is None else seed_range(seeds),
        "methods": None if methods is None else [m.strip() for m in methods.split(",")],
        "n_jobs": side_by_side() if jobs is None else jobs,
        "fresh": fresh,
        "verbose": 0 if quiet else 1,
    }
    make_folder(output)
    failed = 0
    for one in CATALOGUE if name == ALL else [name]:
        if not quiet:
            say(f"{one}: {CATALOGUE[one]} …")
        result = _run(one, output, data, chosen)
        failed += _show(result, one, quiet)
    if failed:
        raise typer.Exit(FAILED)


def side_by_side() -> int:
    """Each core one run, but no more than a laptop's memory holds."""
    return min(MOST_JOBS, os.cpu_count() or 1)


def seed_range(text: str) -> range:
    """``"3:7"`` is 3, 4, 5, 6."""
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise ValueError(f"--seeds must be two numbers such as 0:10, the first below, not {text!r}")
    return range(int(first), int(last))


def _run(name: str, output: Path, data: str | None, chosen: dict[str, Any]) -> Result:
    from dapdag.experiments import load
    from dapdag.experiments.runner import run

    if data is None:
        return run(load(name), output / name, **chosen)
    from dapdag.experiments.paper.studies import on_data

    if name != "studies":
        raise ValueError(f"--data is for the experiment 'studies', not for {name!r}")
    parameters = on_data(chosen["preset"], data)
    return run(load(name), output / f"{name}-{data}", parameters=parameters, **chosen)


def _show(result: Result, name: str, quiet: bool) -> int:
    """Print the table and what failed; the number of runs that failed."""
    from dapdag.experiments.report import TABLE

    table = result.folder / TABLE
    if len(result.rows):
        typer.echo(table.read_text("utf-8"))
    for reason in result.left_out:
        say(f"{name}: left out: {reason}", "warning")
    for failure in result.failures:
        runs = f"{failure.runs[0].key} and {len(failure.runs) - 1} more"
        first = failure.runs[0].key if len(failure.runs) == 1 else runs
        say(f"{name}: {first}: {failure.reason}", "error")
    if not quiet:
        say(f"{name}: {result.n_computed} runs computed; files in {result.folder}")
    return sum(len(failure.runs) for failure in result.failures)
