"""A progress bar for the host loop of training, drawn on terminals only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, SupportsFloat

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Reporter(Protocol):
    """What the loop sees of a progress bar."""

    def update(self, done: int, **values: SupportsFloat) -> None:
        """Say that ``done`` units of the total are done, and what the named values are now."""


class _Silent:
    def update(self, done: int, **values: SupportsFloat) -> None:
        pass


class _Bar:
    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task

    def update(self, done: int, **values: SupportsFloat) -> None:
        shown = "  ".join(f"{name} {float(value):.4g}" for name, value in values.items())
        self._bar.update(self._task, completed=done, values=shown)


@contextlib.contextmanager
def progress(total: int, description: str, verbose: int = 1) -> Iterator[Reporter]:
    """Show a bar on standard error with the count, the values of ``update`` and the time left.

    Nothing is shown, and rich is not imported, when ``verbose`` is 0 or standard error is not a
    terminal: a log file is not the place for a bar.
    """
    if verbose < 1 or sys.stderr is None or not sys.stderr.isatty():
        yield _Silent()
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[values]}", markup=False),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(bar, bar.add_task(description, total=total, values=""))
