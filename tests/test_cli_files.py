"""No command replaces what it reads, or reads again what it wrote; tables come through pipes."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_helpers import assert_one_line, dapdag

TABLE = "site,age,died\n" + "".join(
    f"{'ab'[k % 2]},{40 + 1.5 * k},{k // 2 % 2}\n" for k in range(12)
)
LABELLED = ["--label", "died", "--domain", "site"]
# Every command with --output: its arguments, and the suffix that its output may have.
COMMANDS = {
    "fit": (["fit", "{table}", *LABELLED], ""),
    "evaluate": (["evaluate", "{table}", *LABELLED], ".csv"),
    "predict": (["predict", "{model}", "{table}"], ".csv"),
    "impute": (["impute", "{model}", "{table}"], ".csv"),
    "environments": (["environments", "{model}", "{table}"], ".csv"),
    "report": (["report", "{model}", "{table}"], ".html"),
    "graph": (["graph", "{table}"], ".svg"),
    "graph of a model": (["graph", "{model}"], ".svg"),
}


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("way", ["itself", "symbolic link", "hard link", "other path"])
@pytest.mark.parametrize("command", COMMANDS)
def test_output_never_replaces_an_input(tmp_path: Path, command: str, way: str) -> None:
    arguments, suffix = COMMANDS[command]
    for replaced in ("table", "model"):
        if f"{{{replaced}}}" not in arguments:
            continue
        folder = tmp_path / replaced
        folder.mkdir()
        paths = {name: folder / f"{name}{suffix}" for name in ("table", "model")}
        for path in paths.values():
            path.write_text(TABLE)
        output = paths[replaced]
        if way == "other path":
            output = folder / ".." / replaced / output.name
        elif way != "itself":
            link = folder / f"link{suffix}"
            (link.symlink_to if way == "symbolic link" else link.hardlink_to)(output)
            output = link
        before = content(folder)
        filled = [argument.format(**paths) for argument in arguments]
        assert_one_line(dapdag(*filled, "-o", output), "would replace", str(paths[replaced]))
        assert content(folder) == before


@pytest.mark.parametrize("command", ["evaluate", "predict", "impute", "environments"])
def test_output_in_the_folder_that_is_read_is_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "a.csv").write_text(TABLE)
    paths = {"table": tmp_path / "sites", "model": tmp_path / "model"}
    arguments = [argument.format(**paths) for argument in COMMANDS[command][0]]
    done = dapdag(*arguments, "-o", tmp_path / "sites" / "out.csv")
    assert_one_line(done, "lies in the folder", "write it elsewhere")
    assert [file.name for file in (tmp_path / "sites").iterdir()] == ["a.csv"]


def test_only_a_dry_run_does_without_a_file_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    done = dapdag("fit", path, *LABELLED, "--dry-run")
    assert done.code == 0 and "12 rows" in done.out, done
    assert_one_line(dapdag("fit", path, *LABELLED), "give -o MODEL")
    assert list(tmp_path.iterdir()) == [path]


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stdin(text: str) -> None:
        source = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", source)

    asked = ["fit", "-", *LABELLED, "-o", tmp_path / "model", "--dry-run"]
    stdin(TABLE)
    done = dapdag(*asked)
    assert done.code == 0 and "12 rows" in done.out, done
    stdin(TABLE + "a,1\n")  # another table: nothing of the first is left
    assert_one_line(dapdag(*asked), "line 14 has 2 cells")


def test_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, TABLE.encode())
    os.close(write)
    asked = ["fit", f"/dev/fd/{read}", *LABELLED, "-o", tmp_path / "model", "--dry-run"]
    done = dapdag(*asked)
    os.close(read)
    assert done.code == 0 and "12 rows" in done.out, done


def test_likely_sentinels_are_pointed_out(tmp_path: Path) -> None:
    rows = [f"{'ab'[k % 2]},{120 + k},{20 + k / 10},{k // 2 % 2}" for k in range(20)]
    rows[3], rows[8] = "b,-9,22,1", "a,999,22,0"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["site,sbp,bmi,died", *rows, "a,130,-9,1"]) + "\n")
    asked = ["fit", path, *LABELLED, "-o", tmp_path / "model", "--dry-run"]
    done = dapdag(*asked)
    assert "column 'sbp': −9, 999 (2 cells)" in done.err and "column 'bmi': −9 (1 cell)" in done.err
    done = dapdag(*asked, "--missing", "-9", "--missing", "999")
    assert done.code == 0 and done.err == ""


def test_values_that_differ_in_case_only_are_named(tmp_path: Path) -> None:
    rows = [f"{'ab'[k % 2]},{50 + k * k},{['Yes', 'no', 'yes '][k % 3]}" for k in range(21)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["site,age,died", *rows, "A,3,no"]) + "\n")
    done = dapdag("fit", path, *LABELLED, "-o", tmp_path / "model", "--dry-run")
    assert "column 'died': 'Yes' and 'yes' differ in case only" in done.err
    assert "column 'site': 'A' and 'a' differ in case only" in done.err


def test_memory_that_is_not_there_is_warned_of_before_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dapdag.cli import _estimate

    monkeypatch.setenv("NO_COLOR", "1")
    table = tmp_path / "large.csv"
    with table.open("wb") as file:
        file.truncate(10**9)  # sparse
    monkeypatch.setattr(_estimate, "free_memory", lambda: 8e9)
    for given in (table, tmp_path):
        _estimate.warn_of_memory([given])
        said = capsys.readouterr().err
        assert said.startswith("warning: 1.0 GB of text take about 12.0 GB of memory, and 8.0 GB")
    monkeypatch.setattr(_estimate, "free_memory", lambda: 64e9)
    _estimate.warn_of_memory([table])
    assert capsys.readouterr().err == ""


def test_what_a_fit_will_take_is_said_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dapdag.cli import _estimate

    path = tmp_path / "t.csv"
    numbers = ",".join(f"x{k}" for k in range(400))
    cells = ",".join(["1.5"] * 399)
    rows = [f"{'ab'[k % 2]},{k // 2 % 2},{k},{cells}" for k in range(20)]
    path.write_text("\n".join([f"site,died,{numbers}", *rows]) + "\n")
    asked = ["fit", path, *LABELLED, "-o", tmp_path / "model", "--dry-run"]
    monkeypatch.setattr(_estimate, "free_memory", lambda: 64 * 2**30)
    wide = dapdag(*asked).out
    assert re.search(r"about \d+ (s|min) of processor time and \d\.\d GiB of memory", wide)
    narrow = dapdag(*asked, "--drop", "x1*,x2*,x3*").out
    assert "GiB of memory" in narrow and narrow.splitlines()[-1] != wide.splitlines()[-1]
    assert "Expected" not in dapdag(*asked, "--quiet").out
    monkeypatch.setattr(_estimate, "free_memory", lambda: 2.0**28)
    assert "0.2 are free: leave columns out with --drop" in dapdag(*asked).err


def test_a_cost_grows_with_columns_rows_and_epochs() -> None:
    from dapdag.training.cost import expected_cost

    small, wide, long = expected_cost(600, 8), expected_cost(600, 80), expected_cost(600_000, 8)
    assert small.seconds < wide.seconds and small.compilation < wide.compilation
    assert small.seconds < long.seconds and small.memory < long.memory
    assert expected_cost(600, 8, epochs=300).seconds > small.seconds
    assert expected_cost(600, 8, searched=False).seconds < small.seconds


def test_free_memory_is_known_here() -> None:
    from dapdag.cli._estimate import free_memory

    free = free_memory()
    assert free is None or 1e6 < free < 1e15
