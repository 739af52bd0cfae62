"""`dapdag report`: one page about a model and a new site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    keep: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column that names rows; else as in training."),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a page about a model and a new site.

    Two pages to read and an appendix, for a browser or on paper; the file needs no network.
    `dapdag fit --assess` adds how well each site is predicted from the others. Outcomes in NEW, in
    the column of the label, are compared with the predictions.

    \b
    Examples:
      dapdag report heart.dapdag
      dapdag report heart.dapdag new.csv --domain hospital -o report.html
      dapdag report heart.dapdag new.csv --label died -o report.html
    """
    say_step = silently if quiet or as_json else tell
    from dapdag.io import check_output, read_new_rows

    check_output(output, (".html", ".htm"), [model, *(new or ())])
    for option, named in (("--domain", domain), ("--label", label), ("--id", keep)):
        if named is not None and not new:
            raise ValueError(f"{option} names a column of the new table: give one after the model")
    say_step("Loading")
    from dapdag.report import write_report

    fitted = load_model(model)
    given: dict[str, Any] = {}
    if new:
        how = reading(separator, decimal, encoding, missing)
        label = label or _label_there(fitted, new, how)
        beside = [name for name in (label, keep) if name is not None]
        rows = read_new_rows(fitted, new, domain=domain, keep=beside, reading=how)
        given = {"X": rows.X, "sample_domain": rows.site, "ids": _ids(rows, keep)}
        if label is not None:
            say_step(f"Comparing with the outcomes in {label!r}")
            given["y"] = outcomes(fitted, rows, label)
    say_step("Writing the report")
    write_report(fitted, output, **given)
    if as_json:
        print_json({"output": str(output)})
    elif not quiet:
        typer.echo(f"Wrote {output}: open it in a browser")


def _label_there(model: Any, new: list[Path], how: Any) -> str | None:
    """The column of the label, where the new tables have it, with outcomes."""
    from dapdag.io import column_names, read_tables
    from dapdag.io.reading import table_files

    name = str(model.fitted_.model.table.label.name)
    files = [file for path in new for file in table_files(path)]
    if not any(name in column_names(file, how) for file in files):
        return None
    return name if read_tables(files, how, columns=[name]).frame[name].notna().any() else None


def _ids(rows: Any, keep: str | None) -> Any:
    """Names of the rows, by the column that was given or that named them in training."""
    name = keep or next(iter(rows.ids), None)
    return None if name is None else rows.rows.frame[name].astype(str).tolist()
