"""`dapdag adapt`: a model and the rows of one site to a file for that site."""

from __future__ import annotations

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
    ignore_labels: Annotated[
        bool, typer.Option("--ignore-labels", help="Do not look at the column of the label.")
    ] = False,
    summary: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Summary of the whole site, of which NEW are the rows that are here; again for "
            "each part of it.",
        ),
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
    in SITE, which `dapdag predict` takes in place of a model. Labels that NEW has, in some rows or
    in all, are learned from. If MODEL is such a file already, the rows are added to it.

    NEW may also be summaries of the site's parts (see `dapdag summarise`), whose rows stay where
    they are.

    \b
    Examples:
      dapdag adapt heart.dapdag leeds.csv -o leeds.dapdag
      dapdag predict leeds.dapdag patient.csv
      dapdag adapt leeds.dapdag today.csv -o leeds.dapdag
      dapdag adapt heart.dapdag ward1.summary ward2.summary -o leeds.dapdag
    """
    silent = quiet or as_json
    say_step = silently if silent else tell
    from dapdag.io import check_output, read_new_rows
    from dapdag.io.names import TABLE_SUFFIXES
    from dapdag.io.new_rows import known_labels

    check_output(output, (), [*new])
    if output.suffix.lower() in TABLE_SUFFIXES:
        raise ValueError(f"-o {output}: a site is no table, name it for example leeds.dapdag")
    say_step("Loading")
    fitted = load_model(model, sites=True)
    whole = summaries_in(fitted, model, new, summary)
    if whole is not None and not summary:
        known = _from_summaries(fitted, whole, say_step)
        _finish(known, site, output, quiet, as_json)
        return
    how = reading(separator, decimal, encoding, missing)
    rows = read_new_rows(fitted, new, domain=domain, reading=how)
    label = str(fitted.fitted_.model.table.label.name)
    if label in rows.unused and not ignore_labels:
        rows = read_new_rows(fitted, new, domain=domain, keep=[label], reading=how)
    y = known_labels(fitted, rows.rows)
    chosen = of_one_site(rows, site)
    X, y = rows.X[chosen], None if y is None else y.to_numpy()[chosen]
    say_step(f"Adapting to {len(X):,} rows")
    if whole is not None:
        from dapdag.distributed import adapt as adapt_to

        known = adapt_to(fitted, whole, X)
    else:
        known = fitted.update(X, y) if hasattr(fitted, "known_") else fitted.at(X, y)
    _finish(known, site, output, quiet, as_json)


def _from_summaries(model: Any, whole: Any, say_step: Any) -> Any:
    from dapdag.distributed import adapt as adapt_to

    say_step(f"Adapting to a summary of {whole.n_rows:,} rows")
    return adapt_to(model, whole)


def _finish(known: Any, site: str | None, output: Path, quiet: bool, as_json: bool) -> None:
    """Save the site and say what it is like."""
    environment = known.environment_.rename(index={"new": site or "new"})
    known.save(output)
    if as_json:
        print_json(_summary(known, environment, output))
    elif not quiet:
        show_environments(known.estimator, environment)
        _show_mechanisms(known)
        _show_scores(known)
        labels = f", {known.n_labels_:,} with a label" if known.n_labels_ else ""
        typer.echo(f"Wrote {output}: a site of {known.n_rows_:,} rows{labels}. Next:")
        typer.echo(f"  dapdag predict {output} ROWS.csv")


def summaries_in(
    fitted: Any, model: Path, new: list[Path], summary: list[Path] | None = None
) -> Any:
    """The sum of the summaries among the inputs, or None if they are tables.

    Summaries and tables side by side are refused: tables go with `--summary`.
    """
    if not summary and not any(path.is_file() for path in new):
        return None
    from dapdag.distributed import is_summary, read_summary

    found = [path for path in new if is_summary(path)]
    if found and (summary or len(found) < len(new)):
        raise ValueError(
            f"{found[0]} is a summary, and beside it stand others: give tables as NEW, and every "
            "summary of the whole site by --summary"
        )
    given = summary or found
    if not given:
        return None
    if hasattr(fitted, "known_"):
        raise ValueError(f"{model} is a site already: summaries go with the model of `dapdag fit`")
    return sum(read_summary(path) for path in given)


def of_one_site(rows: NewRows, site: str | None) -> Any:
    """Which rows are of the site that is named; all if none is, and they are of one."""
    every = [True] * len(rows.X)
    if rows.site is None:
        if site is not None:
            raise ValueError(f"--site {site}: give --domain, the column that names sites")
        return every
    names = list(dict.fromkeys(rows.site))
    if site is None and len(names) == 1:
        return every
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
    return rows.site == site


def _records(table: Any) -> list[dict[str, Any]]:
    """A table with its index as plain values; what is not known is null."""
    import json

    return list(json.loads(table.reset_index().to_json(orient="records")))


def _has_rows(known: Any) -> bool:
    """Whether rows of the site are here that scores can be expected of."""
    return len(known.known_.evidence.kept.key) > 1


def _summary(known: Any, environment: Any, output: Path) -> dict[str, Any]:
    return {
        "rows": known.n_rows_,
        "labels": known.n_labels_,
        "environment": environment_records(environment)[0],
        "expert_weights": {k: float(v) for k, v in known.expert_weights_.items()},
        "mechanisms": _records(known.mechanisms_),
        "expected_score": _records(known.expected_score()) if _has_rows(known) else [],
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


def _show_scores(known: Any) -> None:
    if not _has_rows(known):
        return
    from dapdag._runtime.text import score

    from ._show import print_table

    found = known.expected_score().dropna()
    rows = [
        [str(name).replace("_", " "), score(row["expected"]), score(row["low"]), score(row["high"])]
        for name, row in found.iterrows()
    ]
    headers = ["score", "expected", "90 % from", "to"]
    print_table(headers, rows, title="Expected performance at this site", numbers=[1, 2, 3])
