"""`dapdag graph`: the learned graph as a table or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._shared import Json, ModelFile, Quiet, load_model, print_json


def graph(
    model: ModelFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Picture (svg, png, pdf), dot, graphml or json."
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show which column depends on which.

    `effect` is how far the child moves, in its standard deviations, for one of the parent's.
    Directions are hypotheses: from such data alone they cannot be certain.

    \b
    Examples:
      dapdag graph heart.dapdag
      dapdag graph heart.dapdag -o dag.svg
    """
    from dapdag.graph_files import GRAPH_FORMATS, strongest_first, to_json, write_graph
    from dapdag.io import check_output

    if output is not None:
        check_output(output, GRAPH_FORMATS)
    learned = load_model(model).graph_
    if output is not None:
        write_graph(learned, output)
    if as_json:
        print_json({**to_json(learned), "output": None if output is None else str(output)})
        return
    if output is not None:
        if not quiet:
            typer.echo(f"Wrote {output}: {learned.number_of_edges()} edges")
        return
    from dapdag._runtime.text import fixed

    from ._show import print_lines, print_table

    if not learned.edges:
        print_lines("The graph has no edge: no column moves another by enough to count.")
        return
    print_table(
        ["parent", "", "child", "effect", "weight"],
        [
            [str(a), "→", str(b), fixed(data.get("effect")), fixed(data.get("weight"))]
            for a, b, data in strongest_first(learned)
        ],
        numbers=[3, 4],
        most=1000,
    )
