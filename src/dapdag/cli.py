"""The command line. What a command needs is imported when it runs, so that help is instant."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import typer

# The first seed whose new site has an E beyond 1, yet inside the span of the other sites: a shift
# that matters and can be learned. It was chosen by the true E alone, before any training.
DEMO_SEED = 30

WRONG_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    name="dapdag",
    help="Learn from labelled tables of several sites, predict the label at a new site.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Options that several commands share.
QUIET = typer.Option(False, "--quiet", "-q", help="Show the results only.")
JSON = typer.Option(False, "--json", help="Print the results as JSON, and nothing else.")


def main() -> NoReturn:
    """Run the command line; what the user can mend becomes one line on standard error."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app()
        except SystemExit as end:
            if end.code == INTERRUPTED:
                _say("interrupted")
            raise
        except (ValueError, OSError) as error:
            _say(f"error: {_reason(error)}")
    sys.exit(WRONG_INPUT)


def _show_version(wanted: bool) -> None:
    if wanted:
        from dapdag import __version__

        typer.echo(f"dapdag {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    pass


@app.command()
def demo(
    output: Path = typer.Option("demo-output", "--output", "-o", help="Folder for the files."),
    seed: int = typer.Option(DEMO_SEED, help="Seed of the simulated sites and of the training."),
    classification: bool = typer.Option(
        False, "--classification", help="Predict a class instead of a number."
    ),
    rows: int = typer.Option(500, help="Rows of each site."),
    epochs: int = typer.Option(150, help="Longest training."),
    quiet: bool = QUIET,
    as_json: bool = JSON,
) -> None:
    """Train on nine simulated sites, predict a tenth, compare, and draw why."""
    _make_folder(output)
    silent = quiet or as_json
    # Importing JAX and scikit-learn takes seconds in which the user should know what goes on.
    tell = _silently if silent else _tell
    tell("Loading")
    from dapdag.demo import run_demo, show, summary, write_files

    found = run_demo(
        seed=seed,
        classification=classification,
        rows=rows,
        epochs=epochs,
        verbose=0 if silent else 1,
        on_step=tell,
    )
    files = write_files(found, output)
    if as_json:
        _print_json({**summary(found), "files": [str(path) for path in files]})
        return
    show(found, in_full=not quiet)
    if not quiet:
        typer.echo(f"\nWritten to {output}: {', '.join(path.name for path in files)}")
        typer.echo("This is one simulated case, not a benchmark: another --seed, other numbers.")


def _make_folder(folder: Path) -> None:
    """Find out before the work, not after it, that there is no place for its results."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and the output needs a folder: name another one")
    folder.mkdir(parents=True, exist_ok=True)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _tell(step: str) -> None:
    _say(f"{step} …")


def _silently(step: str) -> None:
    pass


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _reason(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    else:
        text = str(error)
    return " ".join(text.split())


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    _say(f"warning: {' '.join(str(message).split())}")
