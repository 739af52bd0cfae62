"""`dapdag fit`: from tables to a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dapdag._runtime.text import significant

from ._assessment import assess_model, assessment_json, show_assessment
from ._estimate import show_cost, warn_of_memory
from ._keep import save_interrupted, save_model
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
    say,
    silently,
    tell,
)
from ._tune import tuned

if TYPE_CHECKING:
    from dapdag.io import Study


def fit(
    data: DataFiles,
    label: Label,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="File to write.")
    ] = None,
    domain: SourceDomain = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE", help="Site to be predicted: its labels are not used."),
    ] = None,
    unlabelled: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Rows of the site to be predicted, in their own file."),
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    weight: Weight = None,
    group: Group = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Column that names rows: not learned from, but copied."
        ),
    ] = None,
    task: Task = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as max_epochs=300."),
    ] = None,
    assess: Annotated[
        bool,
        typer.Option("--assess", help="Also predict each site from the others, for the report."),
    ] = False,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Try a few settings first, by sites that are left out."),
    ] = False,
    tune_minutes: Annotated[
        float, typer.Option(metavar="N", help="After so many no further setting is tried.")
    ] = 60.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what was read, and stop.")
    ] = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a model from labelled tables of several sites.

    Every column but the label and the site is learned from. Missing cells are empty.

    \b
    Examples:
      dapdag fit heart.csv --label died --domain hospital -o heart.dapdag
      dapdag fit studies/ --label died --drop 'id,visit_*' -o heart.dapdag
      dapdag fit heart.csv --label died --domain hospital --target leeds \\
        --categorical cp,thal --set max_epochs=300 -o heart.dapdag
    """
    silent = quiet or as_json
    say_step = silently if silent else tell
    from dapdag._runtime.text import expand
    from dapdag.io import prepare_study, read_tables
    from dapdag.io.sniffing import clean

    if output is not None:
        _check_output(output, [*data, *(unlabelled or ())])
    elif not dry_run:
        raise ValueError("give -o MODEL, the file to write; only --dry-run does without")
    if target and unlabelled:
        raise ValueError("give --target or --unlabelled, not both")
    warn_of_memory([*data, *(unlabelled or ())])
    how = reading(separator, decimal, encoding, missing)
    text = [clean(name) for name in (domain, group) if name]
    rows = read_tables(data, how, text=text)
    columns = [str(name) for name in rows.frame]
    study = prepare_study(
        rows,
        label=label,
        domain=domain,
        targets=target or (),
        unlabelled=read_tables(unlabelled, how, text=text) if unlabelled else None,
        categorical=categorical or (),
        drop=drop or (),
        ids=ids or (),
        weight=weight,
        group=group,
        task=task,
    )
    if not silent:
        from ._study import show_study

        show_study(study, [str(path) for path in data])
    if dry_run and not settings:
        if as_json:
            print_json(_schema(study))
        elif not silent:
            show_cost(study)
        return
    say_step("Loading JAX")
    model = _estimator(study, settings or [], verbose=0 if silent else 1)
    if dry_run or output is None:
        if as_json:
            print_json(_schema(study))
        elif not silent:
            show_cost(study, model)
        return
    search: dict[str, Any] = {}
    if tune:
        say_step("Trying settings on sites that are left out")
        model, search = tuned(model, study, tune_minutes, silent)
    if not silent:
        show_cost(study, model, fits=1 + assess * len(study.sources))
    say_step(f"Training on {len(study.sources)} sites")
    started = time.perf_counter()
    told = {
        "missing": list(how.missing),
        "decimal": how.decimal,
        "domain": None if domain is None else clean(domain),
        "weight": None if weight is None else clean(weight),
        "group": None if group is None else clean(group),
        "ids": expand(ids or (), columns, "--id", str(data[0])),
        "dropped": expand(drop or (), columns, "--drop", str(data[0])),
    }
    try:
        _train(model, study)
    except KeyboardInterrupt:
        model.set_params(verbose=0).reading_ = told
        save_interrupted(model, output)
        raise
    model.set_params(verbose=0).reading_ = told
    seconds = time.perf_counter() - started
    save_model(model, output)
    if assess:
        say_step("Predicting each site from the others")
        try:
            model.assessment_ = assess_model(model, study, silent)
        except KeyboardInterrupt:
            say(f"the model is in {output}, without its assessment, which was interrupted")
            raise
        save_model(model, output)
    if as_json:
        about = {**_training(model, seconds), **search, **assessment_json(model)}
        print_json({**_schema(study), **about, "model": str(output)})
    elif not quiet:
        _show_training(model, seconds)
        show_assessment(model)
        typer.echo(f"\nWrote {output}. Next:")
        typer.echo(f"  dapdag predict {output} NEW.csv")
        typer.echo(f"  dapdag report {output} -o report.html")


def _check_output(output: Path, inputs: list[Path]) -> None:
    """Find out before the work that the model has a place, and one where no table is lost."""
    from dapdag.io import check_output
    from dapdag.io.names import TABLE_SUFFIXES

    check_output(output, (), inputs)
    if output.suffix.lower() in TABLE_SUFFIXES:
        raise ValueError(f"-o {output}: the model is no table, name it for example model.dapdag")


def _estimator(study: Study, settings: list[str], verbose: int) -> Any:
    from dapdag import DAPDAGClassifier, DAPDAGRegressor

    from ._settings import parse_settings

    chosen: type = DAPDAGRegressor if study.task == "regression" else DAPDAGClassifier
    model = chosen(**parse_settings(settings, chosen), verbose=verbose)
    model._settings()  # complains of values that are not allowed
    return model


def _train(model: Any, study: Study) -> None:
    """What the columns may give away was told when the study was prepared."""
    import warnings

    from dapdag._sklearn.network import fit_or_interrupt
    from dapdag.warnings import DataWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fit_or_interrupt(model, study.X, study.y, study.sample_domain, **study.about_rows)


def _schema(study: Study) -> dict[str, Any]:
    from dataclasses import asdict

    from dapdag.io.schema import describe_columns, describe_sites

    return {
        "task": study.task,
        "label": str(study.y.name),
        "rows": len(study.X),
        "columns": [asdict(column) for column in describe_columns(study)],
        "sites": [asdict(site) for site in describe_sites(study)],
    }


def _training(model: Any, seconds: float) -> dict[str, Any]:
    from dapdag._sklearn.shares import prediction_parts

    loss = float(model.history_["validation"].min())
    return {
        "epochs": int(model.n_epochs_),
        "seconds": round(seconds, 2),
        "validation_loss": loss if loss == loss else None,
        "edges": model.graph_.number_of_edges(),
        "parents_of_label": _parents(model),
        **prediction_parts(model),
    }


def _parents(model: Any) -> list[str]:
    label = model.fitted_.model.table.label.name
    return [str(name) for name in model.graph_.predecessors(label)]


def _show_training(model: Any, seconds: float) -> None:
    from dapdag._sklearn.shares import between_sites_in_words, parts_in_words

    from ._show import print_lines

    found = _training(model, seconds)
    loss, label = found["validation_loss"], model.fitted_.model.table.label.name
    parents = ", ".join(found["parents_of_label"][:8]) or "none"
    print_lines(
        f"Trained {found['epochs']} epochs in {seconds:.0f} s"
        + ("" if loss is None else f", validation loss {significant(loss)}."),
        f"Graph of {found['edges']} edges; parents of {label}: {parents}.",
        parts_in_words(model),
        between_sites_in_words(model),
    )
