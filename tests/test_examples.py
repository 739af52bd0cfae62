"""Every script in examples runs and prints what its head promises."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from shrunk import SMALL, shrink_estimators

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py"))
QUICK = {"n_members": 1, "max_epochs": SMALL["max_epochs"]}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shrink_estimators(monkeypatch)
    monkeypatch.chdir(tmp_path)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_finite(text: str) -> bool:
    return "nan" not in text.lower() and "inf" not in text.lower().split()


@pytest.mark.parametrize("name", SCRIPTS)
def test_head_says_what_is_shown_and_how_to_run_it(name: str) -> None:
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    head = ast.get_docstring(tree) or ""
    assert f"python examples/{name}.py" in head
    assert len(head.splitlines()[0]) > 30


def test_all_that_are_promised_are_there_and_tested() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(SCRIPTS) >= {"first_steps", "multi_hospital", "model_selection", "skada_pipeline"}
    assert [name for name in SCRIPTS if name not in tested] == []


def test_first_steps(capsys: pytest.CaptureFixture[str]) -> None:
    example("first_steps").main()
    out = capsys.readouterr().out
    assert is_finite(out)
    assert "R² at the new site" in out and "E1_mean" in out and "distance to the true graph" in out
    for picture in ("graph.png", "environments.png"):
        assert (Path("example-output") / picture).read_bytes().startswith(b"\x89PNG")


def test_multi_hospital(capsys: pytest.CaptureFixture[str]) -> None:
    example("multi_hospital").main()
    out = capsys.readouterr().out
    assert "S08: AUC" in out and "S09: AUC" in out
    assert out.count("warning: column 'ejection_fraction' has no value in the domain") == 2
    assert "missing cells imputed, 0 left" in out
    page = (Path("example-output") / "hospitals.html").read_text(encoding="utf-8")
    assert "<title>Two hospitals</title>" in page


def test_reversal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    script = example("reversal")
    monkeypatch.setattr(script, "QUICK", QUICK)
    script.main()
    out = capsys.readouterr().out
    assert is_finite(out)
    assert "children of the label in the graph" in out
    losses = {line[:25].strip(): line[25:].split() for line in out.splitlines()}
    as_sources, turned = map(float, losses["pooled linear"])
    assert turned > 2 * as_sources
    assert len(losses["dapdag"]) == len(losses["oracle"]) == 2


def test_model_selection(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = example("model_selection")
    monkeypatch.setattr(script, "QUICK", QUICK)
    monkeypatch.setattr(script, "GRID", {"learning_rate": [2e-3, 1e-2]})
    script.main()
    out = capsys.readouterr().out
    assert is_finite(out)
    assert "chosen: {'learning_rate'" in out and "R² at the target" in out


def test_skada_pipeline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sklearn

    before = sklearn.get_config()
    try:
        script = example("skada_pipeline")
        script.main()
        out = capsys.readouterr().out
        installed = importlib.util.find_spec("skada") is not None
        assert ("ridge after CORAL (skada)" in out) == installed
        assert is_finite(out) and "dapdag, target unseen" in out

        monkeypatch.setattr(script, "find_spec", lambda name: None)
        script.main()
        out = capsys.readouterr().out
        assert "skada is not installed" in out and "CORAL" not in out
    finally:
        sklearn.set_config(**before)


def test_scaling_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from joblib import parallel_config

    script = example("scaling_out")
    monkeypatch.setattr(script, "QUICK", QUICK)
    monkeypatch.setattr(script, "find_spec", lambda name: None)
    # Threads in place of processes, which would each load JAX anew.
    with parallel_config(backend="threading"):
        script.main()
    out = capsys.readouterr().out
    assert "the same to the last digit: True" in out
    assert "Dask is not installed" in out


def test_federated(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Flower; with it below."""
    pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")
    script = example("federated")
    monkeypatch.setattr(script, "QUICK", QUICK)
    monkeypatch.setattr(script, "find_spec", lambda name: None)
    script.main()
    out = capsys.readouterr().out
    assert "the sites answer in this process" in out and "Hull: 300 rows" in out
    assert "calibration_slope" in out and "tau2" in out


def test_federated_over_flower(tmp_path: Path) -> None:
    """Three clients and a server on 127.0.0.1, each a process of its own."""
    pytest.importorskip("flwr", reason="Flower is not installed: the extra 'federated'")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "federated.py"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert "3 clients answered over 127.0.0.1" in done.stdout
    assert done.stdout.count("300 rows; effects") == 3 and "calibration_slope" in done.stdout
