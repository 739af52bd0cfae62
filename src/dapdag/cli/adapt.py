"""`dapdag adapt`: a model and the rows of one site to a file for that site."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._environments import environment_records, show_environments
from ._shared import (
    Decimal,
    Domain,
    Encoding,
    Json,
    Missing,
    NewFiles,
    Quiet,
    Separator,
    load_model,
    print_json,
    reading,
    silently,
    tell,
)

if TYPE_CHECKING:
    from dapdag.io import NewRows


def adapt(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model that `dapdag fit` wrote, or a site to add rows to."
        ),
    ],
    new: NewFiles,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="SITE", help="File to write.")],
    domain: Domain = None,
    site: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The site to adapt to, if the table has several."),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Adapt a model to one site, to predict its rows one by one.

    The environment, the site's mechanisms and the experts' weights are inferred from NEW and kept
    in SITE, which `dapdag predict` takes in place of a model. If MODEL is such a file already, the
    rows are added to it.

    \b
    Examples:
      dapdag adapt heart.dapdag leeds.csv -o leeds.dapdag
      dapdag predict leeds.dapdag patient.csv
      dapdag adapt leeds.dapdag today.csv -o leeds.dapdag
    """
    silent = quiet or as_json
    say_step = silently if silent else tell
    from dapdag.io import check_output, read_new_rows
    from dapdag.io.names import TABLE_SUFFIXES

    check_output(output, (), [*new])
    if output.suffix.lower() in TABLE_SUFFIXES:
        raise ValueError(f"-o {output}: a site is no table, name it for example leeds.dapdag")
    say_step("Loading")
    fitted = load_model(model, sites=True)
    how = reading(separator, decimal, encoding, missing)
    rows = _of_one_site(read_new_rows(fitted, new, domain=domain, reading=how), site)
    say_step(f"Adapting to {len(rows.X):,} rows")
    known = fitted.update(rows.X) if hasattr(fitted, "known_") else fitted.at(rows.X)
    environment = known.environment_.rename(index={"new": site or "new"})

    known.save(output)
    if as_json:
        print_json(_summary(known, environment, output))
    elif not quiet:
        show_environments(known.estimator, environment)
        _show_mechanisms(known)
        typer.echo(f"Wrote {output}: a site of {known.n_rows_:,} rows. Next:")
        typer.echo(f"  dapdag predict {output} ROWS.csv")


def _of_one_site(rows: NewRows, site: str | None) -> NewRows:
    """The rows of the site that is named, or all if they are of one."""
    if rows.site is None:
        if site is not None:
            raise ValueError(f"--site {site}: give --domain, the column that names sites")
        return rows
    names = list(dict.fromkeys(rows.site))
    if site is None and len(names) == 1:
        return rows
    from dapdag._runtime.text import quoted, suggestion

    if site is None:
        raise ValueError(
            f"{rows.rows.name} has rows of {len(names)} sites ({quoted(names, 5)}), and a file is "
            "for one: choose it by --site NAME, or give --domain '' if all rows are of one site"
        )
    if site not in names:
        raise ValueError(
            f"--site {site}: there is no such site; " + suggestion(site, names, "sites are")
        )
    chosen = rows.site == site
    return replace(rows, X=rows.X[chosen], site=rows.site[chosen])


def _records(known: Any) -> list[dict[str, Any]]:
    """The site's mechanisms as plain values; what is not known is null."""
    import json

    table = known.mechanisms_.reset_index()
    return list(json.loads(table.to_json(orient="records")))


def _summary(known: Any, environment: Any, output: Path) -> dict[str, Any]:
    return {
        "rows": known.n_rows_,
        "environment": environment_records(environment)[0],
        "expert_weights": {k: float(v) for k, v in known.expert_weights_.items()},
        "mechanisms": _records(known),
        "output": str(output),
    }


def _show_mechanisms(known: Any) -> None:
    from dapdag._runtime.text import fixed

    from ._show import print_table

    found = known.mechanisms_
    if not len(found):
        return
    rows = [
        [
            str(name),
            str(row["role"]),
            "" if row["role"] == "label" else f"{fixed(row['effect'])} ± {fixed(row['effect_sd'])}",
            "turned" if row["turned"] else "",
            f"{fixed(row['shift'])} ± {fixed(row['shift_sd'])} {row['unit']}",
        ]
        for name, row in found.iterrows()
    ]
    headers = ["variable", "", "label's effect", "", "shift"]
    print_table(headers, rows, title="Mechanisms, relative to the sources", numbers=[2, 4])
