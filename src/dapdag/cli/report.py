"""`dapdag report`: one page about a model and a new site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._labels import outcomes
from ._shared import (
    Decimal,
    Domain,
    Encoding,
    Json,
    Missing,
    ModelFile,
    OptionalNewFiles,
    Quiet,
    Separator,
    load_model,
    print_json,
    reading,
    silently,
    tell,
)


def report(
    model: ModelFile,
    new: OptionalNewFiles = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    domain: Domain = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Outcome in the new table, to show how well it is predicted."
        ),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a page about a model and a new site.

    Data, sites, predictions, graph and limits, to read in a browser; the file needs no network.
    `dapdag fit --assess` adds how well each site is predicted from the others.

    \b
    Examples:
      dapdag report heart.dapdag
      dapdag report heart.dapdag new.csv --domain hospital -o report.html
      dapdag report heart.dapdag new.csv --label died -o report.html
    """
    say_step = silently if quiet or as_json else tell
    from dapdag.io import check_output, read_new_rows

    check_output(output, (".html", ".htm"), [model, *(new or ())])
    for option, given in (("--domain", domain), ("--label", label)):
        if given is not None and not new:
            raise ValueError(f"{option} names a column of the new table: give one after the model")
    say_step("Loading")
    from dapdag.report import write_report

    fitted = load_model(model)
    X = site = y = None
    if new:
        how = reading(separator, decimal, encoding, missing)
        beside = [] if label is None else [label]
        rows = read_new_rows(fitted, new, domain=domain, keep=beside, reading=how)
        X, site = rows.X, rows.site
        y = None if label is None else outcomes(fitted, rows, label)
    say_step("Writing the report")
    write_report(fitted, output, X=X, sample_domain=site, y=y)
    if as_json:
        print_json({"output": str(output)})
    elif not quiet:
        typer.echo(f"Wrote {output}: open it in a browser")
