"""Tables from pipes: standard input and named pipes are read once, into a private file.

The kind of a table, its separator and its types are found by looking at it more than once, which a
pipe does not allow.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

STDIN = Path("-")

_folder: tempfile.TemporaryDirectory[str] | None = None
_copies: dict[Path, Path] = {}


def is_stream(path: Path) -> bool:
    return path == STDIN or (path.exists() and not path.is_file() and not path.is_dir())


def local(path: Path) -> Path:
    """The file itself, or the copy of what came through the pipe."""
    if not is_stream(path):
        return path
    if path not in _copies:
        _copies[path] = _copied(path)
    return _copies[path]


def forget() -> None:
    """Remove the copies."""
    global _folder
    _copies.clear()
    if _folder is not None:
        _folder.cleanup()
        _folder = None


def _copied(path: Path) -> Path:
    global _folder
    if _folder is None:
        # A folder that only its owner may enter; it is removed at the end of the process.
        _folder = tempfile.TemporaryDirectory(prefix="dapdag-")
    copy = Path(_folder.name) / str(len(_copies))
    with copy.open("wb") as file:
        if path == STDIN:
            if sys.stdin is None or sys.stdin.isatty():
                raise ValueError("-: nothing comes through standard input: pipe a table into it")
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    return copy
