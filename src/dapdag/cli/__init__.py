"""The command line: one module per command, each with the function of that name.

What a command needs is imported when it runs, so that help is instant.
"""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn

import typer

from . import (
    adapt,
    demo,
    doctor,
    environments,
    evaluate,
    fit,
    graph,
    impute,
    inspect,
    predict,
    report,
    reproduce,
    summarise,
    track,
    validate,
)
from ._help import Command, Commands
from ._shared import (
    INTERRUPTED,
    WRONG_INPUT,
    Warner,
    ending_on_sigterm,
    forget_streams,
    reason,
    say,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="dapdag",
    cls=Commands,
    add_completion=False,
    # Plain help: it shows at once, and fits a terminal of any width.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> NoReturn:
    """Run the command line; what the user can mend becomes one line on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = Warner()
        try:
            with ending_on_sigterm():
                code = app(standalone_mode=False)
        except (ValueError, OSError) as error:
            say(reason(error), "error")
            code = WRONG_INPUT
        except Exception as error:
            # Wrong options and arguments; their class is in a private module of typer.
            if not hasattr(error, "format_message"):
                raise
            say(" ".join(error.format_message().split()), "error")
            code = WRONG_INPUT
        finally:
            forget_streams()
    if code == INTERRUPTED:
        say("interrupted")
    sys.exit(code or 0)


def _show_version(wanted: bool) -> None:
    if wanted:
        from dapdag import __version__

        typer.echo(f"dapdag {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Learn from labelled tables of several sites, predict the label at a new site.

    \b
      dapdag fit heart.csv --label died --domain hospital -o heart.dapdag
      dapdag predict heart.dapdag new.csv -o predictions.csv
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


# A new command is a module beside this one and a line here, in the order of the help.
for panel, command in (
    ("Learn and predict", fit.fit),
    ("Learn and predict", predict.predict),
    ("Learn and predict", adapt.adapt),
    ("Learn and predict", summarise.summarise),
    ("Learn and predict", evaluate.evaluate),
    ("Learn and predict", validate.validate),
    ("Learn and predict", impute.impute),
    ("Look into a model", inspect.inspect),
    ("Look into a model", graph.graph),
    ("Look into a model", environments.environments),
    ("Look into a model", track.track),
    ("Look into a model", report.report),
    ("Try and check", demo.demo),
    ("Try and check", doctor.doctor),
    ("Try and check", reproduce.reproduce),
):
    app.command(cls=Command, rich_help_panel=panel)(command)
