"""Files appear as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from dapdag._runtime.files import atomic_write, atomic_write_bytes, atomic_write_text

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_target_is_untouched_until_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")
    with atomic_write(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent.parent == target.parent
    assert target.read_text() == "new"
    assert names(tmp_path) == ["model.json"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_any_exception_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")
    with pytest.raises(error), atomic_write(target) as temporary:
        temporary.write_text("half of the n")
        raise error
    assert target.read_text() == "old"
    assert names(tmp_path) == ["model.json"]


def test_exception_before_anything_was_written_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), atomic_write(tmp_path / "model.json"):
        raise ZeroDivisionError
    assert names(tmp_path) == []


def test_block_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "model.json"):
        pass
    assert names(tmp_path) == []


def test_temporary_file_keeps_the_suffixes(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "table.csv.gz") as temporary:
        assert temporary.suffixes[-2:] == [".csv", ".gz"]
        temporary.touch()


def test_long_names_are_possible(tmp_path: Path) -> None:
    name = "n" * 250 + ".json"
    atomic_write_bytes(tmp_path / name, b"x")
    assert names(tmp_path) == [name]


@posix
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_new_file_has_the_permissions_of_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        atomic_write_bytes(tmp_path / "model.json", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.json").stat().st_mode) == 0o666 & ~umask


@posix
def test_replaced_file_hands_on_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.touch()
    target.chmod(0o600)
    atomic_write_bytes(target, b"x")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@posix
def test_link_goes_on_pointing_at_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "model.json")
    atomic_write_bytes(tmp_path / "link.json", b"x")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "model.json").read_bytes() == b"x"


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"folder does not exist.*absent"):
        atomic_write_bytes(tmp_path / "absent" / "model.json", b"x")
    assert names(tmp_path) == []


def test_folder_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        atomic_write_bytes(tmp_path, b"x")


def test_text_is_utf8_with_the_line_ends_as_given(tmp_path: Path) -> None:
    atomic_write_text(tmp_path / "note.txt", "ε ~ 𝒩\nsecond\r\n")
    assert (tmp_path / "note.txt").read_bytes() == "ε ~ 𝒩\nsecond\r\n".encode()


@posix
def test_only_the_user_may_read_what_is_not_finished(tmp_path: Path) -> None:
    target = tmp_path / "predictions.csv"
    with atomic_write(target) as temporary:
        temporary.write_text("patient,risk\n")
        assert stat.S_IMODE(temporary.parent.stat().st_mode) == 0o700


def test_full_disk_is_reported_with_the_name_of_the_file(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left on device: '.*model.dapdag'"),
        atomic_write(tmp_path / "model.dapdag") as temporary,
    ):
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []
