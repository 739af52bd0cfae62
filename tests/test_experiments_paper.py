"""Every experiment in its smallest form: what it writes is complete and makes sense."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shrunk import shrink_search

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains
from dapdag.evaluate.log import RunLog
from dapdag.experiments import CATALOGUE, load
from dapdag.experiments.cases import first_sources
from dapdag.experiments.lanes import fit_lanes
from dapdag.experiments.paper import ablations
from dapdag.experiments.paper.ranks import sinks, with_ranks
from dapdag.experiments.runner import Result, run
from dapdag.experiments.statements import Statement, better, slope
from dapdag.graph_baselines import GRAPH_METHODS
from dapdag.inference.parts import current


@pytest.fixture(autouse=True)
def _same_code(monkeypatch):
    """A commit while the tests run is not what they are about."""
    monkeypatch.setattr("dapdag.experiments.store.commit", lambda: "abc1234")


@functools.cache
def outcome(name: str) -> Result:
    """The experiment with its tiny preset; run once per process."""
    with pytest.MonkeyPatch.context() as patch:
        shrink_search(patch)
        return run(load(name), Path(tempfile.mkdtemp()) / name, preset="tiny")


def values(rows: pd.DataFrame, **where) -> pd.Series:
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows["value"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_experiment_writes_its_files(name):
    result = outcome(name)
    assert [f.trace for f in result.failures] == []
    expected = {
        "results.csv",
        "table.md",
        "figure.png",
        "figure.svg",
        "manifest.json",
        "runs.jsonl",
    }
    assert {p.name for p in result.folder.iterdir()} == expected
    rows = pd.read_csv(result.folder / "results.csv")
    assert {"seed", "method", "metric", "value", "seconds"} <= set(rows)
    assert rows["seed"].nunique() == 2
    assert np.isfinite(rows["value"]).all() and (rows["seconds"] >= 0).all()
    text = (result.folder / "table.md").read_text("utf-8")
    assert "Preset `tiny`" in text and "| ---" in text and "nan" not in text
    assert len(RunLog(result.folder / "runs.jsonl").read()) == result.n_computed


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "distances"])
def test_figures_say_which_way_is_better(name):
    experiment = load(name)
    axes = experiment.figure(outcome(name).rows, experiment.presets["tiny"]).axes
    labels = [
        ax.get_xlabel() + ax.get_ylabel() for ax in axes if ax.get_ylabel() or ax.get_xlabel()
    ]
    # How far apart two sites are is neither good nor bad.
    scores = [label for label in labels if "|difference of E|" not in label or "rank" in label]
    assert (
        scores
        and [label for label in scores if "better" not in label and "best" not in label] == []
    )


def test_the_line_of_no_effect_is_drawn_where_the_strength_is_0():
    experiment = load("reversal")
    parameters = replace(experiment.presets["tiny"], strengths=(1.0, 0.0, -1.0))
    rows = pd.DataFrame(
        [
            {"task": t, "method": "mlp", "seed": 0, "strength": s, "metric": m, "value": 1.0}
            for t, m in (("classification", "log_loss"), ("regression", "rmse"))
            for s in parameters.strengths
        ]
    )
    ax = experiment.figure(rows, parameters).axes[0]
    vertical = [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]
    names = {
        tick: label.get_text()
        for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    }
    assert "0.0" in {names.get(x) for x in vertical}


@pytest.mark.parametrize("name", CATALOGUE)
def test_experiment_has_the_presets_of_the_command_line(name):
    presets = load(name).presets
    assert list(presets) == ["quick", "paper", "tiny"]
    assert presets["paper"].n_seeds > presets["quick"].n_seeds
    assert presets["quick"].first_seed >= 1000  # never used while the method was built
    assert set(presets["quick"].methods) <= set(presets["paper"].methods)


def test_a_lost_run_is_computed_again_and_only_that():
    before = outcome("graphs")
    log = RunLog(before.folder / "runs.jsonl")
    contents = log.read()
    lost = min(key for key in contents if "method=r2-sort" in key)
    log.forget([lost])
    after = run(load("graphs"), before.folder, preset="tiny")
    assert after.n_computed == 1
    assert {k for k, found in log.read().items() if found != contents[k]} <= {lost}
    pd.testing.assert_frame_equal(
        before.rows.drop(columns="seconds"), after.rows.drop(columns="seconds")
    )


def test_comparison_scores_every_method():
    rows = outcome("comparison").rows
    assert set(rows["method"]) == {"dapdag-b", "mlp", "linear", "oracle"}
    assert set(rows["metric"]) == {"r2", "rmse"}
    oracle, linear = (values(rows, metric="r2", method=m).mean() for m in ("oracle", "linear"))
    assert oracle > linear
    assert (rows.groupby("seed")["env_distance"].nunique() == 1).all()


def test_comparison_of_classes_has_log_loss_first(tmp_path):
    tiny = replace(load("comparison").presets["tiny"], tasks=("classification",))
    result = run(load("comparison"), tmp_path, parameters=tiny, methods=["linear", "oracle"])
    rows = result.rows
    assert list(dict.fromkeys(rows["metric"])) == ["log_loss", "auc", "apr"]
    for metric in ("auc", "apr"):
        assert values(rows, metric=metric).between(0, 1).all()
    loss = {m: values(rows, metric="log_loss", method=m).mean() for m in ("linear", "oracle")}
    assert loss["oracle"] < loss["linear"]


def test_ranks_are_a_ranking():
    ranked = with_ranks(outcome("ranks").rows)
    for _, part in ranked.groupby(["label", "seed"]):
        best = part.loc[part["rank"].idxmin()]
        assert best["value"] == part["value"].max()
        assert part["rank"].sum() == sum(range(1, len(part) + 1))
    assert sinks() == ["X5", "X7"]


def test_graphs_of_no_edges_miss_them_all():
    rows = outcome("graphs").rows
    empty = rows[(rows["method"] == "empty")]
    assert (values(empty, metric="shd per edge") == 1).all()
    assert (values(empty, metric="recall") == 0).all()
    assert {"dapdag-b", "graph-search", "r2-sort", "cdnod"} <= set(rows["method"])
    assert set(rows[rows["metric"] == "r2"]["method"]) == {"dapdag-b"}


def test_ablations_change_the_result_and_stand_beside_the_paper():
    result = outcome("ablations")
    with_all = values(result.rows, metric="r2", method="Rec+Dag+Spa").to_numpy()
    without = values(result.rows, metric="r2", method="Dag+Spa").to_numpy()
    assert (with_all != without).all()
    searched, true = (
        values(result.rows, metric="r2", method=m).to_numpy() for m in ("searched", "true")
    )
    assert (searched != true).any()
    text = (result.folder / "table.md").read_text("utf-8")
    assert "0.422 (0.325)" in text and "0.501 (0.200)" in text
    assert "searched graph, no inference on it" in text


def test_one_ablation_is_fitted_without_inference_on_the_graph(monkeypatch):
    seen = []

    def noted(*arguments, **changes):
        seen.append((current().graph_inference, changes.get("structure")))
        return [None], [0.0]

    monkeypatch.setattr(ablations, "fit_all", noted)
    parameters = replace(ablations.PRESETS["tiny"], methods=("searched", "networks", "empty"))
    for one in ablations.runs(parameters, [0], parameters.methods):
        case = ablations.first_sources(ablations.simulated("regression", 20, 0), 3)
        ablations._fitted(one, [case], parameters, [0])
    assert [on for on, _ in seen] == [True, False, True]
    assert seen[2][1].number_of_edges() == 0


def test_distances_have_every_pair_once():
    rows = outcome("distances").rows
    assert set(rows["pair"]) == set(range(6))
    assert (rows["value"] > 0).all()
    settings = rows.groupby(["task", "labels", "standardised"]).size()
    assert len(settings) == 8 and settings.nunique() == 1
    by_labels = rows.pivot_table(
        index=["task", "standardised", "seed", "pair"], columns="labels", values="value"
    )
    assert (by_labels[True] >= 0.9 * by_labels[False]).all()


def test_environments_are_compared_over_all_pairs():
    rows = outcome("environments").rows
    pairs = rows[rows["metric"] == "difference"]
    assert set(pairs["pair"]) == set(range(45))
    assert pairs["sources"].sum() == 2 * 3  # three pairs of the three sources, two seeds
    assert values(rows, metric="correlation").between(-1, 1).all()
    assert (pairs["env_difference"] > 0).all()


def test_scalability_times_the_training_apart_from_compiling():
    rows = outcome("scalability").rows
    assert set(rows["metric"]) == {"r2", "rmse", "seconds", "compiling"}
    timed = rows[rows["metric"] == "seconds"]
    np.testing.assert_allclose(timed["value"], timed["seconds"])


def test_lanes_fit_as_one_by_one():
    data = [make_regression_domains(4, 60, random_state=s) for s in (0, 1)]
    sets = [first_sources(d, 3).training_set(False) for d in data]
    est = DAPDAGRegressor(n_members=1, max_epochs=5)
    together = fit_lanes(est, sets)
    for d, own, (X, y, sample_domain) in zip(data, together, sets, strict=True):
        alone = DAPDAGRegressor(n_members=1, max_epochs=5).fit(X, y, sample_domain=sample_domain)
        np.testing.assert_allclose(own.predict(d.X[:20]), alone.predict(d.X[:20]), atol=1e-2)
    assert not hasattr(est, "graph_")


def test_targets_are_told_apart_and_lose_their_labels():
    data = make_regression_domains(5, 10, random_state=0)
    case = first_sources(data, 3)
    X, y, sample_domain = case.training_set(with_target=True)
    assert sorted(set(sample_domain.tolist())) == [-1, 0, 1, 2]
    assert y[sample_domain == -1].isna().all() and y[sample_domain >= 0].notna().all()
    np.testing.assert_array_equal(X[sample_domain == -1], data.X[data.sample_domain == 4])
    assert len(case.training_set(with_target=False)[0]) == 30


def test_a_statement_needs_two_standard_errors():
    assert Statement("", 0.5, 0.2, 9, "").verdict == "holds"
    assert Statement("", 0.3, 0.2, 9, "").verdict == "not resolved"
    assert Statement("", -0.5, 0.2, 9, "").verdict == "does not hold"
    assert Statement("", 0.5, np.nan, 1, "").verdict == "not measured"


def test_better_is_paired_by_seed_and_knows_what_is_low():
    rows = pd.DataFrame(
        [
            {"seed": s, "method": m, "metric": "log_loss", "value": s + (0.1 if m == "b" else 0.0)}
            for s in range(4)
            for m in "ab"
        ]
    )
    found = better("a beats b", rows, "log_loss", "a", "b")
    assert found.effect == pytest.approx(0.1) and found.error < 1e-12 and found.n == 4


def test_slope_is_that_of_the_line():
    x = np.arange(5.0)
    found = slope("", x, 3 * x + 1, "")
    assert found.effect == pytest.approx(3) and found.error == pytest.approx(0, abs=1e-12)
    assert np.isnan(slope("", [1, 1, 1], [1, 2, 3], "").effect)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown experiment 'figure 3'"):
        load("figure 3")
    for name in ("comparison", "graphs", "ablations", "distances"):
        with pytest.raises(ValueError, match="nonsense"):
            run(load(name), tmp_path / name, preset="tiny", methods=["nonsense"])


def test_a_method_that_cannot_be_had_here_is_left_out(monkeypatch, capsys):
    experiment = load("graphs")
    parameters = replace(experiment.presets["tiny"], methods=("empty", "cdnod"))
    absent = replace(GRAPH_METHODS["cdnod"], packages=("no_such_package",))
    monkeypatch.setitem(GRAPH_METHODS, "cdnod", absent)
    found = experiment.runs(parameters, [0], parameters.methods)
    assert {r.method for r in found} == {"empty"}
    assert "left out: CD-NOD (Fisher z) is not installed: pip install 'dapdag[bench]'" in (
        capsys.readouterr().err
    )
