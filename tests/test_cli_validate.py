"""`dapdag validate`, and `dapdag report --label`: new sites whose outcomes are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from cli_helpers import assert_one_line, dapdag
from sklearn.metrics import roc_auc_score

pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")

# Shapes and settings of test_cli_model.py: what is compiled for one serves the other.
TINY = ["--set", "n_members=1", "--set", "hidden=4", "--set", "max_epochs=6"]


class Case(NamedTuple):
    folder: Path
    model: Path
    new: Path


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("validate")
    rng = np.random.default_rng(0)
    n = 30
    frame = pd.DataFrame(
        {
            "site": np.repeat(["a", "b", "c", "d"], n),
            "age": rng.normal(60, 10, 4 * n).round(),
            "stage": rng.choice(["I", "II", "III"], 4 * n),
        }
    )
    frame["died"] = np.where(frame["age"] + rng.normal(0, 6, 4 * n) > 60, 1, 0)
    frame[frame["site"] < "c"].to_csv(folder / "train.csv", index=False)
    new = frame[frame["site"] >= "c"].copy()
    new["died"] = new["died"].astype(object)
    new.loc[new.index[::10], "died"] = None
    new.to_csv(folder / "new.csv", index=False)
    done = dapdag(
        *("fit", folder / "train.csv", "--label", "died", "--domain", "site", "-q"),
        *("-o", folder / "model", *TINY),
    )
    assert done.code == 0, done.err
    return Case(folder, folder / "model", folder / "new.csv")


def test_statistics_are_those_of_the_predictions(case: Case) -> None:
    done = dapdag("validate", case.model, case.new, "--label", "died", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    predicted = case.folder / "predicted.csv"
    assert dapdag("predict", case.model, case.new, "-o", predicted, "-q").code == 0
    table = pd.read_csv(case.new).assign(p=pd.read_csv(predicted)["probability_1"])
    for site, rows in table.dropna(subset="died").groupby("site"):
        shown = [
            s
            for s in found["sites"]
            if (s["target"], s["method"], s["statistic"]) == (site, "model", "c_statistic")
        ]
        assert len(shown) == 1 and shown[0]["rows"] == 27
        expected = roc_auc_score(rows["died"], rows["p"])
        assert shown[0]["estimate"] == pytest.approx(expected, abs=1e-4)
    train = pd.read_csv(case.folder / "train.csv")
    assert found["threshold"] == pytest.approx(train["died"].mean(), abs=0.006)
    assert found["reference"] == "prevalence" and found["event"] == "1"


def test_what_is_shown_and_written(case: Case) -> None:
    files = [case.folder / name for name in ("stats.csv", "curves.csv", "curves.png")]
    done = dapdag(
        *("validate", case.model, case.new, "--domain", "", "--threshold", "0.2"),
        *("--statistics", files[0], "--curves", files[1], "--plot", files[2]),
    )
    assert done.code == 0, done.err
    words = ("c-statistic", "54", "threshold of 0.2", "Against the sources' share for everyone")
    assert all(word in done.out for word in words), done.out
    curves = pd.read_csv(files[1])
    assert set(curves["curve"]) == {"calibration", "decision"}
    assert set(pd.read_csv(files[0])["target"]) >= {"new site"}
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_the_label_may_have_another_name_and_other_digits(case: Case) -> None:
    frame = pd.read_csv(case.new).rename(columns={"died": "dead"})
    frame["dead"] = frame["dead"].map({1.0: "1.0", 0.0: "0"})
    frame.to_csv(case.folder / "other.csv", index=False)
    one = dapdag("validate", case.model, case.folder / "other.csv", "--label", "dead", "--json")
    two = dapdag("validate", case.model, case.new, "--json")
    assert json.loads(one.out)["sites"] == json.loads(two.out)["sites"]


@pytest.mark.parametrize(
    "change, more, words",
    [
        (
            {"died": "yes"},
            [],
            ["--label died", "'yes' is none of the model's classes", "'0'", "'1'"],
        ),
        ({"died": None}, [], ["--label died", "no row has a value"]),
        ({}, ["--label", "deid"], ["no column 'deid'", "did you mean 'died'?"]),
        ({}, ["--plot", "a.doc"], ["a.doc", ".png"]),
        ({}, ["--event", "2"], ["event '2'", "'0', '1'"]),
    ],
)
def test_what_is_wrong_is_one_line(
    case: Case, change: dict[str, str], more: list[str], words: list[str]
) -> None:
    path = case.folder / "wrong.csv"
    pd.read_csv(case.new).assign(**change).to_csv(path, index=False)
    assert_one_line(dapdag("validate", case.model, path, "-q", *more), *words)


def test_report_with_outcomes(case: Case) -> None:
    page = case.folder / "report.html"
    done = dapdag("report", case.model, case.new, "--label", "died", "-o", page, "-q")
    assert done.code == 0, done.err
    assert "AUC" in page.read_text(encoding="utf-8")
    assert_one_line(dapdag("report", case.model, "--label", "died", "-q"), "--label", "new table")
