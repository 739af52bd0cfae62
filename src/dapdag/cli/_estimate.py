"""What a long fit will take, said before it begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ._shared import say

if TYPE_CHECKING:
    from dapdag.io import Study

# Peak memory of `fit` on text of 1 GB was 12.3 GB; compressed text is some five times longer.
MEMORY_PER_BYTE, UNPACKED = 12.0, 5.0
SMALLEST = 100_000_000  # bytes: less is no matter
MANY_COLUMNS = 300
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


def warn_of_columns(study: Study) -> None:
    """Wide tables: where the time goes, and that it is shown."""
    n = study.X.shape[1]
    if n >= MANY_COLUMNS:
        say(
            f"note: the search for a graph over {n:,} columns takes long, its time grows with the "
            "square of their number; --drop leaves columns out"
        )


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
