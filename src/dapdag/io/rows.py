"""Rows of tables, and how their text is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.io.names import stem
from dapdag.io.sniffing import clean


@dataclass(frozen=True)
class Reading:
    """How text is to be read; None means that the file itself tells.

    Attributes
    ----------
    separator : str or None
        Character between the cells.
    decimal : str or None
        Decimal mark, "." or ",".
    encoding : str or None
        Encoding of the text, such as "utf-8".
    missing : tuple of str
        Cells that stand for a missing value, beside the usual ones.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()  # cells that stand for a missing value, beside the usual ones


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one or several files, in one frame that knows where each row came from.

    Attributes
    ----------
    frame : DataFrame
        All rows.
    files : tuple of Path
        Files that were read.
    counts : tuple of int
        Rows of each file.
    raw : DataFrame or None
        Every cell as it stood in its file, where that was asked for.
    decimals : tuple of str
        Decimal mark of each file.
    before : int
        Rows of the first file that are not among these.
    """

    frame: pd.DataFrame
    files: tuple[Path, ...]
    counts: tuple[int, ...]
    raw: pd.DataFrame | None = None  # every cell as it stood in its file, where that was asked for
    decimals: tuple[str, ...] = ()  # decimal mark of each file
    before: int = 0  # rows of the first file that are not among these

    @property
    def name(self) -> str:
        """The files in words."""
        first = str(self.files[0])
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @property
    def file_of_row(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.files)), self.counts)

    def where(self, row: int) -> str:
        """The file of a row and its number there, counted from 1 below the header."""
        ends = np.cumsum(self.counts)
        k = int(np.searchsorted(ends, row, side="right"))
        before = self.before if k == 0 else 0
        return f"{self.files[k]}, row {before + row - int(ends[k]) + self.counts[k] + 1:,}"

    def site_of_row(self) -> NDArray[Any]:
        """The name of each row's file, without its suffixes: the site of tables without one."""
        stems = [clean(stem(path)) for path in self.files]
        repeated = sorted({stem for stem in stems if stems.count(stem) > 1})
        if repeated:
            raise ValueError(
                f"several files are named {repeated[0]!r}, and the name of a file is its site: "
                "rename them, or give the column of the site with --domain"
            )
        return np.array(stems, dtype=object)[self.file_of_row]
