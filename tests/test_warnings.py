"""Every warning of dapdag has a class of its own, which can be imported and filtered."""

import ast
from pathlib import Path

import pytest

import dapdag.warnings

SRC = Path(__file__).parents[1] / "src" / "dapdag"


def warn_calls():
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                yield pytest.param(node, id=f"{path.relative_to(SRC)}:{node.lineno}")


@pytest.mark.parametrize("call", list(warn_calls()))
def test_every_warning_has_a_public_class(call):
    assert len(call.args) > 1, "no category"
    names = {n.id for n in ast.walk(call.args[1]) if isinstance(n, ast.Name)}
    assert names & {*dapdag.warnings.__all__, "category"}, ast.unparse(call.args[1])


@pytest.mark.parametrize("name", dapdag.warnings.__all__)
def test_all_classes_derive_from_one(name):
    assert issubclass(getattr(dapdag.warnings, name), dapdag.warnings.DapdagWarning)
    assert issubclass(getattr(dapdag.warnings, name), UserWarning)


def test_no_warning_is_recognised_by_its_text_on_the_command_line():
    for room in ("cli", "demo", "report", "io", "_sklearn"):
        for path in (SRC / room).rglob("*.py"):
            assert "filterwarnings" not in path.read_text("utf-8"), path
