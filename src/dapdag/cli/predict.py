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
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of labels that the intervals are to hold.",
        ),
    ] = 0.9,
    keep: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="COLUMN", help="Column to copy to the output, such as an ID."),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            help="Rows to read at a time; else large tables are read in batches of 131,072.",
        ),
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
      low_CLASS, high_CLASS  the interval of that probability (of two classes,
                          for the second)
      outside             whether the site lies beyond what the sources span

    With -o, tables of any size are read in batches, twice: for the environments, then for the
    predictions. If that is interrupted, the same command goes on where it stopped.

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
    how = reading(separator, decimal, encoding, missing)
    if _in_batches(new, output, batch, how):
        _stream(fitted, new, output, domain, kept, how, batch, coverage, quiet, as_json)
        return
    rows = read_new_rows(fitted, new, domain=domain, keep=kept, reading=how)
    if not silent:
        _tell_roles(fitted, rows.unused, rows, domain)
    kept = _kept(kept, rows)
    say_step(f"Predicting {len(rows):,} rows")
    predict_rows = predict_at_site if at_site else predict_table
    found = predict_rows(fitted, rows, coverage=coverage, keep=kept, domain=rows.domain)
    sources = fitted.estimator if at_site else fitted
    if output is not None:
        write_table(found.table, output, float_format=PRECISION)
    if as_json:
        about = _summary([*map(str, found.table)], len(found.table), found.environments, output)
        if output is None:
            import json

            # pandas knows how to write its own types; NaN becomes null.
            about["predictions"] = json.loads(found.table.to_json(orient="records"))
        print_json(about)
        return
    if output is None:
        _print_csv(found.table)
    elif not quiet:
        show_environments(sources, found.environments)
        typer.echo(f"Wrote {output}: {len(found.table):,} rows")


def _kept(kept: list[str], rows: Any) -> list[str]:
    """Columns to copy: those asked for, and those that named rows in training."""
    every = [*kept, *(name for name in rows.ids if name not in kept)]
    return [name for name in every if name != rows.domain]


def _in_batches(new: list[Path], output: Path | None, batch: int | None, how: Any) -> bool:
    from dapdag.io.batches import is_large
    from dapdag.io.reading import table_files

    if batch is not None:
        if batch < 1:
            raise ValueError(f"--batch {batch}: it must be 1 or more")
        if output is None:
            raise ValueError("--batch needs a file to write to: give -o")
        return True
    return output is not None and is_large([f for path in new for f in table_files(path)], how)


def _stream(
    fitted: Any,
    new: list[Path],
    output: Path | None,
    domain: str | None,
    kept: list[str],
    how: Any,
    batch: int | None,
    coverage: float,
    quiet: bool,
    as_json: bool,
) -> None:
    """Predict in batches, in two passes over the files."""
    from dapdag._runtime.progress import progress
    from dapdag.io.batches import BATCH_ROWS, Batches
    from dapdag.io.streaming import predict_files

    assert output is not None
    batches = Batches(fitted, new, domain=domain, keep=kept, reading=how, rows=batch or BATCH_ROWS)
    silent, at_site = quiet or as_json, hasattr(fitted, "known_")
    if not silent:
        _tell_roles(fitted, batches.unused, batches.plan, domain)
        tell(f"Predicting {batches.bytes / 1e6:,.0f} MB in batches of {batches.size:,} rows")
    passes = 1 if at_site else 2
    try:
        with progress(passes * batches.bytes, "Bytes", 0 if silent else 1) as report:
            found = predict_files(
                *(fitted, batches, output, report),
                coverage=coverage,
                keep=_kept(kept, batches.plan),
                float_format=PRECISION,
            )
    except (KeyboardInterrupt, OSError):
        if Path(f"{output}.partial").exists() and not _from_pipe(batches.plan.files):
            say(
                f"note: what is done is kept in {output}.partial; the same command goes on from "
                "there"
            )
        raise
    if as_json:
        print_json(_summary(found.columns, found.n_rows, found.environments, output))
    elif not quiet:
        show_environments(fitted.estimator if at_site else fitted, found.environments)
        typer.echo(f"Wrote {output}: {found.n_rows:,} rows")


def _from_pipe(files: list[Path]) -> bool:
    """Whether rows came through a pipe, which nobody can read again."""
    from dapdag.io.streams import is_stream

    return any(is_stream(file) for file in files)


def _tell_roles(model: Any, unused: list[str], rows: Any, domain: str | None) -> None:
    """Say which columns play no part, above all one that may name sites."""
    from dapdag._runtime.text import quoted

    label = str(model.fitted_.model.table.label.name)
    told = getattr(model, "reading_", None) or {}
    known = {rows.domain, label, *rows.ids, *told.get("dropped", ())}
    known |= {told.get("weight"), told.get("group")}
    others = [name for name in unused if name not in known]
    if rows.domain is not None and domain is None:
        say(
            f"note: {rows.domain!r} names the sites, as in training; --domain '' makes all rows "
            "one site"
        )
    if label in unused:
        say(f"note: the label {label!r} is there, and not looked at")
    if others:
        say(f"note: not used: {quoted(others, 5)}")
        if not rows.has_sites and not hasattr(model, "known_"):
            say("note: all rows are one new site; if a column names sites, give --domain")


def _summary(
    columns: list[str], rows: int, environments: Any, output: Path | None
) -> dict[str, Any]:
    from ._environments import environment_records

    return {
        "rows": rows,
        "columns": columns,
        "environments": environment_records(environments),
        "output": None if output is None else str(output),
    }


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
