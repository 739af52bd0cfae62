"""`dapdag demo`: what it prints and writes, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cli_helpers import assert_one_line, dapdag
from shrunk import shrink_estimators

from dapdag.cli.demo import DEMO_SEED

METHODS = ["dapdag", "pooled MLP", "gradient boosting", "oracle"]
PICTURES = [
    "demo.png",
    "environments.png",
    "graph.png",
    "predictions.png",
    "true-vs-inferred.png",
]


def small_demo(**options: Any) -> Any:
    from dapdag.demo import run_demo

    with pytest.MonkeyPatch.context() as patch:
        shrink_estimators(patch)
        return run_demo(seed=0, rows=60, epochs=10, **options)


@pytest.fixture(scope="module")
def numbers() -> Any:
    return small_demo()


@pytest.fixture(scope="module")
def classes() -> Any:
    return small_demo(classification=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, numbers: Any, classes: Any) -> dict[str, Any]:
    """What the command asks of `run_demo`, which answers from what ran before."""
    seen: dict[str, Any] = {}

    def answer(**asked: Any) -> Any:
        seen.update(asked)
        return classes if asked["classification"] else numbers

    monkeypatch.setattr("dapdag.demo.run_demo", answer)
    return seen


def test_default_seed_is_the_first_with_a_shift_that_can_be_learned() -> None:
    from dapdag.datasets import make_regression_domains

    def shows_it(seed: int) -> bool:
        *sources, new = make_regression_domains(n_samples=1, random_state=seed).env.values()
        return abs(new) > 1 and min(sources) < new < max(sources)

    assert next(seed for seed in range(100) if shows_it(seed)) == DEMO_SEED


def test_demo_writes_the_files_it_names(tmp_path: Path, asked: dict[str, Any]) -> None:
    folder = tmp_path / "new" / "folder"
    done = dapdag("demo", "-o", folder, "--seed", "7", "--rows", "60", "--epochs", "10")
    assert done.code == 0
    found = {name: asked[name] for name in ("seed", "rows", "epochs", "classification", "verbose")}
    assert found == {"seed": 7, "rows": 60, "epochs": 10, "classification": False, "verbose": 1}
    assert sorted(path.name for path in folder.iterdir()) == sorted([*PICTURES, "predictions.csv"])
    for name in PICTURES:
        assert name in done.out
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_demo_says_what_it_found(tmp_path: Path, asked: dict[str, Any]) -> None:
    said = " ".join(dapdag("demo", "-o", tmp_path).out.split())
    assert all(method in said for method in METHODS)
    assert "E of site 9 is" in said
    assert "the span of the sources" in said
    assert "distance to the true graph" in said
    assert "not a benchmark" in said


def test_quiet_shows_the_table_only(tmp_path: Path, asked: dict[str, Any]) -> None:
    done = dapdag("demo", "-o", tmp_path, "--quiet")
    assert done.code == 0 and done.err == "" and asked["verbose"] == 0
    assert all(method in done.out for method in METHODS)
    assert "Environment" not in done.out


@pytest.mark.parametrize(
    "option, names",
    [([], ["r2", "rmse", "coverage"]), (["--classification"], ["log_loss", "auc", "brier"])],
)
def test_json_holds_scores_environment_and_graph(
    tmp_path: Path, asked: dict[str, Any], option: list[str], names: list[str]
) -> None:
    done = dapdag("demo", "-o", tmp_path, "--json", *option)
    assert done.code == 0 and done.err == ""
    found = json.loads(done.out)
    assert [row["method"] for row in found["scores"]] == METHODS
    assert all(np.isfinite(row[name]) for row in found["scores"] for name in names)
    env = found["environment"]
    low, high = env["sources"]
    reach = 1.645 * env["sd"]
    assert env["outside"] == (env["mean"] + reach < low or env["mean"] - reach > high)
    graph = found["graph"]
    wrong = [*graph["reversed"], *graph["extra"], *graph["missing"]]
    assert graph["distance"] == len(wrong)
    assert all(Path(path).is_file() for path in found["files"])


def test_predictions_are_those_that_were_scored(tmp_path: Path, numbers: Any) -> None:
    from sklearn.metrics import r2_score

    from dapdag.demo import write_files

    write_files(numbers, tmp_path)
    table = pd.read_csv(tmp_path / "predictions.csv")
    assert len(table) == 60
    for method in METHODS:
        column = method.replace(" ", "_").lower()
        r2 = r2_score(table["Y"], table[column])
        assert r2 == pytest.approx(numbers.scores.loc[method, "r2"], abs=1e-4)
        assert (table[f"{column}_low"] < table[f"{column}_high"]).all()


@pytest.mark.parametrize("which", ["numbers", "classes"])
def test_the_message_is_in_the_picture(which: str, request: pytest.FixtureRequest) -> None:
    from matplotlib.figure import Figure

    from dapdag.demo.picture import draw_demo

    demo = request.getfixturevalue(which)
    figure = Figure()
    draw_demo(demo, figure)
    first = demo.scores.iloc[:, 0]
    for method in ("dapdag", "pooled MLP", "oracle"):
        assert f"{first[method]:.2f}" in figure.get_suptitle()
    titles = [ax.get_title("left") for ax in figure.axes]
    assert [t.partition(":")[0] for t in titles[1:4]] == ["pooled MLP", "dapdag", "oracle"]
    said = " ".join(text.get_text() for ax in figure.axes for text in ax.texts)
    if which == "numbers":
        share = demo.scores.loc["dapdag", "coverage"]
        assert f"90 % intervals\nhold {100 * share:.0f} % of the rows" in said
    words = " ".join([*titles, *(ax.get_xlabel() for ax in figure.axes)])
    assert "domain" not in words and "target" not in words


def test_oracle_is_best_where_the_truth_is_known(numbers: Any, classes: Any) -> None:
    assert numbers.scores["r2"].idxmax() == "oracle"
    assert classes.scores["log_loss"].idxmin() == "oracle"


def test_output_that_is_a_file_is_refused_before_the_work(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    assert_one_line(dapdag("demo", "-o", file), "taken", "folder")
    assert_one_line(dapdag("demo", "-o", file / "below"), "taken")
    assert asked == {}
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "option, words",
    [
        (["--seed", "-1"], ["seed", "-1"]),
        (["--rows", "3"], ["rows", "3"]),
        (["--epochs", "0"], ["max_epochs", "0"]),
    ],
)
def test_wrong_number_is_one_line(tmp_path: Path, option: list[str], words: list[str]) -> None:
    assert_one_line(dapdag("demo", "-o", tmp_path, "--quiet", *option), *words)
    assert list(tmp_path.iterdir()) == []


def test_interrupted_training_ends_the_demonstration() -> None:
    from dapdag.demo.case import _fitted

    model = mock.Mock(fitted_=SimpleNamespace(interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        _fitted(model, mock.Mock())
