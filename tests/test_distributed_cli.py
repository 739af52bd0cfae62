"""`dapdag summarise` and what the centre and the site do with its files."""

import json

import pandas as pd
import pytest
from cli_helpers import assert_one_line, dapdag

FILES = ("prediction", "low", "high")


def run(*arguments):
    done = dapdag(*arguments)
    assert done.code == 0, done.err
    return done.out


@pytest.fixture(scope="module")
def summary(study):
    path = study / "north.summary"
    out = run("summarise", study / "model.dapdag", study / "north.csv", "-o", path)
    assert "sums over 40 rows" in out and "do not send two" in out
    return path


def table(path):
    return pd.read_csv(path)[["prediction", "low", "high"]]


def test_the_site_predicts_by_what_the_centre_made_of_its_summary(study, summary, tmp_path):
    site = tmp_path / "north.dapdag"
    out = run("adapt", study / "model.dapdag", summary, "-o", site)
    assert "a site of 40 rows" in out
    for model, name in ((site, "centre"), (study / "n.dapdag", "site")):
        run("predict", model, study / "north.csv", "-o", tmp_path / f"{name}.csv", "-q")
    found, expected = (table(tmp_path / f"{name}.csv") for name in ("centre", "site"))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-4, atol=1e-4)


def test_summaries_are_merged_and_completed_by_the_rows_of_a_part(study, summary, tmp_path):
    parts = []
    for name in ("yesterday", "today"):
        parts.append(tmp_path / f"{name}.summary")
        few = ("--min-rows", "5", "-q")
        run("summarise", study / "model.dapdag", study / f"{name}.csv", "-o", parts[-1], *few)
    run("summarise", study / "model.dapdag", *parts, "-o", tmp_path / "all.summary")
    merged, whole = (json.loads(p.read_text()) for p in (tmp_path / "all.summary", summary))
    assert merged["rows"] == 40 and merged["model"] == whole["model"]
    assert merged["totals"]["first"] == pytest.approx(whole["totals"]["first"])
    out = run(
        *("adapt", study / "model.dapdag", study / "today.csv", "-o", tmp_path / "part.dapdag"),
        *("--summary", tmp_path / "all.summary", "--json"),
    )
    about = json.loads(out)
    assert about["rows"] == 40


def test_noise_is_told(study, tmp_path):
    out = run(
        *("summarise", study / "model.dapdag", study / "north.csv", "--epsilon", "1"),
        *("-o", tmp_path / "n.summary", "--json"),
    )
    assert json.loads(out)["epsilon"] == 1.0 and json.loads(out)["delta"] == 1e-6


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["summarise", "model.dapdag", "row.csv", "-o", "x.summary"], ["1 rows", "fewer than 30"]),
        (["summarise", "model.dapdag", "new.csv", "-o", "x.summary"], ["2 sites", "--site"]),
        (["summarise", "model.dapdag", "north.csv", "-o", "x.csv"], ["no table"]),
        (["summarise", "n.dapdag", "north.csv", "-o", "x.summary"], ["is a site"]),
        (["adapt", "n.dapdag", "north.summary", "-o", "x.dapdag"], ["is a site already"]),
        (["adapt", "model.dapdag", "north.summary", "north.csv", "-o", "x.dapdag"], ["--summary"]),
        (["summarise", "model.dapdag", "broken.summary", "-o", "x.summary"], ["broken.summary"]),
        (["summarise", "model.dapdag", "north.summary", "-o", "north.summary"], ["replace"]),
        (["predict", "model.dapdag", "north.summary"], ["is JSON"]),
    ],
)
def test_wrong_input_is_refused_in_one_line(study, summary, arguments, words, monkeypatch):
    (study / "broken.summary").write_text(summary.read_text()[:-100])
    monkeypatch.chdir(study)
    assert_one_line(dapdag(*arguments, "--quiet"), *words)
