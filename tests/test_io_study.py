"""Roles of columns: label, site, features; and every table that cannot play them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dapdag.io import MAX_COLUMNS, Rows, Study, prepare_study, read_tables
from dapdag.io.columns import likely_codes
from dapdag.io.schema import describe_columns, describe_sites
from dapdag.warnings import DataWarning

N = 24


def table(**more: Any) -> pd.DataFrame:
    """Three sites, a number, a binary column, a text column, and a label of two classes."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "site": ["leeds"] * (N // 3) + ["oslo"] * (N // 3) + ["bonn"] * (N // 3),
            "age": rng.normal(50, 9, N).round(1),
            "sex": rng.integers(0, 2, N),
            "stage": rng.choice(["I", "II", "III"], N),
            "died": [0, 1] * (N // 2),
            **more,
        }
    )


def rows_of(frame: pd.DataFrame, name: str = "heart.csv") -> Rows:
    return Rows(frame, (Path(name),), (len(frame),))


def prepared(frame: pd.DataFrame, **options: Any) -> Study:
    return prepare_study(rows_of(frame), **{"label": "died", "domain": "site", **options})


def refusal(frame: pd.DataFrame, **options: Any) -> str:
    with pytest.raises(ValueError) as error:
        prepared(frame, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_roles_of_columns() -> None:
    study = prepared(table())
    assert list(study.X) == ["age", "sex", "stage"]
    assert study.y.name == "died" and study.task == "classification"
    assert study.sources == ["leeds", "oslo", "bonn"] and study.targets == []
    assert set(study.sample_domain) == {"leeds", "oslo", "bonn"}
    assert isinstance(study.X["stage"].dtype, pd.CategoricalDtype)


def test_a_column_that_names_rows_may_be_their_group_and_nothing_else() -> None:
    frame = table(patient=[f"p{k // 2}" for k in range(N)], visit=range(N))
    study = prepared(frame, ids=["patient", "visit"], group="patient")
    assert list(study.X) == ["age", "sex", "stage"]
    assert study.group is not None and len(set(study.group)) == N // 2
    assert "'site' is given to both --domain and --id" in refusal(frame, ids=["site"])
    assert "'patient' is given to both --group and --drop" in refusal(
        frame, ids=["patient"], drop=["patient"], group="patient"
    )


@pytest.mark.parametrize(
    "label, task",
    [
        ([0.5 * k for k in range(N)], "regression"),
        (list(range(N)), "regression"),
        ([0.0, 1.5] * (N // 2), "classification"),
        ([0, 1, 2, 3] * (N // 4), "classification"),
        (["no", "yes"] * (N // 2), "classification"),
        ([True, False] * (N // 2), "classification"),
        ([0.25, 0.5, 0.75, 1.0] * (N // 4), "regression"),
    ],
)
def test_task_is_inferred(label: list[Any], task: str) -> None:
    assert prepared(table(died=label)).task == task


def test_task_can_be_overridden() -> None:
    study = prepared(table(), task="regression")
    assert study.task == "regression" and study.y.dtype == float


@pytest.mark.parametrize(
    "label, masked",
    [
        (["no", "yes"] * (N // 2), [None]),
        ([0, 1] * (N // 2), [-1]),
        ([0.0, 1.5] * (N // 2), [np.nan]),
        ([float(k) for k in range(N)], [np.nan]),
    ],
)
def test_labels_of_targets_are_not_kept(label: list[Any], masked: list[Any]) -> None:
    study = prepared(table(died=label), targets=["bonn"])
    assert study.sources == ["leeds", "oslo"] and study.targets == ["bonn"]
    hidden = study.y[study.is_target]
    assert len(hidden) == N // 3
    assert hidden.isna().all() if pd.isna(masked[0]) else set(hidden) == set(masked)
    assert list(study.sample_domain[study.is_target]) == [-1] * (N // 3)
    assert study.y[~study.is_target].tolist() == label[: 2 * N // 3]


def test_names_of_sources_may_stand_beside_negative_targets() -> None:
    from dapdag import DAPDAGClassifier
    from dapdag._sklearn.checks import training_sample

    study = prepared(table(), targets=["bonn"])
    sample = training_sample(DAPDAGClassifier(), study.X, study.y, study.sample_domain, False)
    assert sample.domain_labels == ("leeds", "oslo", -1) and sample.n_sources == 2
    assert sample.is_source.tolist() == (study.site != "bonn").tolist()


def test_unlabelled_rows_come_from_a_file_of_their_own() -> None:
    new = table().drop(columns=["died", "sex"]).assign(site="york", extra=1)
    with pytest.warns(UserWarning, match="column 'sex' is not in new.csv"):
        study = prepared(table(), unlabelled=rows_of(new, "new.csv"))
    assert list(study.X) == ["age", "sex", "stage"]
    assert study.targets == ["york"] and study.is_target.sum() == N
    without_site = rows_of(new.drop(columns="site").assign(sex=1), "new.csv")
    assert prepared(table(), unlabelled=without_site).targets == ["new"]
    with pytest.raises(ValueError, match="new.csv has none of the columns 'age', 'sex', 'stage'"):
        prepared(table(), unlabelled=rows_of(new[["site", "extra"]], "new.csv"))


def test_site_is_text_whatever_it_was() -> None:
    numbered = table(site=[1.0, 2.0, 3.0] * (N // 3))
    assert prepared(numbered).sources == ["1", "2", "3"]
    assert prepared(numbered, targets=["2"]).targets == ["2"]


def test_sites_are_files_where_no_column_names_them(tmp_path: Path) -> None:
    for name, part in table().groupby("site"):
        part.drop(columns="site").to_csv(tmp_path / f"{name}.csv", index=False)
    study = prepare_study(read_tables([tmp_path]), label="died")
    assert study.sources == ["bonn", "leeds", "oslo"]


def test_drop_and_categorical_take_lists_and_wildcards() -> None:
    frame = table(x_1=0.5, x_2=0.5, code=[1.0, 2.0, np.nan] * (N // 3))
    study = prepared(frame, drop=["x_*,sex"], categorical=["code"])
    assert list(study.X) == ["age", "stage", "code"]
    assert study.X["code"].cat.categories.tolist() == [1, 2]


def test_likely_codes_are_few_whole_numbers() -> None:
    frame = table(code=[1, 2, 3] * (N // 3), half=[0.5, 1, 2] * (N // 3), many=range(N))
    assert likely_codes(frame) == ["code"]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"label": "dide"}, ["--label dide", "heart.csv", "did you mean 'died'?"]),
        ({"label": "Age "}, ["did you mean 'age'?"]),
        ({"label": "zzz"}, ["its columns are 'site', 'age', 'sex', 'stage', 'died'"]),
        ({"domain": "sight"}, ["--domain sight", "did you mean 'site'?"]),
        ({"drop": ["ages"]}, ["--drop ages", "did you mean 'age'?"]),
        ({"categorical": ["sex,stag"]}, ["--categorical stag", "did you mean 'stage'?"]),
        ({"drop": ["died"]}, ["'died'", "--label and --drop"]),
        ({"drop": ["s*"]}, ["'site'", "--domain and --drop"]),
        ({"label": "site"}, ["'site'", "--label and --domain"]),
        ({"targets": ["born"]}, ["--target born", "did you mean 'bonn'?"]),
        ({"targets": ["leeds", "bonn", "oslo"]}, ["every site is a --target"]),
        ({"domain": None}, ["which column of heart.csv", "--domain", "'age'"]),
        ({"drop": ["age,sex,stage"]}, ["no column to learn from"]),
    ],
)
def test_wrong_role_is_refused(options: dict[str, Any], words: list[str]) -> None:
    said = refusal(table(), **options)
    assert all(word in said for word in words), said


def with_cell(name: str, row: int, value: Any) -> pd.DataFrame:
    frame = table().astype({name: object})
    frame.loc[row, name] = value
    return frame


def test_text_in_a_column_of_numbers_is_named_with_its_row() -> None:
    said = refusal(with_cell("age", 4, "?"))
    assert "column 'age' holds numbers, but '?' in heart.csv, row 5" in said
    assert "--missing '?'" in said and "--categorical age" in said
    whole = table(age=[*"51", "51,5", *map(str, range(30, 51))])
    assert "--decimal ," in refusal(whole)
    assert prepared(with_cell("age", 4, "?"), categorical=["age"]).X["age"].nunique() > 10


@pytest.mark.parametrize(
    "written, mark",
    [
        ("{:.0f}%", "the per cent sign"),
        ("{:.1f} %", "the per cent sign"),
        ("61,{:03.0f}.5", "commas between thousands"),
        ("1.061.{:03.0f}", "points between thousands"),
        ("61 {:03.0f}", "marks between thousands"),
        ("€ {:.2f}", "the unit of money"),
    ],
)
def test_numbers_with_marks_are_told_how_to_write_them(written: str, mark: str) -> None:
    ages = table()["age"]
    said = refusal(table(age=[written.format(v) for v in ages]))
    assert f"without {mark}" in said and "--categorical age" in said and "--missing" not in said
    said = refusal(with_cell("age", 4, written.format(51)))
    assert f"without {mark}" in said and "row 5" in said


def test_mixed_decimal_marks_are_named_as_such() -> None:
    ages = table()["age"].astype(str)
    mixed = [v.replace(".", ",") if k % 2 else v for k, v in enumerate(ages)]
    said = refusal(table(age=mixed))
    assert "other cells have a decimal point" in said and "--decimal" not in said


def test_a_negative_number_as_a_site_is_pointed_out() -> None:
    with pytest.warns(DataWarning, match="the site '-4' is learned from.*--target=-4"):
        prepared(table(site=[-4] * 8 + [1] * 8 + [2] * 8))


def test_text_in_the_label_of_a_regression_is_named() -> None:
    frame = table(died=[*map(str, range(N - 1)), "unknown"])
    said = refusal(frame)
    assert f"column 'died' holds numbers, but 'unknown' in heart.csv, row {N}" in said
    assert "--task classification" in said


@pytest.mark.parametrize(
    "values",
    [
        ["2011-01-01"],
        ["2011-01-01 12:30:00"],
        ["1/2/2011"],
        ["31.12.11"],
        ["3 May 2011"],
        ["May 3, 2011"],
        ["12:30"],
        [pd.Timestamp("2011-01-01")],
        [pd.Timestamp("2011-01-01").date()],
        [pd.Timedelta("2h")],
    ],
)
def test_dates_are_refused_with_what_to_do(values: list[Any]) -> None:
    said = refusal(table(visit=values * N, seen=values * N))
    assert "columns 'visit', 'seen' hold dates or times" in said and "--drop visit,seen" in said
    assert list(prepared(table(visit=values * N), drop=["visit"]).X) == ["age", "sex", "stage"]


@pytest.mark.filterwarnings("ignore::dapdag.warnings.LeakageWarning")  # the label alternates, too
def test_few_dates_may_be_levels_and_a_stray_word_hides_no_dates() -> None:
    waves = ["2011-01-01", "2012-01-01"] * (N // 2)
    assert list(prepared(table(wave=waves), categorical=["wave"]).X["wave"].cat.categories) == [
        "2011-01-01",
        "2012-01-01",
    ]
    said = refusal(table(wave=[*waves[:-1], "unknown"]))
    assert "column 'wave' holds dates or times" in said and "--categorical wave" in said


@pytest.mark.parametrize(
    "label, words",
    [
        ([None] * N, ["label 'died' is missing in every row of heart.csv"]),
        ([1] * N, ["label 'died' has one value only, '1'"]),
        (["yes"] * N, ["one value only, 'yes'"]),
        ([f"name {k}" for k in range(N)], ["24 different values in 24 rows", "right column"]),
    ],
)
def test_label_that_teaches_nothing_is_refused(label: list[Any], words: list[str]) -> None:
    said = refusal(table(died=label))
    assert all(word in said for word in words), said


def test_label_that_only_targets_have_is_missing() -> None:
    label = [None] * (2 * N // 3) + [0, 1] * (N // 6)
    said = refusal(table(died=label), targets=["bonn"])
    assert "missing in every row of heart.csv that is not a target" in said


def test_row_without_a_site_is_named() -> None:
    said = refusal(with_cell("site", 7, None))
    assert "'site' names no site in 1 row, the first being heart.csv, row 8" in said


def test_too_many_columns_are_refused() -> None:
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 10_000))).add_prefix("gene_")
    said = refusal(pd.concat([table(), wide], axis=1))
    assert "heart.csv: 10,003 columns" in said and f"at most {MAX_COLUMNS:,}" in said
    assert "--drop" in said and "principal components" in said


def test_text_with_many_values_is_warned_of() -> None:
    frame = pd.concat([table()] * 3, ignore_index=True)
    frame["note"] = [f"patient {k // 2}" for k in range(3 * N)]
    with pytest.warns(UserWarning, match="column 'note' has 36 different texts.*--drop note"):
        assert "note" in prepared(frame).X


@pytest.mark.parametrize(
    "column",
    [
        {"Unnamed: 0": range(N)},
        {"patient_id": [7 * k for k in range(N)]},
        {"name": [f"p{k}" for k in range(N)]},
    ],
)
def test_column_that_numbers_rows_is_warned_of(column: dict[str, Any]) -> None:
    (name,) = column
    with pytest.warns(UserWarning, match=f"'{name}' is different in every row.*--drop {name}"):
        assert name in prepared(table(**column)).X


def test_whole_numbers_that_differ_are_not_always_row_numbers() -> None:
    assert "income" in prepared(table(income=[1000 + k * k for k in range(N)])).X


def test_void_column_is_left_out() -> None:
    with pytest.warns(UserWarning, match="'empty' left out: no row has a value there"):
        assert "empty" not in prepared(table(empty=np.nan)).X


@pytest.mark.parametrize(
    "label, leak",
    [
        ([0, 1] * (N // 2), ["a", "b"] * (N // 2)),
        ([0, 1, 1, 0] * (N // 4), [0, 2, 3, 0] * (N // 4)),
        ([k * k * 0.5 for k in range(N)], [10 - 3 * k * k for k in range(N)]),
    ],
)
def test_column_that_gives_the_label_away_is_warned_of(label: list[Any], leak: list[Any]) -> None:
    with pytest.warns(UserWarning, match="label 'died' follows from 'leak'.*--drop leak"):
        assert "leak" in prepared(table(died=label, leak=leak)).X


def test_good_predictor_is_no_leak() -> None:
    label = [0, 1] * (N // 2)
    prepared(
        table(died=label, good=[*label[:-1], 0], fine=[v + k / N for k, v in enumerate(label)])
    )
    numbers = [k * k * 0.5 for k in range(N)]
    prepared(table(died=numbers, good=[v + 20 * (k % 3) for k, v in enumerate(numbers)]))


def test_site_with_one_row_is_warned_of() -> None:
    frame = with_cell("site", 0, "york")
    with pytest.warns(UserWarning, match=r"1 site with one row only \('york'\)"):
        assert prepared(frame).sources == ["york", "leeds", "oslo", "bonn"]


def test_site_without_labels_is_warned_of() -> None:
    frame = table(died=[0, 1] * (N // 3) + [None] * (N // 3))
    with pytest.warns(UserWarning, match=r"1 site without any label \('bonn'\)"):
        prepared(frame)


def test_single_site_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="all labelled rows belong to one site, 'leeds'"):
        prepared(table(site="leeds"))


def test_evaluation_takes_labelled_rows_only() -> None:
    study = prepared(table(died=[0.0, 1.0, np.nan, 1.0] * (N // 4)))
    data = study.labelled("heart")
    assert len(data.X) == len(data.y) == len(data.sample_domain) == 3 * N // 4
    assert data.y.dtype == np.int64 and data.domains == ["leeds", "oslo", "bonn"]
    assert data.task == "classification" and data.name == "heart"


def test_schema_says_what_every_column_is() -> None:
    frame = table(flat=1.0, chol=[np.nan] * (N // 3) + [5.5] * (N // 3) + [6.5, 7.5] * (N // 6))
    columns = {column.name: column for column in describe_columns(prepared(frame))}
    types = {name: column.type for name, column in columns.items()}
    assert types == {
        "age": "number",
        "sex": "binary",
        "stage": "category",
        "flat": "constant",
        "chol": "number",
    }
    assert columns["chol"].missing == pytest.approx(1 / 3) and columns["chol"].absent_at == (
        "leeds",
    )
    assert columns["chol"].values == "5.5 … 7.5"
    assert columns["stage"].values == "3: I, II, III" and columns["sex"].values == "0, 1"


def test_schema_counts_the_rows_of_every_site() -> None:
    frame = table(died=[0.0, 1.0, 1.0, np.nan] * (N // 4))
    leeds, _, bonn = describe_sites(prepared(frame, targets=["bonn"]))
    assert (leeds.role, leeds.rows, leeds.labelled) == ("source", N // 3, N // 4)
    assert leeds.label == pytest.approx({"0": 1 / 3, "1": 2 / 3})
    assert (bonn.role, bonn.rows, bonn.labelled, bonn.label) == ("target", N // 3, 0, {})
    numbers = describe_sites(prepared(table(died=range(N))))
    assert numbers[0].label == {"mean": (N // 3 - 1) / 2}


def test_weights_and_groups_are_not_learned_from() -> None:
    frame = table(w=np.arange(N) / 2.0, patient=[f"p{k // 2}" for k in range(N)])
    study = prepared(frame, weight="w", group="patient")
    assert list(study.X) == ["age", "sex", "stage"]
    np.testing.assert_array_equal(study.about_rows["sample_weight"], np.arange(N) / 2.0)
    assert study.about_rows["groups"].tolist() == frame["patient"].tolist()
    data = study.labelled()
    np.testing.assert_array_equal(data.sample_weight, np.arange(N) / 2.0)
    assert prepared(table()).about_rows == {}


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({"w": [-1.0] + [1.0] * (N - 1)}, {"weight": "w"}, "'w' (--weight) is negative in 1 row"),
        ({"w": [np.nan] + [1.0] * (N - 1)}, {"weight": "w"}, "heart.csv, row 1: give it one"),
        ({"w": [0.0] * N}, {"weight": "w"}, "is 0 in every row of heart.csv"),
        ({"p": [None] + ["a"] * (N - 1)}, {"group": "p"}, "'p' (--group) is missing in 1 row"),
        ({}, {"weight": "died"}, "'died' is given to both --label and --weight"),
        ({}, {"group": "patient"}, "--group patient: heart.csv has no such column"),
    ],
)
def test_columns_that_cannot_be_weights_or_groups(changed, options, words) -> None:
    assert words in refusal(table(**changed), **options)


def test_a_target_needs_no_weight_and_no_group() -> None:
    bonn = np.repeat([0, 0, 1], N // 3) == 1
    frame = table(w=np.where(bonn, np.nan, 3.0), p=np.where(bonn, None, "a"))
    study = prepared(frame, weight="w", group="p", targets=["bonn"])
    assert set(study.about_rows["sample_weight"]) == {3.0}
    assert len(set(study.about_rows["groups"][bonn])) == bonn.sum()
