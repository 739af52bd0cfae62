"""`dapdag evaluate`: every site predicted from the others, by several methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._shared import (
    Categorical,
    DataFiles,
    Decimal,
    Drop,
    Encoding,
    Json,
    Label,
    Missing,
    Quiet,
    Separator,
    SourceDomain,
    Task,
    print_json,
    reading,
    silently,
    tell,
    without_notes_on_absent_features,
)

if TYPE_CHECKING:
    from dapdag.evaluate import Evaluation

METHODS = "linear,boosting,mlp,dapdag-b"


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
    categorical: Categorical = None,
    drop: Drop = None,
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

    \b
    Examples:
      dapdag evaluate heart.csv --label died --domain hospital
      dapdag evaluate heart.csv --label died --domain hospital \\
        --methods linear,boosting,dapdag-b --replicates 3 -o scores.csv
    """
    silent = quiet or as_json
    say_step = silently if silent else tell
    from dapdag.io import check_output, prepare_study, read_tables, write_table
    from dapdag.io.sniffing import clean

    if output is not None:
        check_output(output, inputs=data)
    how = reading(separator, decimal, encoding, missing)
    study = prepare_study(
        read_tables(data, how, text=[clean(domain)] if domain else []),
        label=label,
        domain=domain,
        categorical=categorical or (),
        drop=drop or (),
        task=task,
    )
    labelled = study.labelled(data[0].stem)
    say_step("Loading")
    from dapdag.evaluate import leave_one_domain_out

    estimators = _estimators(methods, study.task, settings or [], seed)
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
    if output is not None:
        write_table(found.scores, output)
    if as_json:
        print_json(_summary(found, output))
        return
    _show(found, metric, in_full=not quiet)
    if output is not None and not quiet:
        typer.echo(f"Wrote {output}: {len(found.scores):,} scores")


def _estimators(methods: str, task: Any, settings: list[str], seed: int) -> dict[str, Any]:
    """Estimators by name, with the settings of those that have them."""
    from dapdag import DAPDAGRegressor
    from dapdag._runtime.text import suggestion
    from dapdag.baselines import registry

    from ._settings import parse_settings

    known = registry.available(task)
    names = known if methods.strip() == "all" else [m.strip() for m in methods.split(",")]
    for name in names:
        if name in known:
            continue
        if name in registry.METHODS:
            raise ValueError(
                f"--methods {name}: it does not suit {task}, or needs a package that is not "
                'installed: pip install "dapdag[bench]"'
            )
        raise ValueError(
            f"--methods {name}: there is no such method; " + suggestion(name, known, "methods are")
        )
    found = {name: registry.make(name, task, random_state=seed) for name in names}
    chosen = parse_settings(settings, DAPDAGRegressor)
    for key, value in chosen.items():
        having = [e for e in found.values() if key in e.get_params(deep=False)]
        if not having:
            raise ValueError(f"--set {key}: none of the methods {', '.join(names)} has it")
        for estimator in having:
            estimator.set_params(**{key: value})
    return found


def _show(found: Evaluation, metric: str | None, in_full: bool) -> None:
    from dapdag._runtime.text import fixed
    from dapdag.evaluate import METRICS, primary_metric

    from ._show import print_lines, print_table

    if metric is not None and metric not in set(found.scores["metric"]):
        from dapdag._runtime.text import suggestion

        known = sorted(set(found.scores["metric"]))
        raise ValueError(
            f"--metric {metric}: there is no such metric; "
            + suggestion(metric, known, "metrics are")
        )
    name = metric or primary_metric(found.task)
    table = found.by_target(name)
    rows = [[str(site), *(fixed(v, 3) for v in row)] for site, row in table.iterrows()]
    rows.append(["mean", *(fixed(v, 3) for v in table.mean())])
    goal, title = METRICS[name].goal, METRICS[name].title
    aim = f"best at {goal:g}" if abs(goal) < 2 else f"{'high' if goal > 0 else 'low'} is good"
    print_table(
        ["site", *map(str, table.columns)],
        rows,
        title=f"{title[:1].upper()}{title[1:]} at each site when it is left out ({aim})",
        numbers=range(1, table.shape[1] + 1),
        most=1000,
    )
    if not in_full:
        return
    summary = found.summary().drop(columns="failed")
    print_table(
        ["method", *map(str, summary.columns)],
        [[str(m), *(fixed(v, 3) for v in row)] for m, row in summary.iterrows()],
        title="Mean over sites",
        numbers=range(1, summary.shape[1] + 1),
    )
    ranks = ", ".join(f"{method} {rank:.2g}" for method, rank in found.ranks(name).items())
    print_lines(f"Mean rank by {name}: {ranks}")


def _summary(found: Evaluation, output: Path | None) -> dict[str, Any]:
    import json

    return {
        "task": found.task,
        "summary": json.loads(found.summary().reset_index().to_json(orient="records")),
        "scores": json.loads(found.scores.to_json(orient="records")),
        "output": None if output is None else str(output),
    }
