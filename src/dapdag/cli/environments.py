"""`dapdag environments`: where the sites lie."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._environments import environment_records, show_environments
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
)

PICTURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".tsv", ".parquet")


def environments(
    model: ModelFile,
    new: OptionalNewFiles = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Map (png, svg, pdf) or table (csv)."),
    ] = None,
    domain: Domain = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the environment E of the sources and of new sites.

    E is what the model found to differ between sites. Its sign and scale are the model's own.

    \b
    Examples:
      dapdag environments heart.dapdag
      dapdag environments heart.dapdag new.csv --domain hospital -o map.png
    """
    from dapdag.io import check_output, read_new_rows

    if output is not None:
        check_output(output, (*PICTURES, *TABLES), [model, *(new or ())])
    if domain is not None and not new:
        raise ValueError("--domain names a column of the new table: give one after the model")
    fitted = load_model(model)
    found = None
    if new:
        how = reading(separator, decimal, encoding, missing)
        rows = read_new_rows(fitted, new, domain=domain, reading=how)
        found = fitted.environment(rows.X, rows.site)
    if output is not None:
        _write(fitted, found, output)
    if as_json:
        print_json(
            {
                "sources": environment_records(fitted.source_environments_),
                "new": [] if found is None else environment_records(found),
                "output": None if output is None else str(output),
            }
        )
    elif output is None:
        show_environments(fitted, found)
    elif not quiet:
        typer.echo(f"Wrote {output}")


def _write(model: Any, new: Any, output: Path) -> None:
    sources = model.source_environments_
    if output.suffix.lower() in PICTURES:
        from dapdag.graph_files import save_figure
        from dapdag.plotting import plot_environments

        save_figure(plot_environments(sources, new).figure, output)
        return
    import pandas as pd

    from dapdag.io import write_table

    parts = [sources.assign(outside=False, source=True)]
    if new is not None:
        parts.append(new.assign(source=False))
    write_table(pd.concat(parts).reset_index(names="site"), output, float_format="%.7g")
