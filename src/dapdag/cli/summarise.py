"""`dapdag summarise`: the rows of a site to a small file that holds none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._shared import (
    Decimal,
    Domain,
    Encoding,
    Json,
    Missing,
    ModelFile,
    NewFiles,
    Quiet,
    Separator,
    load_model,
    print_json,
    reading,
    silently,
    tell,
)
from .adapt import of_one_site, summaries_in


def summarise(
    model: ModelFile,
    new: NewFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="SUMMARY", help="File to write.")
    ],
    domain: Domain = None,
    site: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The site to summarise, if the table has several."),
    ] = None,
    min_rows: Annotated[
        int | None, typer.Option(metavar="N", help="Refuse fewer rows than that; 30 if not given.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="E", help="Add noise: (E, delta)-differential privacy of each row."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="The delta of it; 1e-6 if not given.")
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Summarise rows of a site that may not leave it.

    SUMMARY is a small JSON text of sums over rows. `dapdag adapt` makes the site known from it, or
    from the summaries of several parts of the site. What a summary gives away, and what noise does
    about it, is said in docs/privacy.md: send every row once. NEW may be summaries, too: then
    SUMMARY is the one of all their rows.

    \b
    Examples:
      dapdag summarise heart.dapdag leeds.csv -o leeds.summary
      dapdag adapt heart.dapdag leeds.summary -o leeds.dapdag
      dapdag predict leeds.dapdag leeds.csv -o predictions.csv
    """
    say_step = silently if quiet or as_json else tell
    from dapdag.distributed import DELTA, FEWEST_ROWS
    from dapdag.distributed import summarise as summary_of
    from dapdag.io import check_output, read_new_rows
    from dapdag.io.names import TABLE_SUFFIXES

    check_output(output, (), [model, *new])
    if output.suffix.lower() in TABLE_SUFFIXES:
        raise ValueError(f"-o {output}: a summary is no table, name it for example leeds.summary")
    say_step("Loading")
    fitted = load_model(model)
    found = summaries_in(fitted, model, new)
    if found is None:
        how = reading(separator, decimal, encoding, missing)
        rows = read_new_rows(fitted, new, domain=domain, reading=how)
        X = rows.X[of_one_site(rows, site)]
        say_step(f"Summarising {len(X):,} rows")
        found = summary_of(
            fitted,
            X,
            min_rows=FEWEST_ROWS if min_rows is None else min_rows,
            epsilon=epsilon,
            delta=DELTA if delta is None else delta,
        )
    elif epsilon is not None:
        raise ValueError("--epsilon: noise is added where the rows are, not to summaries")
    found.save(output)
    if as_json:
        print_json(_about(found, output))
    elif not quiet:
        typer.echo(f"Wrote {output}: sums over {found.n_rows:,} rows. {_guarantee(found)}")


def _about(found: Any, output: Path) -> dict[str, Any]:
    private = found.delta > 0
    return {
        "rows": found.n_rows,
        "model": found.model,
        "epsilon": found.epsilon if private else None,
        "delta": found.delta if private else None,
        "output": str(output),
    }


def _guarantee(found: Any) -> str:
    if found.delta > 0:
        return f"Each row has ({found.epsilon:g}, {found.delta:g})-differential privacy in it."
    return "No noise was added: do not send two that differ by few rows."
