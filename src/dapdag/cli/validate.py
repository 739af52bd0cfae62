"""`dapdag validate`: a model at new sites whose outcomes are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._labels import label_column, outcomes
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
from ._validation import (
    Event,
    Statistics,
    Threshold,
    explain_sites,
    heterogeneity_line,
    reference_line,
    show_sites,
    validation_json,
)

if TYPE_CHECKING:
    from dapdag.evaluate import Validation

MODEL = "model"


def validate(
    model: ModelFile,
    new: NewFiles,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the outcome; that of the training if none."),
    ] = None,
    domain: Domain = None,
    event: Event = None,
    threshold: Threshold = None,
    statistics: Statistics = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Validation",
            help="Calibration and decision curve (several sites: forest plot), PNG, SVG or PDF.",
        ),
    ] = None,
    curves: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Validation",
            help="Calibration and decision curves with their bands, as CSV or Parquet.",
        ),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Validate a model at new sites whose outcomes are known.

    External validation with 95 % confidence intervals: discrimination, calibration, overall error
    and net benefit. The outcomes are not used for the predictions, which are those of
    `dapdag predict`. Needs pip install "dapdag[clinical]".

    \b
    Examples:
      dapdag validate heart.dapdag new.csv --label died
      dapdag validate heart.dapdag new.csv --label died --plot curves.png
    """
    say_step = silently if quiet or as_json else tell
    from dapdag.io import check_output, read_new_rows, write_table

    inputs = [model, *new]
    for table in (statistics, curves):
        if table is not None:
            check_output(table, inputs=inputs)
    if plot is not None:
        check_output(plot, (".png", ".svg", ".pdf"), inputs)
    say_step("Loading")
    fitted = load_model(model)
    column = label_column(fitted, label)
    how = reading(separator, decimal, encoding, missing)
    rows = read_new_rows(fitted, new, domain=domain, keep=[column], reading=how)
    say_step(f"Predicting {len(rows):,} rows")
    from dapdag.evaluate import validate as validated

    y = outcomes(fitted, rows, column)
    found = validated(fitted, rows.X, y, rows.site, event=event, threshold=threshold, name=MODEL)
    if statistics is not None:
        write_table(found.table(), statistics)
    if curves is not None:
        write_table(curve_table(found), curves)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        print_json(validation_json(found, found.methods[0]))
        return
    show_sites(found, MODEL, f"{model.name} at {'the new site' if _one(found) else 'new sites'}")
    if quiet:
        return
    _explain(found)
    for path in (statistics, curves, plot):
        if path is not None:
            typer.echo(f"Wrote {path}")


def _one(found: Validation) -> bool:
    return len(found.targets) == 1


def _explain(found: Validation) -> None:
    from ._show import print_lines

    print_lines(*explain_sites(found, MODEL))
    if not _one(found):
        print_lines(heterogeneity_line(found, MODEL))
    if len(found.methods) > 1:
        print_lines(reference_line(found, MODEL, found.methods[0]))


def curve_table(found: Validation) -> Any:
    """Calibration and decision curves of every site that has them, one below the other."""
    import pandas as pd

    parts = []
    for target in found.targets:
        for name, curve in site_curves(found, target).items():
            parts.append(curve.assign(site=target, curve=name))
    if not parts:
        raise ValueError("no site has a curve: all outcomes, or all predictions, are equal")
    table = pd.concat(parts, ignore_index=True)
    first = ["site", "curve"]
    return table[[*first, *(c for c in table if c not in first)]]


def site_curves(found: Validation, target: Any) -> dict[str, Any]:
    """The curves that the outcomes of a site allow."""
    curves = {"calibration": found.calibration_curve}
    if found.event is not None:
        curves["decision"] = found.decision_curve
    made = {}
    for name, make in curves.items():
        try:
            made[name] = make(target, MODEL)
        except ValueError:
            continue
    return made


def _draw(found: Validation, path: Path) -> None:
    from matplotlib import pyplot as plt

    from dapdag._runtime.files import atomic_write
    from dapdag.plotting import plot_calibration_curve, plot_decision_curve, plot_forest

    figure: Any
    if not _one(found):
        figure = plot_forest(found, method=MODEL).figure
    else:
        made = site_curves(found, found.targets[0])
        if not made:
            raise ValueError(f"--plot {path}: all outcomes, or all predictions, are equal")
        figure, axes = plt.subplots(
            1, len(made), figsize=(5.2 * len(made), 4.8), layout="constrained", squeeze=False
        )
        draw = {"calibration": plot_calibration_curve, "decision": plot_decision_curve}
        for ax, name in zip(axes[0], made, strict=True):
            draw[name](found, found.targets[0], MODEL, ax=ax)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)
    plt.close(figure)
