"""`dapdag track`: has a site moved over time?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._shared import (
    Decimal,
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

PICTURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".tsv", ".parquet")


def track(
    model: ModelFile,
    new: NewFiles,
    time: Annotated[str, typer.Option(metavar="COLUMN", help="Column with dates or numbers.")],
    periods: Annotated[
        str | None,
        typer.Option(metavar="N|FREQ", help="How many periods, or D, W, M, Q or Y for dates."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Plot (png, svg, pdf) or table (csv)."),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Follow one site over time, and test whether it has moved.

    E and every feature given its parents, period by period. The test permutes the rows' times: if
    nothing moved, it gives a false alarm in 5 % of all cases.

    \b
    Examples:
      dapdag track heart.dapdag leeds.csv --time admitted
      dapdag track heart.dapdag leeds.csv --time admitted --periods M -o e.png
    """
    say_step = silently if quiet or as_json else tell
    from dapdag.io import check_output, read_new_rows
    from dapdag.io.sniffing import clean

    if output is not None:
        check_output(output, (*PICTURES, *TABLES), [model, *new])
    say_step("Loading")
    fitted = load_model(model)
    how = reading(separator, decimal, encoding, missing)
    rows = read_new_rows(fitted, new, domain="", keep=[time], reading=how)
    from dapdag.explain import track as follow

    say_step(f"Following {len(rows):,} rows")
    count: Any = int(periods) if periods is not None and periods.isdigit() else periods
    when = rows.rows.frame[clean(time)]
    absent = int(when.isna().sum())
    if absent:
        raise ValueError(f"--time {time}: it is missing in {absent:,} row(s) of {rows.rows.name}")
    try:
        found = follow(fitted, rows.X, when.to_numpy(), periods=count)
    except ValueError as error:
        raise ValueError(f"--time {time}: {error}") from error
    if output is not None:
        _write(fitted, found, output)
    if as_json:
        print_json(_summary(found, output))
        return
    _show(found)
    if output is not None and not quiet:
        typer.echo(f"Wrote {output}")


def _write(model: Any, found: Any, output: Path) -> None:
    if output.suffix.lower() in PICTURES:
        from dapdag.graph_files import save_figure
        from dapdag.plotting import plot_track

        save_figure(plot_track(found, model.source_environments_).figure, output)
        return
    from dapdag.io import write_table

    write_table(found.periods.reset_index(), output, float_format="%.7g")


def _summary(found: Any, output: Path | None) -> dict[str, Any]:
    import json

    def records(frame: Any) -> list[dict[str, Any]]:
        text = frame.reset_index().to_json(orient="records", date_format="iso")
        return list(json.loads(text))

    return {
        "moved": bool(found.moved),
        "p_value": float(found.p_value),
        "components": records(found.components),
        "periods": records(found.periods),
        "output": None if output is None else str(output),
    }


def _show(found: Any) -> None:
    from dapdag._runtime.text import fixed, level

    from ._show import print_lines, print_table

    dims = [c.removesuffix("_mean") for c in found.periods if str(c).endswith("_mean")]
    print_table(
        ["period", "from", "rows", *(text for dim in dims for text in (dim, "sd"))],
        [
            [
                str(name),
                level(row["start"])[:10],
                f"{row['rows']:,}",
                *(fixed(row[f"{d}_{s}"]) for d in dims for s in ("mean", "sd")),
            ]
            for name, row in found.periods.iterrows()
        ],
        title="The site over time",
        numbers=range(2, 3 + 2 * len(dims)),
    )
    moving = found.components.sort_values("p_value", kind="stable").head(8)
    print_table(
        ["component", "last less first", "p"],
        [[str(k), fixed(r["change"]), f"{r['p_value']:.3f}"] for k, r in moving.iterrows()],
        title="What moved (p adjusted for the number of components)",
        numbers=[1, 2],
    )
    print_lines(found.sentence())
