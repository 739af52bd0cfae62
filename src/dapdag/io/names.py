"""Which files are tables by their name, and the site that a name stands for."""

from __future__ import annotations

from pathlib import Path

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".dat", ".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz")


def is_table_name(path: Path) -> bool:
    """Whether a file of this name is read when its folder is given."""
    name = path.name.lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(TABLE_SUFFIXES) and not name.startswith(".")


def stem(path: Path) -> str:
    """The name of a file without its suffixes."""
    name = path.name
    for suffix in (*_COMPRESSED, *TABLE_SUFFIXES):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name or path.name
