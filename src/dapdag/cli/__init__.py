"""The command line: one module per command, each with the function of that name.

What a command needs is imported when it runs, so that help is instant.
"""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn

import typer

from . import demo
from ._shared import INTERRUPTED, WRONG_INPUT, reason, say, show_warning

__all__ = ["app", "main"]

app = typer.Typer(
    name="dapdag",
    help="Learn from labelled tables of several sites, predict the label at a new site.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> NoReturn:
    """Run the command line; what the user can mend becomes one line on standard error."""
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        try:
            app()
        except SystemExit as end:
            if end.code == INTERRUPTED:
                say("interrupted")
            raise
        except (ValueError, OSError) as error:
            say(f"error: {reason(error)}")
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


# In the order of the help; a new command is a module beside this one and a line here.
app.command()(demo.demo)
