"""`dapdag predict`: a model and new rows to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._environments import show_environments
from ._shared import (
    Decimal,
    Domain,
    Encoding,
    Json,
    Missing,
    ModelOrSiteFile,
    NewFiles,
    Quiet,
    Separator,
    load_model,
    print_json,
    reading,
    say,
    silently,
    tell,
)

PRECISION = "%.7g"


def predict(
    model: ModelOrSiteFile,
    new: NewFiles,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV, TSV or Parquet; else CSV to the terminal."
        ),
    ] = None,
    domain: Domain = None,
    coverage: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of labels that the interval is to hold.")
    ] = 0.9,
    keep: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="COLUMN", help="Column to copy to the output, such as an ID."),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict the label of new rows.

    Nothing is trained: the environment E of each site is read off its rows, or was read off by
    `dapdag adapt`.
    The output has a row for every row of NEW, in the same order, with the columns

    \b
      ID, SITE            if --id or --domain were given
      prediction          a number, or the likeliest class
      low, high           the interval of a number (see --coverage)
      probability_CLASS   for each class, of a classification
      outside             whether the site lies beyond what the sources span

    \b
    Examples:
      dapdag predict heart.dapdag new.csv -o predictions.csv
      dapdag predict heart.dapdag new.csv --domain hospital --id patient
    """
    silent = quiet or as_json
    say_step = silently if silent else tell
    from dapdag.io import check_output, read_new_rows, write_table
    from dapdag.io.predictions import predict_at_site, predict_table

    if output is not None:
        check_output(output, inputs=[model, *new])
    if not 0 < coverage < 1:
        raise ValueError(f"--coverage {coverage}: it must lie between 0 and 1")
    say_step("Loading")
    fitted = load_model(model, sites=True)
    at_site = hasattr(fitted, "known_")
    if at_site:
        if domain:
            raise ValueError(f"--domain {domain}: {model} is of one site, and all rows are of it")
        domain = ""
    kept = list(dict.fromkeys(name for name in keep or () if name != domain))
    rows = read_new_rows(
        fitted,
        new,
        domain=domain,
        keep=kept,
        reading=reading(separator, decimal, encoding, missing),
    )
    if not silent:
        _tell_roles(fitted, rows, domain, at_site)
    kept += [name for name in rows.ids if name not in (*kept, rows.domain)]
    kept = [name for name in kept if name != rows.domain]
    say_step(f"Predicting {len(rows):,} rows")
    predict_rows = predict_at_site if at_site else predict_table
    found = predict_rows(fitted, rows, coverage=coverage, keep=kept, domain=rows.domain)
    sources = fitted.estimator if at_site else fitted
    if output is not None:
        write_table(found.table, output, float_format=PRECISION)
    if as_json:
        print_json(_summary(found, output))
        return
    if output is None:
        _print_csv(found.table)
    elif not quiet:
        show_environments(sources, found.environments)
        typer.echo(f"Wrote {output}: {len(found.table):,} rows")


def _tell_roles(model: Any, rows: Any, domain: str | None, at_site: bool) -> None:
    """Say which columns play no part, above all one that may name sites."""
    from dapdag._runtime.text import quoted

    label = str(model.fitted_.model.table.label.name)
    dropped = (getattr(model, "reading_", None) or {}).get("dropped", ())
    others = [name for name in rows.unused if name not in (rows.domain, label, *rows.ids, *dropped)]
    if rows.domain is not None and domain is None:
        say(
            f"note: {rows.domain!r} names the sites, as in training; --domain '' makes all rows "
            "one site"
        )
    if label in rows.unused:
        say(f"note: the label {label!r} is there, and not looked at")
    if others:
        say(f"note: not used: {quoted(others, 5)}")
        if rows.site is None and not at_site:
            say("note: all rows are one new site; if a column names sites, give --domain")


def _summary(found: Any, output: Path | None) -> dict[str, Any]:
    from ._environments import environment_records

    summary: dict[str, Any] = {
        "rows": len(found.table),
        "columns": list(found.table),
        "environments": environment_records(found.environments),
        "output": None if output is None else str(output),
    }
    if output is None:
        import json

        # pandas knows how to write its own types; NaN becomes null.
        summary["predictions"] = json.loads(found.table.to_json(orient="records"))
    return summary


def _print_csv(table: Any) -> None:
    """In pieces: a large table as one text would be in memory twice."""
    step = 100_000
    for start in range(0, len(table), step):
        typer.echo(
            table.iloc[start : start + step].to_csv(
                index=False, header=start == 0, float_format=PRECISION, lineterminator="\n"
            ),
            nl=False,
        )
