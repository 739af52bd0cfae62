"""Tables to files, as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dapdag._runtime.files import atomic_write
from dapdag.io.names import is_table_name

TABLE_FORMATS = (".csv", ".tsv", ".parquet")


def check_output(
    path: Path, formats: tuple[str, ...] = TABLE_FORMATS, inputs: Sequence[Path] = ()
) -> None:
    """Find out before the work that the result can be written, and that it replaces no input.

    Parameters
    ----------
    path : path-like
        File to be written.
    formats : tuple of str, default=('.csv', '.tsv', '.parquet')
        Suffixes that are allowed.
    inputs : sequence of path-like, default=()
        All files and folders that the command reads, the model among them.
    """
    if formats and path.suffix.lower() not in formats:
        raise ValueError(f"cannot write {path}: its name must end in one of {', '.join(formats)}")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}, create it first")
    for given in inputs:
        _keep_input(path, given)


def _keep_input(output: Path, given: Path) -> None:
    if given.is_dir():
        if is_table_name(output) and given.samefile(output.absolute().parent):
            raise ValueError(
                f"-o {output}: it lies in the folder {given}, which is read, and would be one of "
                "its tables the next time: write it elsewhere"
            )
        read = [file for file in given.iterdir() if file.is_file()]
    else:
        read = [given]
    for file in read:
        same = output.resolve() == file.resolve() or (
            output.exists() and file.exists() and output.samefile(file)
        )
        if same:
            raise ValueError(f"-o {output}: it would replace {file}, which is read: name another")


def write_table(frame: pd.DataFrame, path: str | Path, float_format: str | None = None) -> None:
    """Write a table as CSV, TSV or Parquet, by the suffix of its name, without its index.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : path-like
        Its suffix decides: .csv, .tsv or .parquet.
    float_format : str, optional
        Format of numbers in text, such as "%.7g". By default every digit.
    """
    path = Path(path)
    check_output(path)
    with atomic_write(path) as temporary:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(temporary, index=False)
            return
        frame.to_csv(
            temporary,
            sep="\t" if path.suffix.lower() == ".tsv" else ",",
            index=False,
            float_format=float_format,
            lineterminator="\n",
        )
