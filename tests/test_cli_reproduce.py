"""`dapdag reproduce`: what it lists, runs, prints and refuses."""

import pytest
import typer
from typer.testing import CliRunner

from dapdag.cli.reproduce import reproduce, seed_range, side_by_side
from dapdag.evaluate.log import RunLog
from dapdag.experiments import CATALOGUE
from dapdag.experiments.runs import Run

app = typer.Typer()
app.command()(reproduce)


def call(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_list_names_every_experiment():
    result = call("--list")
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names == list(CATALOGUE)


def test_a_run_prints_its_table_and_can_go_on(tmp_path):
    words = ("distances", "--preset", "tiny", "--jobs", 1, "-o", tmp_path)
    first = call(*words, "--seeds", "3:4")
    assert first.exit_code == 0, first.output
    assert "1 seeds (3–3)" in first.stdout and "rank correlation" in first.stdout
    assert "8 runs computed" in first.stderr and str(tmp_path / "distances") in first.stderr
    more = call(*words, "--seeds", "3:5", "--quiet")
    assert "16 runs" in more.stdout and more.stderr == ""
    assert len(RunLog(tmp_path / "distances" / "runs.jsonl").read()) == 16


def test_runs_that_fail_are_named(tmp_path, monkeypatch):
    def broken(a, b):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("dapdag.experiments.paper.distances.sinkhorn_distance", broken)
    result = call("distances", "--preset", "tiny", "--jobs", 1, "-o", tmp_path, "--seeds", "3:4")
    assert result.exit_code == 1
    key = Run.of("sinkhorn", 3, task="regression", labels=True, standardised=False).key
    assert f"{key}: RuntimeError: out of luck" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name an experiment"),
        (("figure-3",), "unknown experiment 'figure-3'"),
        (("distances", "--seeds", "9"), "--seeds must be"),
        (("distances", "--seeds", "9:9"), "--seeds must be"),
        (("distances", "--preset", "huge"), "unknown preset 'huge'"),
        (("distances", "--data", "uci_heart"), "--data is for the experiment 'studies'"),
        (("studies", "--data", "nothing"), "unknown data set 'nothing'"),
    ],
)
def test_wrong_words_are_refused(tmp_path, words, message):
    result = call(*words, "-o", tmp_path)
    assert isinstance(result.exception, ValueError) and message in str(result.exception)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "there").write_text("")
    result = call("distances", "-o", tmp_path / "there")
    assert isinstance(result.exception, ValueError) and "is a file" in str(result.exception)


def test_some_runs_go_side_by_side_unless_told_otherwise(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert side_by_side() == 4
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert side_by_side() == 1


def test_seeds_are_first_and_last_plus_one():
    assert list(seed_range("3:6")) == [3, 4, 5]
