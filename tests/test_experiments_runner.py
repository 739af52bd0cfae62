"""Runs of an experiment: kept one by one, computed once, never mixed with others."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from joblib import parallel_config
from matplotlib.figure import Figure

from dapdag.evaluate.log import RunLog
from dapdag.experiments.methods import usable
from dapdag.experiments.runner import Result, run
from dapdag.experiments.runs import Budget, Experiment, Outcome, Parameters, Run
from dapdag.experiments.statements import mean_effect

CALLS: list[tuple[Run, ...]] = []


def runs(parameters, seeds, methods):
    return [Run.of(m, s, size=n) for n in (1, 2) for m in methods for s in seeds]


def compute(parameters, group):
    CALLS.append(tuple(group))
    if any(r.method == "broken" for r in group):
        raise RuntimeError("no such luck")
    if any(r.method == "loud" for r in group):
        warnings.warn("mind the gap", stacklevel=1)
    rows = ({"metric": "score", "value": 0.5}, {"metric": "undefined", "value": float("nan")})
    return [Outcome(r, rows, 0.25) for r in group]


def table(rows, parameters):
    return f"{len(rows)} rows"


def statements(rows, parameters):
    return [mean_effect("scores are positive", rows["value"], "points")]


EXPERIMENT = Experiment(
    name="fake",
    title="A fake",
    presets={"quick": Parameters(methods=("a", "b"), n_seeds=2, first_seed=5)},
    runs=runs,
    compute=compute,
    together=lambda r: (r.method, r.setting),
    table=table,
    figure=lambda rows, parameters: Figure(),
    statements=statements,
)


@pytest.fixture(autouse=True)
def _no_calls_yet():
    CALLS.clear()


def test_methods_that_cannot_run_are_named_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("dapdag.baselines.registry.find_spec", lambda package: None)

    def of_both_tasks(parameters, seeds, names):
        tasks = ("regression", "classification")
        return [Run.of(m, s, task=t) for t in tasks for m in usable(names, t) for s in seeds]

    asked = ["linear", "gpboost", "skada-jcpot"]
    found = run(replace(EXPERIMENT, runs=of_both_tasks), tmp_path, methods=asked)
    assert set(found.rows["method"]) == {"linear"}
    assert found.left_out == (
        "gpboost needs the package gpboost: pip install 'dapdag[boosting]'",
        "skada-jcpot is for classification, not for regression",
        "skada-jcpot needs the package skada: pip install 'dapdag[bench]'",
    )
    with pytest.raises(ValueError, match="no method to run; gpboost needs the package gpboost"):
        run(replace(EXPERIMENT, runs=of_both_tasks), tmp_path, methods=["gpboost"])


def go(folder: Path, **options) -> Result:
    return run(EXPERIMENT, folder, **options)


def test_every_run_has_its_rows(tmp_path):
    rows = go(tmp_path).rows
    assert list(rows) == ["size", "method", "seed", "metric", "value", "seconds"]
    scores = rows[rows["metric"] == "score"]
    keys = set(map(tuple, scores[["size", "method", "seed"]].to_numpy().tolist()))
    assert keys == {(n, m, s) for n in (1, 2) for m in "ab" for s in (5, 6)}
    assert (scores["value"] == 0.5).all() and (rows["seconds"] == 0.25).all()
    assert rows[rows["metric"] == "undefined"]["value"].isna().all()


def test_files_hold_what_was_found(tmp_path):
    rows = go(tmp_path).rows
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "results.csv"), rows)
    text = (tmp_path / "table.md").read_text("utf-8")
    assert "# A fake" in text and "16 rows" in text
    assert "2 seeds (5–6)" in text and "8 runs" in text
    assert "| scores are positive | +0.5 ± 0 points | 8 | holds |" in text
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert b"<svg" in (tmp_path / "figure.svg").read_bytes()


def test_runs_that_belong_together_are_computed_together(tmp_path):
    go(tmp_path)
    assert [(g[0].method, g[0]["size"], [r.seed for r in g]) for g in CALLS] == [
        ("a", 1, [5, 6]),
        ("b", 1, [5, 6]),
        ("a", 2, [5, 6]),
        ("b", 2, [5, 6]),
    ]


def test_only_what_is_missing_is_computed_again(tmp_path):
    before = go(tmp_path)
    CALLS.clear()
    assert go(tmp_path).n_computed == 0 and CALLS == []
    RunLog(tmp_path / "runs.jsonl").forget(["size=2,method=b,seed=6"])
    after = go(tmp_path)
    assert [(Run.of("b", 6, size=2),)] == CALLS
    assert before.n_computed == 8 and after.n_computed == 1
    pd.testing.assert_frame_equal(before.rows, after.rows)


def test_a_stop_halfway_keeps_what_was_done(tmp_path):
    def stop_at_the_third(parameters, group):
        if len(CALLS) == 2:
            raise KeyboardInterrupt
        return compute(parameters, group)

    with pytest.raises(KeyboardInterrupt):
        run(replace(EXPERIMENT, compute=stop_at_the_third), tmp_path)
    CALLS.clear()
    assert go(tmp_path).n_computed == 4
    assert {g[0]["size"] for g in CALLS} == {2}


def test_seeds_and_methods_can_be_added(tmp_path):
    go(tmp_path, methods=["a"])
    more = go(tmp_path, methods=["a", "b"], seeds=range(5, 8))
    assert more.n_computed == 12 - 4
    assert go(tmp_path).n_computed == 0


def test_rows_are_of_the_runs_asked_for(tmp_path):
    go(tmp_path)
    rows = go(tmp_path, methods=["b"], seeds=[6]).rows
    assert set(rows["method"]) == {"b"} and set(rows["seed"]) == {6}


def test_other_parameters_are_not_mixed_in(tmp_path):
    go(tmp_path)
    other = replace(EXPERIMENT.presets["quick"], budget=Budget(max_epochs=7))
    with pytest.raises(ValueError, match="max_epochs': 100.*max_epochs': 7.*--fresh"):
        go(tmp_path, parameters=other)
    assert go(tmp_path, parameters=other, fresh=True).n_computed == 8


def test_another_version_is_not_mixed_in(tmp_path):
    go(tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    assert manifest["experiment"] == "fake" and manifest["preset"] == "quick"
    path.write_text(json.dumps({**manifest, "version": "0.0.1"}), "utf-8")
    with pytest.raises(ValueError, match="version was '0.0.1'"):
        go(tmp_path)


def test_a_failing_method_does_not_stop_the_others(tmp_path):
    result = go(tmp_path, methods=["broken", "a"])
    assert [len(f.runs) for f in result.failures] == [2, 2]
    assert result.failures[0].reason == "RuntimeError: no such luck"
    assert set(result.rows["method"]) == {"a"}
    CALLS.clear()
    go(tmp_path, methods=["broken", "a"])
    assert {g[0].method for g in CALLS} == {"broken"}


def test_warnings_are_kept_with_the_run(tmp_path):
    go(tmp_path, methods=["loud"], seeds=[1])
    kept = RunLog(tmp_path / "runs.jsonl").read()["size=1,method=loud,seed=1"]
    assert kept["notes"] == ["UserWarning: mind the gap"]


def test_another_backend_of_joblib_gives_the_same(tmp_path):
    one = go(tmp_path / "one").rows
    with parallel_config(backend="threading"):
        two = go(tmp_path / "two", n_jobs=2).rows
    pd.testing.assert_frame_equal(one, two)


def test_runs_have_different_names_whatever_they_hold():
    odd = Run.of("a/b", 1, study="x,method=c")
    assert odd.key != Run.of("a_b", 1, study="x,method=c").key
    assert Run.of("a", 1, study="x,size=1").key != Run.of("a", 1, study="x", size=1).key


def test_nothing_to_run_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no seed or no method"):
        go(tmp_path, methods=[])
    with pytest.raises(ValueError, match="unknown preset 'huge'"):
        go(tmp_path, preset="huge")
