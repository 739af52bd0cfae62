"""`dapdag evaluate`: every site predicted from the others, by several methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import assert_fits_a_terminal, assert_one_line, dapdag

registry = pytest.importorskip("dapdag.baselines.registry", reason="the registry is not there yet")

SITES = ["bonn", "leeds", "york"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sites, a number that decides, a text that does not, and gaps."""
    path = tmp_path_factory.mktemp("evaluate") / "heart.csv"
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "hospital": np.repeat(SITES, n // 3),
            "age": rng.normal(60, 10, n).round(1),
            "stage": rng.choice(["I", "II", "III"], n),
        }
    )
    frame["died"] = np.where(frame["age"] + rng.normal(0, 3, n) > 60, "yes", "no")
    frame.loc[::7, "age"] = None
    frame.loc[::11, "died"] = None
    frame.to_csv(path, index=False)
    return path


def arguments(table: Path, *more: str | Path) -> list[str | Path]:
    return ["evaluate", table, "--label", "died", "--domain", "hospital", *more]


def test_table_has_a_row_per_site_and_a_column_per_method(table: Path, tmp_path: Path) -> None:
    output = tmp_path / "scores.csv"
    done = dapdag(*arguments(table, "--methods", "linear,forest", "-o", output))
    assert done.code == 0, done.err
    assert all(word in done.out for word in (*SITES, "linear", "forest", "Log-loss", "Mean rank"))
    assert_fits_a_terminal(done.out.partition("All sites")[0])
    scores = pd.read_csv(output)
    assert set(scores["target"]) == set(SITES) and set(scores["method"]) == {"linear", "forest"}
    auc = scores[(scores["metric"] == "auc") & (scores["method"] == "linear")]["value"]
    assert auc.mean() > 0.8


def test_one_site_can_be_left_out_alone(table: Path) -> None:
    done = dapdag(*arguments(table, "--methods", "linear", "--target", "york", "--json"))
    found = json.loads(done.out)
    assert found["task"] == "classification" and found["output"] is None
    assert {score["target"] for score in found["scores"]} == {"york"}
    assert [row["method"] for row in found["summary"]] == ["linear"]


def test_statistics_with_intervals(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")
    statistics, forest = tmp_path / "sites.csv", tmp_path / "forest.svg"
    done = dapdag(
        *arguments(table, "--methods", "prevalence,linear,forest", "--threshold", "0.3"),
        *("--replicates", "2"),
        *("--statistics", statistics, "--forest", forest),
    )
    assert done.code == 0, done.err
    words = ("c-statistic", "O:E", "slope", "next site", "|calibration|", "Δ log-loss", "threshold")
    assert all(word in done.out for word in words), done.out
    assert "prevalence: the sources' share for everyone" in done.out
    assert "first of 2 replicates" in done.out
    found = pd.read_csv(statistics)
    assert set(found["target"]) == {*SITES, "all sites", "next site"}
    one = found[(found["method"] == "linear") & (found["statistic"] == "c_statistic")]
    sites = one[one["target"].isin(SITES)]
    assert (sites["low"] < sites["estimate"]).all() and (sites["estimate"] <= sites["high"]).all()
    assert sites["rows"].sum() == pd.read_csv(table)["died"].notna().sum()
    assert forest.read_text(encoding="utf-8").startswith("<?xml")


def test_differences_are_paired(table: Path) -> None:
    pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")
    done = dapdag(
        *arguments(table, "--methods", "prevalence,linear", "--reference", "prevalence", "--json")
    )
    found = json.loads(done.out)["validation"]
    assert found["event"] == "yes" and found["reference"] == "prevalence"
    rows = [d for d in found["differences"] if d["statistic"] == "log_loss"]
    assert [d["target"] for d in rows] == [*SITES, "all sites"]
    assert all(d["method"] == "linear" and d["difference"] < 0 and d["better"] for d in rows[:3])


def test_without_the_extra_scores_are_shown(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "statsmodels.api", None)
    done = dapdag(*arguments(table, "--methods", "linear"))
    assert done.code == 0 and "Log-loss" in done.out
    assert 'pip install "dapdag[clinical]"' in done.out
    refused = dapdag(*arguments(table, "--methods", "linear", "-q", "--event", "yes"))
    assert_one_line(refused, 'pip install "dapdag[clinical]"')


def test_metric_of_the_table_can_be_chosen(table: Path) -> None:
    done = dapdag(*arguments(table, "--methods", "linear", "--metric", "auc", "-q"))
    assert "AUC" in done.out and "Log-loss" not in done.out and "Mean rank" not in done.out


@pytest.mark.parametrize(
    "more, words",
    [
        (["--methods", "linaer"], ["--methods linaer", "did you mean 'linear'?"]),
        (["--methods", "linear", "--set", "hidden=8"], ["--set hidden", "linear"]),
        (["--methods", "linear", "--set", "hiden=8"], ["did you mean 'hidden'?"]),
        (["--methods", "linear", "--metric", "acu"], ["--metric acu", "did you mean 'auc'?"]),
        (["--methods", "linear", "--target", "yorc"], ["yorc", "york"]),
        (["--methods", "linear", "--replicates", "0"], ["replicates", "0"]),
        (["--methods", "linear", "--event", "maybe"], ["event 'maybe'", "'no', 'yes'"]),
        (["--methods", "linear", "--threshold", "1.5"], ["--threshold", "1.5"]),
        (["--methods", "linear,forest", "--reference", "forst"], ["did you mean 'forest'?"]),
        (["--forest", "forest.doc"], ["forest.doc", ".png"]),
        (["-o", "scores.xlsx"], ["scores.xlsx", ".parquet"]),
        (["--drop", "aeg"], ["did you mean 'age'?"]),
    ],
)
def test_wrong_choice_is_one_line(table: Path, more: list[str], words: list[str]) -> None:
    assert_one_line(dapdag(*arguments(table, "-q", *more)), *words)


def test_single_site_cannot_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    frame = pd.DataFrame({"site": "a", "x": np.arange(20) ** 2, "y": [0, 1, 1, 0] * 5})
    frame.to_csv(path, index=False)
    done = dapdag("evaluate", path, "--label", "y", "--domain", "site", "--methods", "linear", "-q")
    assert done.code == 2 and "at least 2" in done.err.splitlines()[-1]
