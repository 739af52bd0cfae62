"""The command line as a whole: help, wrong arguments, interruption, warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import assert_fits_a_terminal, assert_one_line, dapdag

HEAVY = ("jax", "sklearn", "pandas", "matplotlib")


COMMANDS = [
    *("fit", "predict", "adapt", "evaluate", "impute", "inspect", "graph", "environments"),
    *("track", "report"),
    *("demo", "doctor"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_json_and_quiet(command: str) -> None:
    done = dapdag(command, "--help")
    assert done.code == 0 and done.err == ""
    assert "Example" in done.out and f"  dapdag {command}" in done.out
    assert "--json" in done.out and "--quiet" in done.out
    assert_fits_a_terminal(done.out)


def test_help_lists_every_command() -> None:
    out = dapdag("--help").out
    assert out == dapdag().out
    assert all(f"\n  {command} " in out for command in COMMANDS)
    assert "..." not in out.partition("Options:")[2]
    assert_fits_a_terminal(out)


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], []])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["dapdag", *{arguments}]
from dapdag.cli import main
try:
    main()
except SystemExit:
    sys.exit(str([m for m in {HEAVY} if m in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith("[]")
    assert "demo" in done.stdout


def test_version() -> None:
    import dapdag as package

    assert dapdag("--version") == (0, f"dapdag {package.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["dmeo"], ["'dmeo'", "'demo'"]),
        (["fit", "x.csv", "--lable", "y"], ["--lable", "--label"]),
        (["fit"], ["DATA"]),
        (["fit", "x.csv", "-o", "m"], ["--label"]),
        (["demo", "--rows", "many"], ["--rows", "integer"]),
        (["fit", "x.csv", "--label", "y", "-o", "m", "--task", "guess"], ["--task", "guess"]),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], words: list[str]) -> None:
    assert_one_line(dapdag(*arguments), *words)


def test_interruption_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**asked: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dapdag.demo.run_demo", interrupted)
    assert dapdag("demo", "-o", tmp_path, "-q") == (130, "", "interrupted\n")


def test_warning_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    def warns(**asked: Any) -> None:
        warnings.simplefilter("always")
        warnings.warn("two rows\nwere dropped", stacklevel=1)
        raise ValueError("and so there are none")

    monkeypatch.setattr("dapdag.demo.run_demo", warns)
    done = dapdag("demo", "-o", tmp_path, "-q")
    assert done.err.splitlines() == [
        "warning: two rows were dropped",
        "error: and so there are none",
    ]
