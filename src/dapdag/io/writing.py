"""Tables to files, as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dapdag._runtime.files import atomic_write

TABLE_FORMATS = (".csv", ".tsv", ".parquet")


def check_output(path: Path, formats: tuple[str, ...] = TABLE_FORMATS) -> None:
    """Find out before the work, not after it, that the result could not be written."""
    if formats and path.suffix.lower() not in formats:
        raise ValueError(f"cannot write {path}: its name must end in one of {', '.join(formats)}")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}, create it first")


def write_table(frame: pd.DataFrame, path: str | Path, float_format: str | None = None) -> None:
    """Write a table as CSV, TSV or Parquet, by the suffix of its name, without its index."""
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
