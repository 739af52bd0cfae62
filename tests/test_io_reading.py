"""Reading tables: what is found out by itself, and what is said about files that are no tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dapdag.io import Reading, column_names, read_table, read_tables


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "a,b,c\n1.5,x,3\n2.5,y,4\n",
        "a;b;c\n1,5;x;3\n2,5;y;4\n",
        "a\tb\tc\n1.5\tx\t3\n2.5\ty\t4\n",
        "a|b|c\n1.5|x|3\n2.5|y|4\n",
        "a b c\n1.5 x 3\n2.5  y 4\n",
        'a,b,c\n"1,5",x,3\n"2,5",y,4\n',
        "a, b, c\n1.5, x, 3\n2.5, y, 4\n",
        "\ufeffa,b,c\r\n1.5,x,3\r\n\r\n2.5,y,4\r\n",
        "a,b,c\r1.5,x,3\r2.5,y,4\r",
        "a;b;c\n1,5;x;3\n2,5;y;4\n".encode("utf-16"),
        gzip.compress(b"a,b,c\n1.5,x,3\n2.5,y,4\n", mtime=0),
        bz2.compress(b"a;b;c\n1,5;x;3\n2,5;y;4\n"),
        lzma.compress(b"a\tb\tc\n1.5\tx\t3\n2.5\ty\t4\n"),
    ],
    ids=lambda content: repr(content[:12]),
)
def test_separator_decimal_and_encoding_are_found(tmp_path: Path, content: str | bytes) -> None:
    path = written(tmp_path, content)
    frame = read_table(path)
    assert list(frame) == column_names(path) == ["a", "b", "c"]
    assert frame.to_numpy().tolist() == [[1.5, "x", 3], [2.5, "y", 4]]


def test_what_is_given_is_not_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, "a:b\n1'5:ä\n?:ö\n".encode("latin-1"))
    how = Reading(separator=":", decimal="'", encoding="latin-1", missing=("?",))
    frame = read_table(path, how)
    assert frame["a"].tolist()[0] == 1.5 and np.isnan(frame["a"][1])
    assert frame["b"].tolist() == ["ä", "ö"]
    assert read_table(written(tmp_path, "a\tb\n1\t2\n"), Reading(separator="tab")).shape == (1, 2)


def test_numbers_as_text_keep_their_zeros(tmp_path: Path) -> None:
    path = written(tmp_path, "id,x\n007,1\n008,2\n")
    assert read_table(path, text=["id"])["id"].tolist() == ["007", "008"]


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n1,2,3\n")
    assert list(read_table(path, columns=["c", "a", "z"])) == ["a", "c"]
    pd.DataFrame({"a": [1], "b": [2]}).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet", columns=["b", "z"])) == ["b"]


@pytest.mark.parametrize("index", [None, pd.Index([5, 6], name="site"), pd.Index([5, 6])])
def test_parquet_is_known_by_its_content(tmp_path: Path, index: pd.Index | None) -> None:
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]}, index=index)
    path = tmp_path / "table.csv"
    frame.to_parquet(path)
    named = index is not None and index.name is not None
    assert set(read_table(path)) == {"a", "b", "site"} if named else {"a", "b"}
    assert read_table(path)["b"].isna().tolist() == [False, True]
    assert set(column_names(path)) >= {"a", "b"}


@pytest.mark.parametrize(
    "content, words",
    [
        ("", ["is empty"]),
        ("\n \n", ["is empty"]),
        ("a,b\n", ["no rows"]),
        ("a,b,a,a\n1,2,3,4\n", ["3 columns named 'a'", "1, 3, 4"]),
        ("63,1,1\n64,0,1\n", ["starts with 63, 1, 1", "column names above"]),
        ("1.5,2\n64,0\n", ["looks like a row"]),
        ("a,b\n1,2\n1,2,3\n", ["line 3 has 3 cells", "the header has 2"]),
        ("a,b\n" + "1,2\n" * 999 + "1,2,3\n", ["line 1,001 has 3 cells"]),
        ("a,b\n1,2,3\n4,5,6\n", ["rows have 3 cells", "header has 2"]),
        ('a,b\n1,"2\n3,4\n', ["quote that opens in row 1 is never closed"]),
        ("a:b:c\n1:2:3\n", ["one column", "--separator ':'"]),
        (b"a,b\n\xe4,1\n", ["not UTF-8", "0xe4 in line 2", "--encoding", "latin-1"]),
        (b"a,b\n" + b"x,1\n" * 80_000 + b"\xe4,1\n", ["0xe4 in line 80,002"]),
        (b"PK\x03\x04...", ["ZIP archive"]),
        (b"\xd0\xcf\x11\xe0...", ["spreadsheet", "save the sheet as CSV"]),
        (b"\x01\x00\x02\x00", ["neither text nor Parquet"]),
        (b"PAR1....PAR1", ["Parquet file that cannot be read"]),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], ["damaged gzip"]),
    ],
    ids=lambda value: repr(value[:16]) if isinstance(value, str | bytes) else "",
)
def test_bad_file_is_named_with_what_to_do(
    tmp_path: Path, content: str | bytes, words: list[str]
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ValueError) as error:
        read_table(path)
    assert all(word in str(error.value) for word in [str(path), *words]), str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "how, words",
    [
        (Reading(encoding="klingon"), ["klingon", "no such encoding"]),
        (Reading(separator="::"), ["'::'", "one character"]),
        (Reading(decimal=",."), ["',.'", "one character"]),
    ],
)
def test_bad_reading_is_refused(tmp_path: Path, how: Reading, words: list[str]) -> None:
    with pytest.raises(ValueError) as error:
        read_table(written(tmp_path, "a,b\n1,2\n"), how)
    assert all(word in str(error.value) for word in words)


def test_spreadsheet_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="spreadsheet"):
        read_table(written(tmp_path, b"PK\x03\x04...", "table.xlsx"))


def test_missing_file_suggests_a_neighbour(tmp_path: Path) -> None:
    written(tmp_path, "a\n1\n", "heart.csv")
    with pytest.raises(FileNotFoundError, match=r"no file .*haert.csv: did you mean .*heart\.csv"):
        read_table(tmp_path / "haert.csv")
    with pytest.raises(FileNotFoundError, match="no folder"):
        read_table(tmp_path / "nowhere" / "heart.csv")


def test_model_is_no_table(tmp_path: Path) -> None:
    header = b'{"__metadata__":{"dapdag":"{\\"format\\": \\"dapdag-model\\"}"}}'
    path = written(tmp_path, len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match="is a dapdag model, and a table is expected"):
        read_table(path)


def test_void_column_of_trailing_separators_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,\n1,2,\n3,4,\n")
    with pytest.warns(UserWarning, match="1 column without a name and without values"):
        assert list(read_table(path)) == ["a", "b"]


def test_nameless_column_with_values_is_kept(tmp_path: Path) -> None:
    assert list(read_table(written(tmp_path, ",a\n0,1\n1,2\n"))) == ["Unnamed: 0", "a"]


def test_whole_numbers_may_be_names(tmp_path: Path) -> None:
    assert list(read_table(written(tmp_path, "0,1,2\n5,6,7\n"))) == ["0", "1", "2"]


def test_folder_is_one_table_with_a_site_per_file(tmp_path: Path) -> None:
    written(tmp_path, "x,y\n1,2\n3,4\n", "leeds.csv")
    written(tmp_path, "x;y\n5,5;6\n", "bonn.csv.gz")
    written(tmp_path, "not a table", "notes.md")
    written(tmp_path, "x;y\n5,5;6\n", ".hidden.csv")
    rows = read_tables([tmp_path])
    assert [file.name for file in rows.files] == ["bonn.csv.gz", "leeds.csv"]
    assert rows.frame["x"].tolist() == [5.5, 1, 3]
    assert rows.site_of_row().tolist() == ["bonn", "leeds", "leeds"]
    assert rows.where(2) == f"{tmp_path / 'leeds.csv'}, row 2"
    assert rows.where(0) == f"{tmp_path / 'bonn.csv.gz'}, row 1"


def test_column_that_one_file_lacks_is_missing_there(tmp_path: Path) -> None:
    one = written(tmp_path, "x,y,z\n1,2,k\n", "one.csv")
    two = written(tmp_path, "y,x\n3,4\n", "two.csv")
    with pytest.warns(UserWarning, match="column 'z' is not in 'two.csv'"):
        frame = read_tables([one, two]).frame
    assert frame[["x", "y"]].to_numpy().tolist() == [[1, 2], [4, 3]]
    assert frame["z"].isna().tolist() == [False, True]


def test_text_beside_numbers_in_another_file_is_kept(tmp_path: Path) -> None:
    one = written(tmp_path, "x,y\n1,2\n", "one.csv")
    two = written(tmp_path, "x,y\n?,3\n", "two.csv")
    assert read_tables([one, two]).frame["x"].tolist() == [1, "?"]


def test_files_without_a_common_column_are_refused(tmp_path: Path) -> None:
    one = written(tmp_path, "x\n1\n", "one.csv")
    two = written(tmp_path, "y\n1\n", "two.csv")
    with pytest.raises(ValueError, match=r"one.csv.*two.csv.* no column in common"):
        read_tables([one, two])


def test_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no table"):
        read_tables([tmp_path])


def test_files_of_one_name_cannot_name_sites(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, "x\n1\n", "site.csv")
    with pytest.raises(ValueError, match="several files are named 'site'"):
        read_tables([tmp_path / "a", tmp_path / "b"]).site_of_row()
