"""Reading tables: what is found out by itself, and what is said about files that are no tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dapdag._runtime.warning import ReadingWarning
from dapdag.io import Reading, column_names, read_table, read_tables, streams


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
        ('a,b\n1,"2\n3,4\n', ["quote that opens in line 2 is never closed"]),
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


@pytest.mark.parametrize("row", [2, 3, 999])
@pytest.mark.parametrize("cells", ["1", "1,2,3", "1,2,"])
def test_row_with_another_number_of_cells_is_refused(tmp_path: Path, row: int, cells: str) -> None:
    lines = ["a,b", *["1,2"] * 1200]
    lines[row - 1] = cells
    path = written(tmp_path, "\n".join(lines) + "\n")
    for columns in (None, ["a"]):
        with pytest.raises(ValueError, match=rf"line {row} has {cells.count(',') + 1} cell"):
            read_table(path, columns=columns)


def test_cell_of_several_lines_is_one_cell(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b\n"x\ny",1\n2,"z\n"\n')
    assert read_table(path).to_numpy().tolist() == [["x\ny", "1"], ["2", "z"]]
    with pytest.raises(ValueError, match="line 4 has 1 cell"):
        read_table(written(tmp_path, 'a,b\n"x\ny",1\n2\n'))


def test_blanks_and_composition_of_letters_do_not_count(tmp_path: Path) -> None:
    content = "site , caf\u00e9\nh0,Yes\nh0 , Yes \nh\u00e9,no\nhe\u0301,no\n"
    for name in ("t.csv", "t.parquet"):
        path = tmp_path / name
        if name == "t.csv":
            written(tmp_path, content, name)
        else:
            rows = [line.split(",") for line in content.splitlines()]
            pd.DataFrame(rows[1:], columns=rows[0]).to_parquet(path)
        frame = read_table(path)
        assert list(frame) == column_names(path) == ["site", "caf\u00e9"]
        assert frame["site"].tolist() == ["h0", "h0", "h\u00e9", "h\u00e9"]
        assert frame["caf\u00e9"].tolist() == ["Yes", "Yes", "no", "no"]


@pytest.mark.parametrize("content", ['[{"a": 1, "b": 2}]', '{"a": 1}\n{"a": 2}\n', ' {"a":[1]}'])
def test_json_is_named_as_such(tmp_path: Path, content: str) -> None:
    with pytest.raises(ValueError, match="is JSON, and a table is expected.*CSV"):
        read_table(written(tmp_path, content))


def test_missing_word_among_words_is_a_level(tmp_path: Path) -> None:
    path = written(tmp_path, "alcohol,land,age\nNone,NA,1\nSome,DE,2\nHeavy,FR,\nNone,null,4\n")
    with pytest.warns(ReadingWarning) as told:
        frame = read_table(path)
    assert frame["alcohol"].tolist() == ["None", "Some", "Heavy", "None"]
    assert frame["land"].tolist() == ["NA", "DE", "FR", "null"]
    assert frame["age"].isna().tolist() == [False, False, True, False]
    said = [str(one.message) for one in told]
    assert "'None' (2 cells) is read as a level" in said[0] and "--missing 'None'" in said[0]
    assert "'NA', 'null'" in said[1]
    frame = read_table(path, Reading(missing=("None", "NA", "null")))
    assert frame["alcohol"].isna().sum() == 2 and frame["land"].isna().sum() == 2


def test_word_that_numbers_use_for_missing_is_missing_everywhere(tmp_path: Path) -> None:
    one = written(tmp_path, "sex,age,day,on\nm,NA,2020-01-01,True\nNA,5,NA,NA\n", "one.csv")
    two = written(
        tmp_path, "sex,age,day,on\nf,7,2020-01-02,False\nNA,5,2020-01-03,True\n", "two.csv"
    )
    frame = read_tables([one, two]).frame
    assert frame["sex"].isna().tolist() == [False, True, False, True]
    assert frame["day"].isna().tolist() == [False, True, False, False]
    assert frame["on"].tolist()[0] is True and pd.isna(frame["on"][1])


def test_code_for_missing_is_a_number_however_it_is_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [-9.0, 1.5, 2.0], "b": ["x", "-9", "y"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        found = read_table(tmp_path / name, Reading(missing=("-9",)))
        assert found.isna().to_numpy().tolist() == [[True, False], [False, True], [False, False]]


def test_subfolder_with_tables_is_named(tmp_path: Path) -> None:
    written(tmp_path, "x\n1\n", "one.csv")
    (tmp_path / "more").mkdir()
    written(tmp_path / "more", "x\n1\n", "two.csv")
    with pytest.warns(ReadingWarning, match="subfolders.*'more'"):
        assert len(read_tables([tmp_path]).files) == 1


def test_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = gzip.compress(b"a,b\n1,x\n2,y\n", mtime=0)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert read_table(pipe).to_numpy().tolist() == [[1, "x"], [2, "y"]]
    writer.join()
    assert column_names(pipe) == ["a", "b"]
    streams.forget()
