"""`dapdag impute`: missing cells filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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


def impute(
    model: ModelFile,
    new: NewFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="CSV, TSV or Parquet.")
    ],
    domain: Domain = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fill in the missing cells of a table.

    Each comes from the learned graph and the environment of its site. Columns that the model does
    not know, and cells that have a value, stay as they are. The last column of the output,
    `imputed`, names the columns that were filled in a row.

    \b
    Example:
      dapdag impute heart.dapdag new.csv --domain hospital -o complete.csv
    """
    say_step = silently if quiet or as_json else tell
    from dapdag.io import check_output, read_new_rows, write_table
    from dapdag.io.predictions import as_written, fill_in

    check_output(output, inputs=[model, *new])
    say_step("Loading")
    fitted = load_model(model)
    how = reading(separator, decimal, encoding, missing)
    rows = read_new_rows(fitted, new, domain=domain, keep=None, reading=how)
    say_step(f"Imputing {len(rows):,} rows")
    complete = fitted.impute(rows.X, sample_domain=rows.site)
    is_text = output.suffix.lower() != ".parquet"
    table, filled = fill_in(rows, complete, as_text=is_text)
    write_table(as_written(table, rows.rows.frame) if is_text else table, output)
    if as_json:
        print_json({"rows": len(table), "filled": filled, "output": str(output)})
    elif not quiet:
        from ._show import print_table

        print_table(
            ["column", "cells filled in"], [[n, f"{k:,}"] for n, k in filled.items()], numbers=[1]
        )
        typer.echo(f"Wrote {output}: {len(table):,} rows, {sum(filled.values()):,} cells filled in")
