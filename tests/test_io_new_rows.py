"""New rows for a model, what it says of them as a table, and writing tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dapdag._runtime.warning import ReadingWarning
from dapdag.data.columns import Discrete, learn_feature
from dapdag.data.table import Table
from dapdag.inference.prediction import LabelDistribution
from dapdag.io import (
    NewRows,
    Reading,
    match_model,
    predictions,
    read_new_rows,
    read_table,
    write_table,
)
from dapdag.io.predictions import as_written, fill_in, predict_table
from dapdag.io.reading import Rows


def model(named: bool = True, **more: Any) -> Any:
    """What reading needs to know of a fitted estimator."""
    frame = pd.DataFrame(
        {
            "age": [50.0, 61.0, 43.5],
            "code": pd.Categorical([1, 2, 3]),
            "ward": ["01", "02", "A"],
            "smokes": [True, False, True],
        }
    )
    features = tuple(learn_feature(name, frame[name]) for name in frame)
    fitted = SimpleNamespace(
        model=SimpleNamespace(table=Table(features, Discrete("died", (0, 1), (2.0, 2.0))))
    )
    names = {"feature_names_in_": np.array(list(frame), dtype=object)} if named else {}
    return SimpleNamespace(fitted_=fitted, **names, **more)


def written(folder: Path, content: str, name: str = "new.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def test_values_have_the_types_of_the_model(tmp_path: Path) -> None:
    path = written(tmp_path, "ward,smokes,code,age,died,id\n01,,2,50,1,007\n02,False,,x,0,008\n")
    with pytest.raises(ValueError) as error:
        read_new_rows(model(), [path])
    said = str(error.value)
    assert f"column 'age' holds numbers, but 'x' in {path}, row 2" in said
    assert "--missing 'x'" in said and "--categorical" not in said

    new = read_new_rows(model(), [path], keep=["id"], reading=Reading(missing=("x",)))
    assert list(new.X) == ["age", "code", "ward", "smokes"]
    assert new.X["ward"].tolist() == ["01", "02"]
    assert new.X["age"][0] == 50 and np.isnan(new.X["age"][1])
    assert new.X["smokes"][1] is False and pd.isna(new.X["smokes"][0])
    assert new.rows.frame["id"].tolist() == ["007", "008"]
    assert set(new.unused) == {"died", "id"} and new.lacking == [] and new.site is None
    assert model().fitted_.model.table.unseen(new.X) == {}


def test_codes_are_known_as_fractions_too(tmp_path: Path) -> None:
    path = written(tmp_path, "ward,smokes,code,age\nA,1,2.0,50\nA,0,,51\n")
    new = read_new_rows(model(), [path])
    assert model().fitted_.model.table.unseen(new.X) == {}
    assert new.X["smokes"].tolist() == [True, False]


def test_lacking_column_counts_as_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "age,code\n50,1\n")
    with pytest.warns(UserWarning, match=r"no column 'ward', 'smokes': .* missing in every row"):
        new = read_new_rows(model(), [path])
    assert new.X[["ward", "smokes"]].isna().all(axis=None) and new.lacking == ["ward", "smokes"]


def test_column_under_a_similar_name_is_not_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, "Age,code,ward,smokes\n50,1,A,True\n")
    with pytest.raises(ValueError, match=r"no column 'age', .* but has 'Age'.*rename it"):
        read_new_rows(model(), [path])


def test_table_without_any_column_of_the_model_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "foo,bar\n1,2\n")
    with pytest.raises(ValueError, match=r"none of the model's columns \('age'.*'foo', 'bar'"):
        read_new_rows(model(), [path])


@pytest.mark.parametrize("options", [{"domain": "hopsital"}, {"keep": ["hopsital"]}])
def test_unknown_column_is_named(tmp_path: Path, options: dict[str, Any]) -> None:
    path = written(tmp_path, "age,hospital\n1,2\n")
    with pytest.raises(ValueError, match="no column 'hopsital'; did you mean 'hospital'?"):
        read_new_rows(model(), [path], **options)


def test_sites_come_from_a_column_or_from_the_files(tmp_path: Path) -> None:
    content = "age,code,ward,smokes,hospital\n50,1,A,True,01\n51,2,A,True,1\n"
    path = written(tmp_path, content)
    assert read_new_rows(model(), [path], domain="hospital").site.tolist() == ["01", "1"]  # type: ignore[union-attr]
    written(tmp_path, content, "bonn.csv")
    sites = read_new_rows(model(), [tmp_path]).site
    assert sites is not None and sites.tolist() == ["bonn", "bonn", "new", "new"]


def test_model_of_an_array_gets_an_array() -> None:
    frame = pd.DataFrame({"age": [1.0], "code": [1], "ward": ["A"], "smokes": [True]})
    rows = Rows(frame, (Path("new.csv"),), (1,))
    assert isinstance(match_model(model(named=False), rows).X, np.ndarray)


def new_rows(**columns: Any) -> NewRows:
    frame = pd.DataFrame(columns)
    rows = Rows(frame, (Path("new.csv"),), (len(frame),))
    return NewRows(frame, np.array(["a", "b", "a"], dtype=object), rows, [], [])


ENVIRONMENTS = pd.DataFrame({"E1_mean": [0.0, 3.0], "outside": [False, True]}, index=["a", "b"])


def adapted(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    """Whatever the model and the rows, the sites give these answers."""
    sites = SimpleNamespace(environments=ENVIRONMENTS, **answers)
    monkeypatch.setattr(predictions, "adapt", lambda model, X, site: sites)


def test_predicted_numbers_have_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.array([[0.0, 2.0], [1.0, 4.0], [2.0, 3.5]])
    adapted(monkeypatch, label=None)
    monkeypatch.setattr(predictions, "numbers_of", lambda model, label: (ends.mean(1), np.ones(3)))
    monkeypatch.setattr(predictions, "interval_of", lambda model, label, coverage: ends)
    numbers = SimpleNamespace(fitted_=SimpleNamespace(model=None))
    found = predict_table(numbers, new_rows(id=["x", "y", "z"]), keep=["id"], domain="hospital")
    assert list(found.table) == ["id", "hospital", "prediction", "low", "high", "outside"]
    assert found.table["high"].tolist() == [2.0, 4.0, 3.5]
    assert found.table["outside"].tolist() == [False, True, False]
    with pytest.raises(ValueError, match="'low'.*rename it"):
        predict_table(numbers, new_rows(low=[1, 2, 3]), keep=["low"])


@pytest.mark.parametrize("classes, shown", [([0.0, 1.0], ["1", "0", "1"]), (["n", "y"], [*"yny"])])
def test_predicted_classes_have_probabilities(
    monkeypatch: pytest.MonkeyPatch, classes: list[Any], shown: list[str]
) -> None:
    probability = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6]])
    ends = np.stack([probability / 2, (1 + probability) / 2], axis=-1)
    label = LabelDistribution(probability[:, 1:], None)
    adapted(monkeypatch, label=label, class_intervals=lambda coverage: ends)
    classifier = SimpleNamespace(coordinates_=None, classes_=np.array(classes))
    table = predict_table(classifier, new_rows(id=[1, 2, 3])).table
    names = ["probability_0", "probability_1"] if classes[0] == 0 else None
    assert list(table)[2:4] == (names or ["probability_n", "probability_y"])
    # of two classes the second alone has an interval, which the first mirrors
    second = names[1][-1] if names else "y"
    assert list(table)[4:] == [f"low_{second}", f"high_{second}", "outside"]
    assert table[f"low_{second}"].tolist() == ends[:, 1, 0].tolist()
    assert table[f"high_{second}"].tolist() == ends[:, 1, 1].tolist()
    assert "site" in table and table["prediction"].tolist() == shown
    assert table.iloc[:, 2:4].to_numpy() == pytest.approx(probability)


def test_only_missing_cells_are_filled_in() -> None:
    new = new_rows(id=["1", "2", "3"], age=[1.5, np.nan, 2.5], ward=["A", "B", None])
    complete = pd.DataFrame({"age": [9.0, 9.0, 9.0], "ward": list("CCC"), "code": [1, 2, 3]})
    table, filled = fill_in(new, complete)
    assert table.to_dict("list") == {
        "id": ["1", "2", "3"],
        "age": [1.5, 9.0, 2.5],
        "ward": ["A", "B", "C"],
        "code": [1, 2, 3],
        "imputed": ["code", "age;code", "ward;code"],
    }
    assert filled == {"age": 1, "ward": 1, "code": 3}
    assert np.isnan(new.rows.frame["age"][1])


def test_filled_whole_numbers_are_written_as_they_were() -> None:
    new = new_rows(bp=[140.0, np.nan, 130.0], x=[1.5, np.nan, 2.0])
    complete = pd.DataFrame({"bp": [0.0, 0.123456789, 0.0], "x": [0.0, 3.0, 0.0]})
    table, _ = fill_in(new, complete)
    assert as_written(table, new.rows.frame).to_csv(index=False).split() == [
        "bp,x,imputed",
        "140,1.5,",
        "0.123457,3.0,bp;x",
        "130,2.0,",
    ]


def test_observed_cells_are_written_byte_for_byte(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "other;age;ward;note\n007;50,50;A;None\nNA; 1,5e1;01; x \nnull;;;N/A\nNaN;-9;02;NULL\n",
    )
    with pytest.warns(UserWarning, match="'code', 'smokes'"):
        new = read_new_rows(model(), [path], keep=None, reading=Reading(missing=("-9",)))
    assert np.isnan(new.X["age"].to_numpy(float)).tolist() == [False, False, True, True]
    complete = pd.DataFrame({"age": [0.0, 0.0, 1.5, 2.0], "ward": ["?", "?", "B", "?"]})
    table, filled = fill_in(new, complete, as_text=True)
    assert table["other"].tolist() == ["007", "NA", "null", "NaN"]
    assert table["note"].tolist() == ["None", " x ", "N/A", "NULL"]
    assert table["age"].tolist() == ["50,50", " 1,5e1", "1,5", "2"]
    assert table["ward"].tolist() == ["A", "01", "B", "02"]
    assert table["imputed"].tolist() == ["", "", "age;ward", "age"]
    assert filled == {"age": 2, "ward": 1}


def test_new_table_is_read_as_the_training_tables_were(tmp_path: Path) -> None:
    told = {"missing": ["-9", "unknown"], "domain": "clinic", "ids": ["pid"], "dropped": []}
    path = written(
        tmp_path, "clinic,pid,age,ward,code\nb,007,-9.0,A,1\na,008,50,unknown,2\na,9,51,A,3\n"
    )
    with pytest.warns(UserWarning, match="'smokes'"):
        new = read_new_rows(model(reading_=told), [path])
    assert new.domain == "clinic" and new.site is not None and new.site.tolist() == ["b", "a", "a"]
    assert new.ids == ("pid",) and new.rows.frame["pid"].tolist() == ["007", "008", "9"]
    assert new.X["age"].isna().tolist() == [True, False, False]
    assert new.X["ward"].isna().tolist() == [False, True, False]
    with pytest.warns(UserWarning, match="'smokes'"):
        assert read_new_rows(model(reading_=told), [path], domain="").site is None


def test_level_that_the_model_knows_is_not_missing(tmp_path: Path) -> None:
    levels = learn_feature("alcohol", pd.Series(["None", "Some", "None"]))
    table = Table((levels,), Discrete("died", (0, 1), (2.0, 2.0)))
    fitted = SimpleNamespace(model=SimpleNamespace(table=table))
    estimator = SimpleNamespace(fitted_=fitted, feature_names_in_=np.array(["alcohol"]))
    path = written(tmp_path, "alcohol,x\nNone,1\nNA,2\nSome,NA\n,4\n")
    found = read_new_rows(estimator, [path]).X["alcohol"]
    assert found.isna().tolist() == [False, True, False, True] and found[0] == "None"


def test_likely_sentinel_of_a_new_table_is_pointed_out(tmp_path: Path) -> None:
    column = SimpleNamespace(name="age", range=(29.0, 90.0))
    known = model(record_=SimpleNamespace(columns=(column,)))
    ages = "\n".join(f"{age},1,A,True" for age in [-9, 31, 45, 60, 52, 44, 71])
    path = written(tmp_path, f"age,code,ward,smokes\n{ages}\n")
    with pytest.warns(ReadingWarning, match="column 'age': −9 .*--missing -9"):
        read_new_rows(known, [path])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_written_table_is_read_back(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"a": [1.25, None], "b": ["x", "y, z"]})
    path = tmp_path / f"out{suffix}"
    write_table(frame, path)
    pd.testing.assert_frame_equal(read_table(path), frame, check_dtype=False)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "name, words",
    [("out.xlsx", ".csv, .tsv, .parquet"), ("no/out.csv", "no folder"), (".csv", "must end in")],
)
def test_place_that_cannot_be_written_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(ValueError, match="cannot write") as error:
        write_table(pd.DataFrame({"a": [1]}), tmp_path / name)
    assert words in str(error.value) and list(tmp_path.iterdir()) == []


def test_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(ValueError, match="it is a folder"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "x.csv")
