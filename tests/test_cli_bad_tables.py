"""Tables that cannot be learned from: exit code 2, and one line that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import assert_one_line, dapdag

GOOD = ["site,age,died"] + [f"{'ab'[k % 2]},{40 + 1.5 * k},{k // 2 % 2}" for k in range(12)]


def changed(row: int, cells: str) -> str:
    return "\n".join([*GOOD[:row], cells, *GOOD[row + 1 :]]) + "\n"


def with_column(name: str, cells: list[str]) -> str:
    return "\n".join(f"{a},{b}" for a, b in zip(GOOD, [name, *cells], strict=True)) + "\n"


WIDE = ",".join(f"gene_{k}" for k in range(10_000))
BAD = {
    "duplicate names": (changed(0, "site,died,died"), ["2 columns named 'died'", "2, 3"]),
    "text among numbers": (changed(5, "a,high,1"), ["'age'", "'high'", "row 5"]),
    "no label anywhere": (
        "site,age,died\na,1,\na,2,\nb,3,\n",
        ["label 'died' is missing in every row"],
    ),
    "one class": ("site,age,died\na,1,0\na,2,0\nb,3,0\n", ["'died' has one value only, '0'"]),
    "dates": (with_column("visit", ["2024-01-31"] * 12), ["'visit'", "dates", "--drop visit"]),
    "10,000 columns": (
        f"site,died,{WIDE}\n" + "".join(f"a,{k},{'1,' * 9_999}1\n" for k in range(4)),
        ["10,000 columns", "at most 1,000", "--drop"],
    ),
    "empty": ("", ["is empty"]),
    "only a header": ("site,age,died\n", ["no rows"]),
    "no header": ("1,40.5,0\n1,41.5,1\n", ["looks like a row"]),
    "unknown separator": ("site~age~died\na~1~0\nb~2~1\n", ["one column", "--separator '~'"]),
    "ragged": (changed(3, "a,1,0,7"), ["line 4 has 4 cells"]),
    "no site": (changed(3, ",1,0"), ["'site' names no site in 1 row", "row 3"]),
    "other names": (changed(0, "Site,age,Died"), ["--label died", "did you mean 'Died'?"]),
}


@pytest.mark.parametrize("command", ["fit", "evaluate"])
@pytest.mark.parametrize("name", BAD)
def test_bad_table_is_one_line(tmp_path: Path, command: str, name: str) -> None:
    content, words = BAD[name]
    path = tmp_path / "heart.csv"
    path.write_text(content)
    done = dapdag(
        *(command, path, "--label", "died", "--domain", "site", "-q"),
        *(["-o", tmp_path / "model"] if command == "fit" else []),
    )
    assert_one_line(done, *words)
    assert not (tmp_path / "model").exists()


def test_other_encoding_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "heart.csv"
    path.write_bytes("site,Größe,died\na,1,0\nb,2,1\n".encode("latin-1"))
    asked = ["fit", path, "--label", "died", "--domain", "site", "-o", tmp_path / "model"]
    assert_one_line(dapdag(*asked), "not UTF-8", "0xf6 in line 1", "--encoding")
    done = dapdag(*asked, "--encoding", "latin-1", "--dry-run")
    assert done.code == 0 and "Größe" in done.out


@pytest.mark.parametrize("separator, decimal", [(";", ","), ("\t", ","), ("|", "."), (",", ".")])
def test_usual_separators_need_no_option(tmp_path: Path, separator: str, decimal: str) -> None:
    path = tmp_path / "heart.csv"
    cells = [line.split(",") for line in GOOD]
    path.write_text("\n".join(separator.join(c).replace(".", decimal) for c in cells) + "\n")
    done = dapdag(
        *("fit", path, "--label", "died", "--domain", "site", "-o", tmp_path / "model"), "--dry-run"
    )
    assert done.code == 0 and "age      number" in done.out, done


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "heart.csv").write_text("a\n1\n")
    done = dapdag("fit", tmp_path / "hearts.csv", "--label", "a", "-o", tmp_path / "model")
    assert_one_line(done, "there is no file", "did you mean", "heart.csv")
