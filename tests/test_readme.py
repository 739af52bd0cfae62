"""The README: what it shows runs as it stands, and what it points at is there."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_example_runs_as_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import dapdag

    short = functools.partial(dapdag.DAPDAGRegressor, max_epochs=10)
    monkeypatch.setattr(dapdag, "DAPDAGRegressor", short)
    examples = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
    assert "outside" in capsys.readouterr().out


def test_files_it_points_at_are_there() -> None:
    linked = re.findall(r"\]\((?!https?:|#)([^)]+)\)", README)
    assert "docs/images/demo.png" in linked
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_make_targets_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z]+)", README)) - {"sure"}
    assert named >= {"demo", "test"}
    assert [name for name in named if f"\n{name}:" not in makefile] == []
