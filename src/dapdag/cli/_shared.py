"""What several commands share: options, and what goes to standard output and error."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from dapdag.io import Reading

WRONG_INPUT, INTERRUPTED = 2, 130

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show the results only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON, and nothing else.")]
_TEXT = "Reading text"
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR", rich_help_panel=_TEXT, help="What separates columns, if it is not found."
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="CHAR", rich_help_panel=_TEXT, help="Decimal mark, if it is not found."),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=_TEXT, help="Encoding, if it is not UTF-8."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT", rich_help_panel=_TEXT, help="What stands for a missing value, such as '?'."
    ),
]
# Every command that reads tables with labels.
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA", help="CSV, TSV or Parquet: one file, one per site, or a folder."
    ),
]
Label = Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")]
SourceDomain = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column that names each row's site; else its file's name does."
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns whose numbers are codes: a,b,c."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns to leave out: a,b,c or 'x_*'."),
]
Weight = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column that says how much each row counts, such as 2.5."),
]
Group = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of what rows belong to, such as a patient."),
]
Task = Annotated[
    Literal["auto", "regression", "classification"],
    typer.Option(metavar="TASK", help="auto, regression or classification."),
]
# Every command that reads new tables for a model.
Domain = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that names each row's site; else that of the training, or all rows are one.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model that `dapdag fit` wrote.")]
ModelOrSiteFile = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Model of `dapdag fit`, or site of `dapdag adapt`."),
]
NewFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="NEW", help="New rows: CSV, TSV or Parquet; one file, one per site, or a folder."
    ),
]
OptionalNewFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="NEW", help="Tables of new sites.", show_default=False),
]


def reading(
    separator: str | None, decimal: str | None, encoding: str | None, missing: list[str] | None
) -> Reading:
    from dapdag.io import Reading

    return Reading(separator, decimal, encoding, tuple(missing or ()))


def load_model(path: Path, sites: bool = False) -> Any:
    """A fitted estimator from its file, or with `sites` also a known site.

    A table in its place is told apart.
    """
    from dapdag.io.names import TABLE_SUFFIXES

    if path.suffix.lower() in TABLE_SUFFIXES and path.is_file():
        from dapdag.io.sniffing import kind_of

        if kind_of(path) != "model":
            raise ValueError(
                f"{path} is a table, and the model comes first: a file that `dapdag fit` wrote"
            )
    from dapdag import load

    model = load(path)
    if hasattr(model, "known_"):
        if not sites:
            raise ValueError(
                f"{path} is a site that `dapdag adapt` wrote, for `dapdag predict` alone: give the "
                "model that `dapdag fit` wrote"
            )
    elif not hasattr(model, "graph_"):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which has neither environments nor a graph: "
            "load it in Python"
        )
    return model


def make_folder(folder: Path) -> None:
    """Find out before the work, not after it, that there is no place for its results."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and the output needs a folder: name another one")
    folder.mkdir(parents=True, exist_ok=True)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def tell(step: str) -> None:
    """Say what goes on now."""
    say(f"{step} …")


def silently(step: str) -> None:
    """The `tell` of a quiet command."""


def say(text: str, kind: str = "") -> None:
    """One line on standard error; `kind` is the word before it, in colour on a terminal."""
    colour = {"error": typer.colors.RED, "warning": typer.colors.YELLOW}.get(kind)
    if kind:
        word = f"{kind}:" if os.environ.get("NO_COLOR") else typer.style(f"{kind}:", fg=colour)
        text = f"{word} {text}"
    typer.echo(text, err=True)


def reason(error: ValueError | OSError) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    else:
        text = str(error)
    return " ".join(text.split())


@contextlib.contextmanager
def without_notes_on_absent_features() -> Iterator[None]:
    """Where every site is left out in turn: what each lacks is known, and where it lies is told."""
    from dapdag.warnings import DataWarning, MissingFeatureWarning, OutsideWarning

    with warnings.catch_warnings():
        for category in (DataWarning, MissingFeatureWarning, OutsideWarning):
            warnings.simplefilter("ignore", category)
        yield


@contextlib.contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """SIGTERM, as batch queues send it, does what Ctrl-C does: work is kept, files are removed."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def forget_streams() -> None:
    """Remove the copies of what came through pipes."""
    streams = sys.modules.get("dapdag.io.streams")
    if streams is not None:
        streams.forget()


class Warner:
    """Shows every warning in one line, and once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(self, message: Warning | str, *where: Any, **more: Any) -> None:
        text = " ".join(str(message).split())
        if text not in self._shown:
            self._shown.add(text)
            say(text, "warning")
