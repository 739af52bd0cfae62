"""Progress of long work: a bar on a terminal, a line now and then in a log file."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, SupportsFloat

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Off a terminal the first line appears after two seconds, the next ones after twice as long each
# time, and then at this distance.
FIRST_LINE, SECONDS_BETWEEN_LINES = 2.0, 15.0


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


class _Lines:
    """What a log file gets: one line after so many seconds."""

    def __init__(self, total: int, description: str) -> None:
        self._total, self._description = total, description
        self._begun = self._told = time.monotonic()

    def update(self, done: int, **values: SupportsFloat) -> None:
        now = time.monotonic()
        gap = min(max(self._told - self._begun, FIRST_LINE), SECONDS_BETWEEN_LINES)
        if now - self._told < gap or sys.stderr is None:
            return
        self._told = now
        shown = "".join(f", {name} {float(value):.4g}" for name, value in values.items())
        left = (now - self._begun) * (self._total - done) / max(done, 1)
        sys.stderr.write(
            f"{self._description}: {done} of {self._total}{shown}, {now - self._begun:.0f} s, "
            f"about {left:.0f} s left\n"
        )


@contextlib.contextmanager
def progress(total: int, description: str, verbose: int = 1) -> Iterator[Reporter]:
    """Show a bar on standard error with the count, the values of ``update`` and the time left.

    Where standard error is not a terminal, a line now and then says the same, and rich is not
    imported. Nothing is shown when ``verbose`` is 0.
    """
    if verbose < 1 or sys.stderr is None:
        yield _Silent()
        return
    if not sys.stderr.isatty():
        yield _Lines(total, description)
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
