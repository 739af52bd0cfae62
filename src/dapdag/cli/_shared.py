"""What several commands share: options, and what goes to standard output and error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

WRONG_INPUT, INTERRUPTED = 2, 130

QUIET = typer.Option(False, "--quiet", "-q", help="Show the results only.")
JSON = typer.Option(False, "--json", help="Print the results as JSON, and nothing else.")


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


def say(text: str) -> None:
    typer.echo(text, err=True)


def reason(error: ValueError | OSError) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    else:
        text = str(error)
    return " ".join(text.split())


def show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    say(f"warning: {' '.join(str(message).split())}")
