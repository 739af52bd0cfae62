"""`dapdag demo`: the method on simulated sites, with everything known."""

from __future__ import annotations

from pathlib import Path

import typer

from ._shared import Json, Quiet, make_folder, print_json, silently, tell

# The first seed whose new site has an E beyond 1, yet inside the span of the other sites: a shift
# that matters and can be learned. It was chosen by the true E alone, before any training.
DEMO_SEED = 30


def demo(
    output: Path = typer.Option(
        "demo-output", "--output", "-o", metavar="FOLDER", help="Folder for the files."
    ),
    seed: int = typer.Option(
        DEMO_SEED, metavar="N", help="Seed of the simulated sites and of the training."
    ),
    classification: bool = typer.Option(
        False, "--classification", help="Predict a class instead of a number."
    ),
    rows: int = typer.Option(500, metavar="N", help="Rows of each site."),
    epochs: int = typer.Option(150, metavar="N", help="Longest training."),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train on nine simulated sites, predict a tenth, and compare.

    Nine sites with labels, a tenth without; everything is known, so that the predictions, the
    environments and the graph can be compared with the truth, in tables and pictures.

    \b
    Examples:
      dapdag demo
      dapdag demo --classification -o pictures
    """
    make_folder(output)
    silent = quiet or as_json
    # Importing JAX and scikit-learn takes seconds in which the user should know what goes on.
    say_step = silently if silent else tell
    say_step("Loading")
    from dapdag.demo import run_demo, show, summary, write_files

    found = run_demo(
        seed=seed,
        classification=classification,
        rows=rows,
        epochs=epochs,
        verbose=0 if silent else 1,
        on_step=say_step,
    )
    files = write_files(found, output)
    if as_json:
        print_json({**summary(found), "files": [str(path) for path in files]})
        return
    show(found, in_full=not quiet)
    if not quiet:
        typer.echo(f"\nWritten to {output}: {', '.join(path.name for path in files)}")
        typer.echo("This is one simulated case, not a benchmark: another --seed, other numbers.")
