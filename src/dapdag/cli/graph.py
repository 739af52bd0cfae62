"""`dapdag graph`: the graph of a model, or that of a table, as a listing or a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._shared import (
    Categorical,
    Decimal,
    Drop,
    Encoding,
    Json,
    Missing,
    Quiet,
    Separator,
    SourceDomain,
    load_model,
    print_json,
    reading,
    say,
    tell,
)

if TYPE_CHECKING:
    import networkx as nx

    from dapdag import GraphSearch
    from dapdag.io import Rows

_KNOWN = "What is known beforehand (for a table)"
SHIFTS_FROM = 0.5  # probability from which a mechanism is shown as shifted
KINDS = ("level", "slopes", "shape", "noise")


def graph(
    source: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL|DATA",
            help="A model, or tables: CSV, TSV or Parquet; one file, one per site, or a folder.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Picture (svg, png, pdf), dot, graphml or json."
        ),
    ] = None,
    domain: SourceDomain = None,
    drop: Drop = None,
    categorical: Categorical = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="'A>B'", rich_help_panel=_KNOWN, help="Edges that cannot be."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="'A>B'", rich_help_panel=_KNOWN, help="Edges that must be."),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            rich_help_panel=_KNOWN,
            help="Columns that no later tier causes: a,b or 'lab_*'; once per tier, causes first.",
        ),
    ] = None,
    max_parents: Annotated[
        int, typer.Option(metavar="N", min=1, rich_help_panel=_KNOWN, help="Most parents.")
    ] = 6,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the search.")] = 0,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing: Missing = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the graph of a model, or find that of a table.

    Of a table the graph is searched: the DAG that explains all sites best, with the probability
    of each edge, and the columns whose mechanism differs between sites.
    Directions are hypotheses: from such data alone they cannot be certain.

    \b
    Examples:
      dapdag graph heart.dapdag -o dag.svg
      dapdag graph patients.csv --domain hospital -o dag.png
      dapdag graph data.csv --domain site --tier age,sex --forbid 'x>y'
    """
    from dapdag.graph_files import GRAPH_FORMATS, to_json, write_graph
    from dapdag.io import check_output

    if output is not None:
        check_output(output, GRAPH_FORMATS, source)
    found = None
    if _is_model(source):
        _refuse_options_of_tables(domain, drop, categorical, forbid, require, tier)
        learned = load_model(source[0]).graph_
    else:
        how = reading(separator, decimal, encoding, missing)
        options = {
            "max_parents": max_parents,
            "forbidden_edges": _edges(forbid, "--forbid"),
            "required_edges": _edges(require, "--require"),
            "tiers": None if tier is None else [_names(one) for one in tier],
            "random_state": seed,
            "n_jobs": -1,
            "verbose": int(not (quiet or as_json)),
        }
        found = _search(source, how, domain, drop or (), categorical or (), options, quiet)
        learned = _marked(found)
    if output is not None:
        write_graph(learned, output)
    if as_json:
        shifts = {} if found is None else {"mechanism_shift": _shift_records(found)}
        written = None if output is None else str(output)
        print_json({**to_json(learned), **shifts, "output": written})
        return
    if output is None or (found is not None and not quiet):
        _show(learned, found)
    if output is not None and not quiet:
        typer.echo(f"Wrote {output}: {learned.number_of_edges()} edges")


def _is_model(source: Sequence[Path]) -> bool:
    from dapdag.io.names import TABLE_SUFFIXES
    from dapdag.io.sniffing import kind_of

    first = source[0]
    if len(source) > 1 or first.is_dir():
        return False
    if not first.exists():
        return first.suffix.lower() not in TABLE_SUFFIXES
    return kind_of(first) == "model"


def _refuse_options_of_tables(*given: Any) -> None:
    names = ("--domain", "--drop", "--categorical", "--forbid", "--require", "--tier")
    for name, value in zip(names, given, strict=True):
        if value:
            raise ValueError(f"{name} is for a table: the graph of a model is as it was fitted")


def _edges(given: list[str] | None, option: str) -> list[tuple[str, str]] | None:
    """`A>B` → (A, B)."""
    if given is None:
        return None
    found = []
    for text in given:
        cause, arrow, effect = text.partition(">")
        if not arrow or not cause.strip() or not effect.strip():
            raise ValueError(f"{option} {text}: write CAUSE>EFFECT, in quotes, such as 'age>sbp'")
        found.append((cause.strip(), effect.strip()))
    return found


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _search(
    source: Sequence[Path],
    how: Any,
    domain: str | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    options: dict[str, Any],
    quiet: bool,
) -> GraphSearch:
    from dapdag import GraphSearch
    from dapdag.io.reading import read_tables, table_files

    files = [file for path in source for file in table_files(path)]
    rows = read_tables(files, how)
    X, site = _columns(rows, domain, drop, categorical)
    if site is None:
        say("note: all rows count as one site; if a column names sites, give --domain")
    if options["verbose"]:
        tell(f"Searching the graph of {X.shape[1]} columns, {len(X):,} rows")
    return GraphSearch(**options).fit(X, sample_domain=site)


def _columns(
    rows: Rows, domain: str | None, drop: Sequence[str], categorical: Sequence[str]
) -> tuple[Any, Any]:
    """The columns of the graph, and each row's site if there are several."""
    from dapdag._runtime.text import expand
    from dapdag.io.columns import clean_features
    from dapdag.io.roles import require_column
    from dapdag.io.study import site_labels

    names = [str(name) for name in rows.frame]
    if domain is not None:
        require_column(rows, domain, "--domain")
    left_out = {domain, *expand(drop, names, "--drop", rows.name)}
    codes = expand(categorical, names, "--categorical", rows.name)
    X = clean_features(rows, [name for name in names if name not in left_out], codes)
    several = domain is not None or len(rows.files) > 1
    return X, site_labels(rows, domain) if several else None


def _marked(found: GraphSearch) -> nx.DiGraph:
    """The graph with the variables marked whose mechanism probably shifts."""
    graph = found.graph_.copy()
    graph.graph["rings"] = "mechanism differs between sites"
    for name, row in found.mechanism_shift_.iterrows():
        graph.nodes[name].pop("environment", None)
        graph.nodes[name]["perturbed"] = bool(row["probability"] >= SHIFTS_FROM)
    return graph


def _shift_records(found: GraphSearch) -> list[dict[str, Any]]:
    frame = found.mechanism_shift_
    return [
        {"column": str(name), **{str(k): _finite(v) for k, v in row.items()}}
        for name, row in frame.iterrows()
    ]


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return float(value) if math.isfinite(value) else None


def _show(learned: nx.DiGraph, found: GraphSearch | None) -> None:
    from dapdag._runtime.text import fixed
    from dapdag.graph_files import strongest_first

    from ._show import print_lines, print_table

    if not learned.edges:
        print_lines("The graph has no edge: no column moves another by enough to count.")
    else:
        strength = "effect" if found is None else "probability"
        print_table(
            ["parent", "", "child", strength, "weight"],
            [
                [str(a), "→", str(b), fixed(data.get(strength)), fixed(data.get("weight"))]
                for a, b, data in strongest_first(learned)
            ],
            numbers=[3, 4],
            most=1000,
        )
    if found is None:
        return
    frame = found.mechanism_shift_
    print_table(
        ["column", "shifts between sites", *KINDS],
        [
            [str(name), fixed(row["probability"]), *(fixed(row[kind]) for kind in KINDS)]
            for name, row in frame.sort_values("probability", ascending=False).iterrows()
        ],
        numbers=range(1, 2 + len(KINDS)),
        title="Mechanisms: probability that they differ between sites",
        most=1000,
    )
