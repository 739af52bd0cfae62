"""Writing files so that a reader finds the old content or the new, never a part of it."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path, whose file takes the place of ``path`` when the block ends well.

    The temporary path has the suffixes of ``path``, for writers that choose the format by it. When
    the block raises, what it wrote is removed and ``path`` is as it was. A new file has the
    permissions that the umask gives; a file that is replaced hands on its own, and a symbolic link
    goes on pointing at its target.

    Raises
    ------
    FileNotFoundError
        If the folder of ``path`` does not exist.
    IsADirectoryError
        If ``path`` is a folder.
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT,
            "cannot write there, the folder does not exist: create it",
            str(path),
        )
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "cannot write there, it is a folder", str(path))

    # Nobody else may enter this folder, so that what is not finished can be read by the user only.
    private = target.with_name(f".{secrets.token_hex(8)}.tmp")
    temporary = private / f"new{''.join(target.suffixes)}"
    try:
        private.mkdir(mode=0o700)
        yield temporary
        # Opened for update, because Windows refuses to flush a file that is open for reading.
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except OSError as error:
        if error.filename is None:  # such as a full disk
            error.filename = str(path)
        raise
    finally:
        shutil.rmtree(private, ignore_errors=True)
    _flush_folder(target.parent)


def atomic_write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to ``path`` as a whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to ``path`` as a whole or not at all: UTF-8, line ends as given."""
    atomic_write_bytes(path, text.encode("utf-8"))


def _flush_folder(folder: Path) -> None:
    """Make the renaming itself survive a crash, where the system lets a folder be flushed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
