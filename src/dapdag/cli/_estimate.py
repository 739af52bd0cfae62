"""What a long fit will take, said before it begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._shared import say
from ._show import print_lines

if TYPE_CHECKING:
    from dapdag.io import Study

# Peak memory of `fit` on text of 1 GB was 12.3 GB; compressed text is some five times longer.
MEMORY_PER_BYTE, UNPACKED = 12.0, 5.0
SMALLEST = 100_000_000  # bytes: less is no matter
MANY_COLUMNS = 300
LONG = 300.0  # seconds: what makes a fit shorter is said from here on
COMPRESSED = (".gz", ".bz2", ".xz")


def warn_of_memory(paths: Iterable[Path]) -> None:
    """Compare the memory that text tables will take with what is free."""
    from dapdag.io.names import is_table_name

    files = [
        file
        for path in paths
        for file in (path.iterdir() if path.is_dir() else [path])
        if file.is_file() and (file == path or is_table_name(file))
    ]
    size = sum(_text_bytes(file) for file in files)
    free = free_memory()
    needed = MEMORY_PER_BYTE * size
    if size >= SMALLEST and free is not None and needed > free:
        say(
            f"{_gigabytes(size)} of text take about {_gigabytes(needed)} of memory, and "
            f"{_gigabytes(free)} are free: give Parquet files, fewer columns or fewer rows",
            "warning",
        )


def show_cost(study: Study, model: Any = None, fits: int = 1) -> None:
    """What the fit will take, and what to do where that is much.

    `model` has the settings, by default the usual ones; `fits` is how many fits of about this size
    follow each other.
    """
    from dapdag.training.cost import EPOCHS, expected_cost

    rows, columns = study.X.shape
    given = {} if model is None else model.get_params(deep=False)
    found = expected_cost(
        rows,
        columns,
        epochs=given.get("max_epochs", EPOCHS),
        searched=given.get("structure", "search") == "search",
    )
    seconds, free = found.seconds * fits, free_memory()
    print_lines(
        f"Expected: about {_duration(seconds)} of processor time and {found.memory / 2**30:.1f} "
        f"GiB of memory;\n  up to {_duration(found.compilation)} more to compile for a new shape."
    )
    if seconds > LONG and columns >= MANY_COLUMNS:
        say(
            f"note: most of it is the search for a graph over {columns:,} columns: --drop leaves "
            "columns out"
        )
    elif seconds > LONG:
        say("note: fewer epochs (--set max_epochs=50) and fewer columns (--drop) take less")
    if free is not None and found.memory > free:
        say(
            f"{found.memory / 2**30:.1f} GiB of memory are needed and {free / 2**30:.1f} are free: "
            "leave columns out with --drop, or give fewer rows",
            "warning",
        )


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def free_memory() -> float | None:
    """Bytes of memory that can be had, where the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return 1024.0 * float(kilobytes)
    except (OSError, StopIteration):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def _text_bytes(file: Path) -> float:
    suffix = file.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return 0.0
    return file.stat().st_size * (UNPACKED if suffix in COMPRESSED else 1.0)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
