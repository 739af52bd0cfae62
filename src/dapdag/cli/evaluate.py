"""`dapdag evaluate`: every site predicted from the others, by several methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._evaluation import draw_forest, explain_methods, show_scores, show_validation, summary_json
from ._shared import (
    Categorical,
    DataFiles,
    Decimal,
    Drop,
    Encoding,
    Group,
    Json,
    Label,
    Missing,
    Quiet,
    Separator,
    SourceDomain,
    Task,
    Weight,
    print_json,
    reading,
    silently,
    tell,
    without_notes_on_absent_features,
)
from ._validation import Event, Statistics, Threshold

if TYPE_CHECKING:
    from dapdag.evaluate import Evaluation, Validation

REFERENCE = "linear"
METHODS = "prevalence,linear,boosting,mlp,dapdag-b"


def evaluate(
    data: DataFiles,
    label: Label,
    domain: SourceDomain = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Methods to compare; `all` takes all there are.")
    ] = METHODS,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE", help="Site to leave out; each in turn by default."),
    ] = None,
    replicates: Annotated[
        int, typer.Option(metavar="N", help="Runs of every method and site, with other seeds.")
    ] = 1,
    jobs: Annotated[int, typer.Option(metavar="N", help="Runs at a time.")] = 1,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Metric of the table: r2, rmse, log_loss, auc, …"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="All scores, as CSV or Parquet."),
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            rich_help_panel="Validation",
            help="What the others are compared with.",
        ),
    ] = REFERENCE,
    event: Event = None,
    threshold: Threshold = None,
    statistics: Statistics = None,
    forest: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel="Validation", help="Forest plot: PNG, SVG or PDF."
        ),
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    weight: Weight = None,
    group: Group = None,
    task: Task = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of all methods that have it."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the first replicate.")] = 0,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare methods: every site predicted from the others.

    Internal-external validation: per site and pooled over sites, with 95 % confidence intervals
    and the prediction interval for the next site. Needs pip install "dapdag[clinical]"; without it
    only scores are shown.

    \b
    Examples:
      dapdag evaluate heart.csv --label died --domain hospital
      dapdag evaluate heart.csv --label died --domain hospital \\
        --statistics sites.csv --forest forest.png
      dapdag evaluate heart.csv --label died --domain hospital \\
        --methods linear,boosting,dapdag-b --replicates 3 -o scores.csv
    """
    silent = quiet or as_json
    say_step = silently if silent else tell
    from dapdag.io import check_output, prepare_study, read_tables, write_table
    from dapdag.io.sniffing import clean

    for table in (output, statistics):
        if table is not None:
            check_output(table, inputs=data)
    if forest is not None:
        check_output(forest, (".png", ".svg", ".pdf"), data)
    how = reading(separator, decimal, encoding, missing)
    study = prepare_study(
        read_tables(data, how, text=[clean(name) for name in (domain, group) if name]),
        label=label,
        domain=domain,
        categorical=categorical or (),
        drop=drop or (),
        weight=weight,
        group=group,
        task=task,
    )
    labelled = study.labelled(data[0].stem)
    say_step("Loading")
    from dapdag.evaluate import leave_one_domain_out

    estimators = _estimators(methods, study.task, settings or [], seed)
    _check_choices(labelled, list(estimators), metric, reference, event, threshold)
    say_step(f"Leaving out {len(target or labelled.domains)} sites, {len(estimators)} methods")
    with without_notes_on_absent_features():
        found = leave_one_domain_out(
            estimators,
            labelled,
            targets=target or None,
            n_replicates=replicates,
            random_state=seed,
            n_jobs=jobs,
            progress=not silent,
        )
    validation, why = _validation(found, event, threshold, bool(statistics or forest))
    there = found.methods if validation is None else validation.methods
    chosen = reference if reference in there else there[0]
    if output is not None:
        write_table(found.scores, output)
    if validation is not None and statistics is not None:
        write_table(validation.table(), statistics)
    if validation is not None and forest is not None:
        draw_forest(validation, forest, chosen)
    if as_json:
        print_json(summary_json(found, output, validation, chosen))
        return
    show_scores(found, metric, in_full=not quiet)
    if quiet:
        return
    show_validation(validation, why, chosen, replicates)
    explain_methods(found)
    for path, what in ((output, f"{len(found.scores):,} scores"), (statistics, "statistics")):
        if path is not None:
            typer.echo(f"Wrote {path}: {what}")
    if forest is not None:
        typer.echo(f"Wrote {forest}")


def _check_choices(
    data: Any,
    methods: list[str],
    metric: str | None,
    reference: str,
    event: str | None,
    threshold: float | None,
) -> None:
    """What can be wrong in the options of the tables is said before the work."""
    from dapdag._runtime.text import level, suggestion
    from dapdag.evaluate.clinical.extra import clinical
    from dapdag.evaluate.clinical.outcomes import chosen_event
    from dapdag.evaluate.metrics import metrics_of
    from dapdag.evaluate.prediction import class_labels

    known = metrics_of(data.task)
    if metric is not None and metric not in known:
        raise ValueError(
            f"--metric {metric}: there is no such metric; "
            + suggestion(metric, known, "metrics are")
        )
    if reference not in (REFERENCE, *methods):
        raise ValueError(
            f"--reference {reference}: it is none of the methods compared; "
            + suggestion(reference, methods, "they are")
        )
    if threshold is not None and not 0 < threshold < 1:
        raise ValueError(f"--threshold {threshold}: it must lie between 0 and 1")
    if event is not None:
        clinical("statsmodels.api")
        if data.task != "classification":
            raise ValueError(f"--event {event}: the label is a number, which has no events")
        chosen_event([level(c) for c in class_labels(data.y)], event)


def _validation(
    found: Evaluation, event: str | None, threshold: float | None, wanted: bool
) -> tuple[Validation | None, str]:
    """Statistics with intervals, or why there are none; an error where they were asked for."""
    try:
        return found.validation(event=event, threshold=threshold), ""
    except ValueError as error:
        if wanted or event is not None or threshold is not None:
            raise
        return None, str(error)


def _estimators(methods: str, task: Any, settings: list[str], seed: int) -> dict[str, Any]:
    """Estimators by name, with the settings of those that have them."""
    from dapdag import DAPDAGRegressor
    from dapdag._runtime.text import suggestion
    from dapdag.baselines import registry
    from dapdag.evaluate.references import CONSTANT, reference_models

    from ._settings import parse_settings

    references = reference_models(task, seed)
    constant = CONSTANT[task]
    known = [constant, *registry.available(task)]
    names = known if methods.strip() == "all" else [m.strip() for m in methods.split(",")]
    names = [constant if name in CONSTANT.values() else name for name in names]
    for name in names:
        if name in known:
            continue
        if name in registry.METHODS:
            raise ValueError(f"--methods {name}: {registry.METHODS[name].lacks(task)}")
        raise ValueError(
            f"--methods {name}: there is no such method; " + suggestion(name, known, "methods are")
        )
    found = {
        name: references[name] if name == constant else registry.make(name, task, random_state=seed)
        for name in names
    }
    chosen = parse_settings(settings, DAPDAGRegressor)
    for key, value in chosen.items():
        having = [e for e in found.values() if key in e.get_params(deep=False)]
        if not having:
            raise ValueError(f"--set {key}: none of the methods {', '.join(names)} has it")
        for estimator in having:
            estimator.set_params(**{key: value})
    return found
