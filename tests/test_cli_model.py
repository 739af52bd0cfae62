"""From CSV files to a model and what is asked of it, on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from cli_helpers import Done, assert_fits_a_terminal, assert_one_line, dapdag

# The settings and the shape of the doctor's self-test: what is compiled for one serves the other.
TINY = ["--set", "n_members=1", "--set", "hidden=4", "--set", "max_epochs=6"]
ROWS = 40


class Numbers(NamedTuple):
    folder: Path
    data: Path  # three sites with labels
    new: Path  # two sites without
    model: Path
    fitted: Done


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Numbers:
    """A regression fitted once by `dapdag fit`."""
    from dapdag.datasets import make_regression_domains

    folder = tmp_path_factory.mktemp("numbers")
    simulated = make_regression_domains(n_domains=5, n_samples=ROWS, random_state=0)
    frame = simulated.X.assign(
        outcome=simulated.y, hospital=[f"h{d}" for d in simulated.sample_domain]
    )
    frame["patient"] = [f"{k:04d}" for k in range(len(frame))]
    known = frame["hospital"].isin(["h0", "h1", "h2"])
    frame[known].to_csv(folder / "data.csv", index=False)
    frame[~known].drop(columns="outcome").to_csv(folder / "new.csv", index=False)
    fitted = dapdag(
        *("fit", folder / "data.csv", "--label", "outcome", "--domain", "hospital"),
        *("--drop", "patient", "-o", folder / "model.dapdag", *TINY),
    )
    return Numbers(folder, folder / "data.csv", folder / "new.csv", folder / "model.dapdag", fitted)


class Classes(NamedTuple):
    folder: Path  # of one file per site
    model: Path
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Classes:
    """A classification with text, codes, missing cells and a target, from one file per site."""
    folder = tmp_path_factory.mktemp("classes")
    sites = folder / "sites"
    sites.mkdir()
    rng = np.random.default_rng(0)
    for site in ("bonn", "leeds", "york"):
        frame = pd.DataFrame(
            {
                "age": rng.normal(60, 10, 30).round(),
                "stage": rng.choice(["I", "II", "III"], 30),
                "code": rng.choice(["1", "2", "?"], 30),
            }
        )
        frame["outcome"] = np.where(frame["age"] + rng.normal(0, 5, 30) > 60, "died", "alive")
        frame.to_csv(sites / f"{site}.csv", index=False, sep=";")
    done = dapdag(
        *("fit", sites, "--label", "outcome", "--target", "york", "--categorical", "code"),
        *("--missing", "?", "-o", folder / "model", "--json", *TINY),
    )
    assert done.code == 0 and done.err == "", done
    return Classes(sites, folder / "model", json.loads(done.out))


def test_fit_shows_the_schema_and_says_what_comes_next(numbers: Numbers) -> None:
    code, out, err = numbers.fitted
    assert code == 0 and "warning" not in err
    assert "data.csv: 120 rows" in out and "3 sites" in out
    assert "Label outcome: a number (regression)" in out
    assert all(site in out for site in ("h0", "h1", "h2")) and "Trained 6 epochs" in out
    assert "Prediction: " in out and "networks" in out
    assert f"dapdag predict {numbers.model} NEW.csv" in out.replace("\n", "")
    assert_fits_a_terminal("\n".join(x for x in out.splitlines() if str(numbers.folder) not in x))


def test_fit_to_json(classes: Classes) -> None:
    found = classes.summary
    assert found["task"] == "classification" and found["label"] == "outcome"
    assert [(s["name"], s["role"], s["labelled"]) for s in found["sites"]] == [
        ("bonn", "source", 30),
        ("leeds", "source", 30),
        ("york", "target", 0),
    ]
    types = {column["name"]: column["type"] for column in found["columns"]}
    assert types == {"age": "number", "stage": "category", "code": "binary"}
    assert found["epochs"] == 6 and found["model"] == str(classes.model)
    assert np.isfinite(found["validation_loss"])


def test_model_knows_the_names_of_its_sources(classes: Classes) -> None:
    from dapdag import load

    model = load(classes.model)
    assert list(model.source_environments_.index) == ["bonn", "leeds"]
    assert model.classes_.tolist() == ["alive", "died"] and model.verbose == 0


def test_assessment_is_kept_in_the_model(numbers: Numbers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the evaluation is asked; that it answers well is its own tests' concern."""
    from dapdag import load

    asked: dict[str, Any] = {}
    scores = pd.DataFrame(
        {"target": ["h0"], "method": ["dapdag"], "metric": ["r2"], "value": [0.5]}
    )

    def assess(estimator: Any, data: Any, **more: Any) -> Any:
        asked.update(estimator=estimator, data=data, **more)
        return scores

    monkeypatch.setattr("dapdag.evaluate.assess", assess)
    output = numbers.folder / "assessed"
    done = dapdag(
        *("fit", numbers.data, "--label", "outcome", "--domain", "hospital", "-q"),
        *("--drop", "patient", "-o", output, "--assess", *TINY),
    )
    assert done.code == 0, done.err
    assert asked["estimator"].max_epochs == 6
    assert asked["data"].domains == ["h0", "h1", "h2"] and asked["progress"] is False
    pd.testing.assert_frame_equal(load(output).assessment_, scores)
    inspected = json.loads(dapdag("inspect", output, "--json").out)
    assert inspected["assessed"] and sum(inspected["prediction"]["experts"].values()) == 1


def test_settings_are_chosen_by_left_out_sites(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dapdag import load
    from dapdag.evaluate import tuning

    monkeypatch.setattr(tuning, "TUNED", {"as set": {}, "hidden=5": {"hidden": 5}})
    output = numbers.folder / "tuned"
    given = ("fit", numbers.data, "--label", "outcome", "--domain", "hospital")
    more = ("--drop", "patient", "-o", output, "--tune", "--json", *TINY)
    done = dapdag(*given, *more)
    assert done.code == 0, done.err
    found = json.loads(done.out)["tuned"]
    assert set(found["means"]) == {"as set", "hidden=5"} and found["metric"] == "r2"
    assert load(output).hidden == (4 if found["chosen"] == "as set" else 5)
    assert_one_line(dapdag(*given, *more[:5], "-q", "--tune-minutes", "0"), "--tune-minutes")


def test_site_with_one_row_is_learned_from_with_a_warning(numbers: Numbers) -> None:
    from dapdag import load

    frame = pd.read_csv(numbers.data, dtype=str)
    more = pd.concat([frame, frame.iloc[[0]].assign(hospital="solo")])
    more.to_csv(numbers.folder / "solo.csv", index=False)
    done = dapdag(
        *("fit", numbers.folder / "solo.csv", "--label", "outcome", "--domain", "hospital", "-q"),
        *("--drop", "patient", "-o", numbers.folder / "solo", *TINY),
    )
    assert done.code == 0
    assert done.err.splitlines() == [
        "warning: 1 site with one row only ('solo'): so little says next to nothing about a site"
    ]
    environments = load(numbers.folder / "solo").source_environments_
    assert list(environments.index) == ["h0", "h1", "h2", "solo"]
    assert np.isfinite(environments.to_numpy()).all()


def test_fit_stops_after_the_schema_when_asked_to(numbers: Numbers) -> None:
    output = numbers.folder / "never"
    done = dapdag(
        *("fit", numbers.data, "--label", "outcome", "--domain", "hospital", "-o", output),
        *("--drop", "patient", "--dry-run", "--json"),
    )
    assert json.loads(done.out)["rows"] == 3 * ROWS and not output.exists()


@pytest.mark.parametrize(
    "setting, words",
    [
        ("max_epoch=3", ["max_epoch", "did you mean 'max_epochs'?"]),
        ("zzz=3", ["zzz", "parameters are 'structure'"]),
        ("hidden=wide", ["hidden=wide", "a whole number"]),
        ("hidden=1.5", ["hidden=1.5", "a whole number"]),
        ("bayesian=maybe", ["bayesian", "true or false"]),
        ("learning_rate=fast", ["learning_rate", "a number"]),
        ("hidden=0", ["hidden must be a whole number of at least 1"]),
        ("hidden", ["hidden", "name=value"]),
        ("verbose=1", ["verbose", "--quiet"]),
    ],
)
def test_wrong_setting_is_one_line(numbers: Numbers, setting: str, words: list[str]) -> None:
    given = ("--label", "outcome", "--domain", "hospital", "--drop", "patient", "-o", "m", "-q")
    done = dapdag("fit", numbers.data, *given, "--dry-run", "--set", setting)
    assert_one_line(done, *words)
    output = numbers.folder / "never"
    done = dapdag(
        *("fit", numbers.data, "--label", "outcome", "--domain", "hospital", "-q"),
        *("--drop", "patient", "-o", output, "--set", setting),
    )
    assert_one_line(done, *words)
    assert not output.exists()


def test_settings_have_the_types_of_the_parameters() -> None:
    from dapdag import DAPDAGRegressor
    from dapdag.cli._settings import parse_settings

    given = ["bayesian=no", "hidden=8", "learning_rate=1e-3", "acyclicity=none", "steps=domains"]
    assert parse_settings(given, DAPDAGRegressor) == {
        "bayesian": False,
        "hidden": 8,
        "learning_rate": 1e-3,
        "acyclicity": None,
        "steps": "domains",
    }
    assert parse_settings(["steps=12"], DAPDAGRegressor) == {"steps": 12}
    assert parse_settings(["random_state=7"], DAPDAGRegressor) == {"random_state": 7}
    with pytest.raises(ValueError, match="set twice"):
        parse_settings(["hidden=8", "hidden=9"], DAPDAGRegressor)


@pytest.mark.parametrize("name", ["model.csv", "no/model", "."])
def test_model_has_a_place_before_it_is_trained(numbers: Numbers, name: str) -> None:
    done = dapdag(
        *("fit", numbers.data, "--label", "outcome", "--domain", "hospital"),
        *("-o", numbers.folder / name),
    )
    assert_one_line(done, str(numbers.folder / name))


def test_prediction_is_the_models(numbers: Numbers) -> None:
    from dapdag import load

    output = numbers.folder / "p.parquet"
    done = dapdag(
        *("predict", numbers.model, numbers.new, "--domain", "hospital", "--id", "patient"),
        *("-o", output, "--coverage", "0.5"),
    )
    assert done.code == 0 and f"Wrote {output}: {2 * ROWS} rows" in done.out
    found = pd.read_parquet(output)
    assert list(found) == ["patient", "hospital", "prediction", "low", "high", "outside"]
    assert found["patient"].tolist()[0] == "0120"
    new = pd.read_csv(numbers.new)
    model = load(numbers.model)
    X = new[list(model.feature_names_in_)]
    np.testing.assert_allclose(found["prediction"], model.predict(X, new["hospital"]), rtol=1e-6)
    interval = model.predict_interval(X, 0.5, sample_domain=new["hospital"])
    np.testing.assert_allclose(found[["low", "high"]], interval, rtol=1e-6)
    environment = model.environment(X, new["hospital"])
    assert found.groupby("hospital")["outside"].first().tolist() == environment["outside"].tolist()


def test_predictions_go_to_standard_output_as_csv(numbers: Numbers) -> None:
    done = dapdag("predict", numbers.model, numbers.new, "--domain", "", "-q")
    found = pd.read_csv(StringIO(done.out))
    assert list(found) == ["prediction", "low", "high", "outside"] and len(found) == 2 * ROWS
    assert (found["low"] < found["prediction"]).all() and (
        found["prediction"] < found["high"]
    ).all()


def test_predictions_as_json(classes: Classes) -> None:
    done = dapdag("predict", classes.model, classes.folder / "york.csv", "--missing", "?", "--json")
    found = json.loads(done.out)
    assert found["rows"] == 30 == len(found["predictions"]) and found["output"] is None
    (environment,) = found["environments"]
    assert environment["site"] == "new" and np.isfinite(environment["E1_mean"])
    first = found["predictions"][0]
    assert first["probability_alive"] + first["probability_died"] == pytest.approx(1, abs=1e-6)
    assert first["prediction"] == max(("alive", "died"), key=lambda c: first[f"probability_{c}"])


def test_folder_of_new_sites(classes: Classes) -> None:
    done = dapdag("predict", classes.model, classes.folder, "--missing", "?", "-q")
    found = pd.read_csv(StringIO(done.out))
    assert found["site"].value_counts().to_dict() == {"bonn": 30, "leeds": 30, "york": 30}


@pytest.fixture
def far(numbers: Numbers) -> Iterator[Path]:
    """A site far from all sources."""
    path = numbers.folder / "far.csv"
    frame = pd.read_csv(numbers.new)
    features = frame.columns.difference(["hospital", "patient"])
    frame[features] = frame[features] * 10 + 100
    frame.to_csv(path, index=False)
    yield path
    path.unlink()


def put_outside(monkeypatch: pytest.MonkeyPatch, share: list[float]) -> None:
    """Every new site lies outside by its E, which has this share in the prediction."""
    from dapdag.inference.coordinates import EnvironmentMap
    from dapdag.inference.novelty import is_novel

    inferred = EnvironmentMap.describe

    def outside(self: Any, labels: Any, found: Any, novel: Any = None) -> pd.DataFrame:
        return inferred(self, labels, found, novel).assign(E1_mean=999.0, outside=True)

    monkeypatch.setattr(EnvironmentMap, "describe", outside)
    monkeypatch.setattr("dapdag._sklearn.sites.is_novel", lambda excess: is_novel(excess * 0))
    monkeypatch.setattr(
        "dapdag._sklearn.notices.uses_environment", lambda model: bool(sum(share[1:]))
    )


def test_site_outside_the_sources_is_warned_of(
    numbers: Numbers, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dapdag import load
    from dapdag.warnings import OutsideWarning

    put_outside(monkeypatch, [0.5, 0.5, 0.0])
    done = dapdag("predict", numbers.model, far, "--domain", "hospital", "-q")
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if "outside what the sources span" in line]
    assert len(lines) == 2 and all(line.startswith("warning: the domain 'h") for line in lines)
    assert pd.read_csv(StringIO(done.out))["outside"].all()
    model = load(numbers.model)
    X = pd.read_csv(far)[list(model.feature_names_in_)]
    with pytest.warns(OutsideWarning, match="'new' lies outside what the sources span"):
        model.predict(X)


def test_model_without_a_share_of_the_environment_does_not_extrapolate_by_it(
    numbers: Numbers, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_outside(monkeypatch, [1.0, 0.0, 0.0])
    done = dapdag("predict", numbers.model, far, "--domain", "hospital", "-q")
    assert done.code == 0 and "outside what the sources span" not in done.err


def test_new_sites_stand_above_however_many_sources(capsys: pytest.CaptureFixture[str]) -> None:
    from types import SimpleNamespace

    from dapdag.cli._environments import show_environments

    names = [f"s{k}" for k in range(90)]
    sources = pd.DataFrame({"E1_mean": np.arange(90.0), "E1_sd": 1.0}, index=names)
    new = pd.DataFrame({"E1_mean": [80.5], "E1_sd": [1.0], "outside": [False]}, index=["mine"])
    show_environments(SimpleNamespace(source_environments_=sources), new)
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["mine", "new", "80.50", "1.00"]
    assert "and 51 more" in lines[-2]


def test_note_says_which_columns_play_no_part(numbers: Numbers) -> None:
    done = dapdag("predict", numbers.model, numbers.data)
    assert "the label 'outcome' is there, and not looked at" in done.err
    assert "'hospital' names the sites, as in training" in done.err
    frame = pd.read_csv(numbers.data).rename(columns={"hospital": "clinic"})
    path = numbers.folder / "renamed.csv"
    frame.to_csv(path, index=False)
    done = dapdag("predict", numbers.model, path)
    assert "not used: 'clinic'\n" in done.err and "give --domain" in done.err


def test_two_sites_in_the_known_column_are_two_sites(numbers: Numbers) -> None:
    done = dapdag("predict", numbers.model, numbers.new, "--json")
    assert [e["site"] for e in json.loads(done.out)["environments"]] == ["h3", "h4"]


def test_identifier_is_remembered(numbers: Numbers) -> None:
    from dapdag import load
    from dapdag._sklearn.network import NetworkEstimator

    model = load(numbers.model)
    assert isinstance(model, NetworkEstimator) and model.reading_ is not None
    assert model.reading_["domain"] == "hospital" and model.reading_["dropped"] == ["patient"]
    model.reading_ |= {"ids": ["patient"], "dropped": []}
    model.save(numbers.folder / "with-id.dapdag")
    done = dapdag("predict", numbers.folder / "with-id.dapdag", numbers.new, "-q")
    found = pd.read_csv(StringIO(done.out), dtype=str)
    assert list(found)[:2] == ["patient", "hospital"] and found["patient"][0] == "0120"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["predict", "{data}", "{new}"], ["is a table, and the model comes first"]),
        (["predict", "{model}", "{model}"], ["is a dapdag model, and a table is expected"]),
        (["fit", "{model}", "--label", "y", "-o", "m"], ["is a dapdag model, and a table"]),
        (["predict", "{model}", "{folder}/none.csv"], ["no file", "none.csv"]),
        (["predict", "{folder}/none", "{new}"], ["no model at", "none"]),
        (["predict", "{model}", "{new}", "--coverage", "90"], ["--coverage 90", "0 and 1"]),
        (["predict", "{model}", "{new}", "--id", "patent"], ["did you mean 'patient'?"]),
        (["predict", "{model}", "{new}", "-o", "{folder}/p.xlsx"], ["p.xlsx", ".parquet"]),
        (["graph", "{model}", "-o", "{folder}/dag.gif"], ["dag.gif", ".svg"]),
        (["inspect", "{folder}"], ["{folder}"]),
        (["environments", "{model}", "--domain", "x"], ["--domain", "new table"]),
        (["environments", "{model}", "-o", "{folder}/x.html"], [".png", ".csv"]),
        (["report", "{model}", "-o", "{folder}/report.pdf"], [".html"]),
        (["impute", "{model}", "{new}", "-o", "{folder}/x.md"], ["x.md", ".csv"]),
    ],
)
def test_wrong_file_is_one_line(numbers: Numbers, arguments: list[str], words: list[str]) -> None:
    places = numbers._asdict()
    done = dapdag(*(text.format(**places) for text in arguments), "--quiet")
    assert_one_line(done, *(word.format(**places) for word in words))


def test_graph_as_a_table_and_as_json(numbers: Numbers) -> None:
    from dapdag import load

    graph = load(numbers.model).graph_
    found = json.loads(dapdag("graph", numbers.model, "--json").out)
    assert {(e["from"], e["to"]) for e in found["edges"]} == set(graph.edges)
    assert {node["name"] for node in found["nodes"]} == set(graph)
    shown = dapdag("graph", numbers.model)
    assert shown.code == 0 and (not graph.edges or "→" in shown.out)


@pytest.mark.parametrize("suffix, start", [("svg", b"<?xml"), ("dot", b"digraph")])
def test_graph_to_a_file(numbers: Numbers, suffix: str, start: bytes) -> None:
    path = numbers.folder / f"dag.{suffix}"
    done = dapdag("graph", numbers.model, "-o", path)
    assert done.code == 0 and str(path) in done.out
    assert path.read_bytes().startswith(start)


def test_environments_of_sources_and_new_sites(numbers: Numbers) -> None:
    shown = dapdag("environments", numbers.model, numbers.new, "--domain", "hospital").out
    assert all(site in shown for site in ("h0", "h1", "h2", "h3", "h4"))
    assert_fits_a_terminal(shown)
    found = json.loads(dapdag("environments", numbers.model, "--json").out)
    assert [source["site"] for source in found["sources"]] == ["h0", "h1", "h2"]
    assert found["new"] == []


def test_environments_to_files(numbers: Numbers) -> None:
    table, picture = numbers.folder / "e.csv", numbers.folder / "e.png"
    for path in (table, picture):
        done = dapdag(
            "environments", numbers.model, numbers.new, "--domain", "hospital", "-o", path, "-q"
        )
        assert done.code == 0 and done.out == ""
    found = pd.read_csv(table)
    assert found["site"].tolist() == ["h0", "h1", "h2", "h3", "h4"]
    assert found["source"].tolist() == [True, True, True, False, False]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_inspect_says_what_the_file_holds(numbers: Numbers, classes: Classes) -> None:
    import dapdag as package

    shown = dapdag("inspect", numbers.model).out
    assert "DAPDAGRegressor of outcome" in shown and "hidden=4" in shown and "h2" in shown
    found = json.loads(dapdag("inspect", classes.model, "--json").out)
    assert found["estimator"] == "DAPDAGClassifier" and found["label"]["levels"] == [
        "alive",
        "died",
    ]
    assert [(s["name"], s["rows"]) for s in found["sources"]] == [("bonn", 30), ("leeds", 30)]
    assert found["unlabelled_rows"] == 30 and not found["assessed"]
    assert found["changed"] == ["hidden", "max_epochs", "n_members"]
    assert found["settings"]["max_epochs"] == 6 == found["training"]["epochs"]
    assert found["versions"]["dapdag"] == package.__version__
    code = next(column for column in found["columns"] if column["name"] == "code")
    assert code["levels"] == ["1", "2"] and 0 < code["missing"] < 1


def test_impute_fills_in_missing_cells_only(numbers: Numbers) -> None:
    from dapdag import DAPDAGRegressor

    if not hasattr(DAPDAGRegressor, "impute"):
        pytest.skip("the estimators cannot impute yet")
    frame = pd.read_csv(numbers.new, dtype=str)
    feature = frame.columns[0]
    frame.loc[::2, feature] = None
    gaps, output = numbers.folder / "gaps.csv", numbers.folder / "complete.csv"
    frame.to_csv(gaps, index=False)
    done = dapdag("impute", numbers.model, gaps, "--domain", "hospital", "-o", output, "--json")
    assert json.loads(done.out)["filled"] == {feature: ROWS}
    found = pd.read_csv(output, dtype=str)
    assert list(found) == [*frame, "imputed"] and found[feature].notna().all()
    assert found["imputed"].fillna("").tolist() == [feature, ""] * ROWS
    pd.testing.assert_frame_equal(found[1::2][list(frame)], frame[1::2])
    others = list(frame.columns.drop(feature))
    pd.testing.assert_frame_equal(found[others], frame[others])


def test_report_is_written(numbers: Numbers) -> None:
    output = numbers.folder / "report.html"
    done = dapdag("report", numbers.model, numbers.new, "--domain", "hospital", "-o", output)
    assert done.code == 0 and output.read_text().lstrip().lower().startswith("<!doctype html>")


FIT = ["--label", "outcome", "--domain", "hospital", "--drop", "patient", "-q", *TINY]


def interrupt_label_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first epochs of the label's networks."""
    from dapdag.training import run as module

    train = module.train

    def interrupted(*given: Any, on_progress: Any, warns: bool, **more: Any) -> Any:
        def stop(epoch: int, loss: float) -> None:
            if warns:
                raise KeyboardInterrupt

        return train(*given, on_progress=stop, warns=warns, **more)

    monkeypatch.setattr(module, "train", interrupted)


def test_interrupted_training_keeps_the_best_weights(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dapdag import load

    interrupt_label_stage(monkeypatch)
    output = numbers.folder / "half.dapdag"
    done = dapdag("fit", numbers.data, "-o", output, *FIT)
    assert done.code == 130 and done.out == ""
    assert f"the best weights so far are in {output}" in done.err
    model = load(output)
    assert model.fitted_.interrupted and model.reading_["domain"] == "hospital"
    before = numbers.model.read_bytes()
    done = dapdag("fit", numbers.data, "-o", numbers.model, *FIT)
    kept = numbers.folder / "model.interrupted.dapdag"
    assert done.code == 130 and str(kept) in done.err
    assert load(kept).fitted_.interrupted and numbers.model.read_bytes() == before


def test_interrupted_assessment_keeps_the_model_and_no_scores(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dapdag import load
    from dapdag.evaluate import assess

    def at_last(*given: Any, **more: Any) -> Any:
        interrupt_label_stage(monkeypatch)
        return assess(*given, **more)

    monkeypatch.setattr("dapdag.evaluate.assess", at_last)
    output = numbers.folder / "unassessed.dapdag"
    done = dapdag("fit", numbers.data, "-o", output, "--assess", *FIT)
    assert done.code == 130 and "without its assessment" in done.err
    model = load(output)
    assert model.assessment_ is None and not model.fitted_.interrupted


def test_full_disk_does_not_lose_the_model(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dapdag import load
    from dapdag._sklearn.network import NetworkEstimator

    save = NetworkEstimator.save
    output = numbers.folder / "full.dapdag"

    def full(self: Any, path: Path) -> None:
        if path == output:
            raise OSError(28, "No space left on device", str(path))
        save(self, path)

    monkeypatch.setattr(NetworkEstimator, "save", full)
    monkeypatch.chdir(tmp_path)
    done = dapdag("fit", numbers.data, "-o", output, *FIT)
    kept = tmp_path / "rescued-full.dapdag"
    assert_one_line(done, str(output), "No space left", f"the trained model is in {kept}")
    assert load(kept).n_epochs_ > 0


def test_model_without_a_graph_is_refused(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr("dapdag.load", lambda path: SimpleNamespace())
    assert_one_line(dapdag("graph", numbers.model), "neither environments nor a graph")


def test_process_ends_with_code_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,a\n1,2,3\n")
    command = [sys.executable, "-m", "dapdag", "fit", str(path), "--label", "b", "-o", "m"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"error: {path} has 2 columns named 'a' (columns 1, 3): give every column a name of its own"
    ]
