"""TabPFN as a method of the registry: what it is shown, and what is said where it cannot run."""

import io
import pickle
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dapdag.baselines import registry
from dapdag.baselines.peers.tabpfn import TabPFN, _drawn_rows
from dapdag.baselines.peers.weights import VARIABLE, VERSIONS, missing_weights

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fetch_weights.py"
ARCHIVES = {
    "tabpfn-0.1.tar.gz": "tabpfn-0.1/tabpfn/models_diff/" + VERSIONS["classification"].weights,
    "tabpfn_time_series-0.1.3.tar.gz": "tabpfn_time_series-0.1.3/" + VERSIONS["regression"].weights,
    "tabpfn-0.1.11-py3-none-any.whl": "tabpfn/__init__.py",
    "tabpfn-2.0.9-py3-none-any.whl": "tabpfn/__init__.py",
}


@pytest.fixture
def no_weights(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(4), 40)
    X = pd.DataFrame({"x": rng.normal(size=160), "kind": rng.choice(["a", "b"], 160), "same": 1.0})
    X.loc[::17, "x"] = np.nan
    y = 2 * X["x"].fillna(0) + (X["kind"] == "a") + 0.3 * rng.normal(size=160)
    return X, y, site


def fetch(archives, folder):
    command = [sys.executable, str(SCRIPT), "--archives", str(archives)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder))
        return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("task", registry.TASKS)
def test_without_weights_it_is_left_out_with_the_reason(task, no_weights, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda package: object())
    assert "tabpfn" not in registry.available(task)
    reason = registry.METHODS["tabpfn-env"].lacks(task)
    assert VERSIONS[task].weights in reason and "fetch_weights.py" in reason
    with pytest.raises(ValueError, match=VARIABLE):
        TabPFN.fit(np.eye(3), np.array([0, 1, 1]), task == "regression", {}, 0)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda package: None)
    assert registry.METHODS["tabpfn"].lacks("regression").endswith("'dapdag[foundation]'")
    assert registry.METHODS["catboost-env"].lacks("regression").endswith("'dapdag[boosting]'")
    assert registry.METHODS["linear-env"].lacks("regression") is None


def test_rows_beyond_its_limit_are_drawn_and_keep_every_class():
    y = np.zeros(500, dtype=int)
    y[123], y[[7, 300]] = 1, 2
    for seed in range(5):
        rows = _drawn_rows(y, 20, False, np.random.default_rng(seed))
        assert len(rows) == len(set(rows)) == 20
        assert set(y[rows]) == {0, 1, 2}
    assert len(_drawn_rows(y, 500, False, np.random.default_rng(0))) == 500


def test_archives_are_unpacked_into_the_folder(tmp_path):
    archives, folder = tmp_path / "archives", tmp_path / "weights"
    archives.mkdir()
    found = fetch(archives, folder)
    assert found.returncode == 2 and "tabpfn-0.1.11" in found.stderr
    for name, member in ARCHIVES.items():
        if name.endswith(".whl"):
            with zipfile.ZipFile(archives / name, "w") as wheel:
                wheel.writestr(member, f"# {name}")
        else:
            with tarfile.open(archives / name, "w:gz") as source:
                about = tarfile.TarInfo(member)
                about.size = len(name)
                source.addfile(about, io.BytesIO(name.encode()))
    assert fetch(archives, folder).returncode == 0
    weights = folder / "v1" / VERSIONS["classification"].weights
    assert weights.read_text() == "tabpfn-0.1.tar.gz"
    assert "2.0.9" in (folder / "v2" / "tabpfn" / "__init__.py").read_text()
    assert "already there" in fetch(archives, folder).stdout


def test_weights_do_not_belong_in_the_repository(tmp_path):
    found = fetch(tmp_path, SCRIPT.parents[1] / "build" / "weights")
    assert found.returncode == 2 and "repository" in found.stderr


@pytest.mark.parametrize("task", registry.TASKS)
def test_it_learns_from_the_rows_that_it_is_shown(task, table):
    pytest.importorskip("torch")
    if reason := missing_weights(task):
        pytest.skip(reason)
    import torch

    X, y, site = table
    label = y if task == "regression" else np.where(y > 1, "high", "low")
    new = site == 3
    before = torch.random.get_rng_state()
    fitted = registry.make("tabpfn", task).fit(X[~new], label[~new], site[~new])
    assert fitted.score(X[new], label[new]) > 0.85
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(fitted.predict(X[new]), again.predict(X[new]))
    assert not any(name.partition(".")[0] == "tabpfn" for name in sys.modules)
    assert torch.equal(before, torch.random.get_rng_state())


def test_what_it_does_not_take_is_said(table, tmp_path, monkeypatch):
    monkeypatch.setattr("dapdag.baselines.peers.tabpfn.missing_weights", lambda task: None)
    Z = np.random.default_rng(0).normal(size=(40, 120))
    with pytest.raises(ValueError, match="takes 10 classes, got 11"):
        TabPFN.fit(Z, np.arange(40) % 11, False, {}, 0)
    with pytest.raises(ValueError, match="not n_trees"):
        TabPFN.fit(Z, np.arange(40.0), True, {"n_trees": 3}, 0)
    kept = TabPFN.fit(Z, np.arange(40) % 2, False, {}, 0)
    assert kept.Z.shape == (40, 100)
    constant = TabPFN.fit(np.ones((4, 2)), np.array([0, 1, 1, 1]), False, {}, 0)
    np.testing.assert_allclose(constant.predict(np.ones((2, 2))), [[0.25, 0.75]] * 2)
