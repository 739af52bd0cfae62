"""The manual: its code runs as it stands, its commands are real, its pages hang together."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cli_helpers import dapdag
from manual import DOCS, ROOT, Block, Command, blocks_of, pages, text_of
from shrunk import SMALL, shrink_estimators

from dapdag.warnings import DapdagWarning

PAGES = pages()
# Further options for commands that take minutes as they stand in the manual; the last one counts.
BRIEF = {
    "reproduce": ["--preset", "tiny", "--seeds", "0:1", "--jobs", "1"],
    "evaluate": ["--set", f"max_epochs={SMALL['max_epochs']}"],
}
# Run to their end by test_cli.py and test_doctor.py; here their options are parsed.
RUN_ELSEWHERE = ("demo", "doctor")
LANGUAGES = {"python", "sh", "text", "json", "output"}
# Pages that train nothing before they print: what they print is compared to the last digit.
EXACT = ("validation.md",)
# Elsewhere words, rows and columns are compared, but not numbers and lists of edges, and of
# commands the lines that have no number: models are smaller in the tests than for a reader
# (`docs/outputs.py` writes what he sees), and a command puts its results into words.
NUMBER = re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?|\bnan\b|\bNaN\b|\b(True|False)\b")


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b.language not in ("text", "output") for b in blocks_of(p))]
)
def test_code_runs_as_it_stands(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sklearn
    from matplotlib import pyplot as plt

    shrink_estimators(monkeypatch)
    monkeypatch.chdir(tmp_path)
    settings = sklearn.get_config()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for block in blocks_of(page):
            if block.language == "python" and block.can_run:
                printed = run_python(page, block, namespace)
                form = lines_of if page in EXACT else form_of
                assert form(printed) == form(block.output or ""), block.line
            if block.language == "sh" and block.can_run:
                printed = "\n".join(run_line(Command.of(line)) for line in block.commands)
                shown = printed if block.output is None else block.output
                assert headings_of(printed) == headings_of(shown), block.line
    finally:
        plt.close("all")
        sklearn.set_config(**settings)


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def form_of(text: str) -> list[str]:
    """What a text says but for its numbers, blanks and edges, and the order of its rows."""
    masked = NUMBER.sub("0", re.sub(r"\[\(.*\)\]", "edges", text))
    lines = [" ".join(line.split()) for line in masked.strip().splitlines()]
    return sorted(line.replace("[ ", "[").replace(" ]", "]") for line in lines)


def headings_of(text: str) -> list[str]:
    """The words of the lines that have no number, in the order of their first appearance.

    Wide tables are printed in parts, and what fits into the first depends on the numbers.
    """
    lines = [line for line in text.splitlines() if not re.search(r"\d", line)]
    return list(dict.fromkeys(word for line in lines for word in line.split() if word.strip("─")))


def run_python(page: str, block: Block, namespace: dict[str, Any]) -> str:
    """Run a block, and return what it printed."""
    # As many empty lines before it as in the page, so that a traceback shows the page's line.
    code = compile("\n" * (block.line - 1) + block.code, str(DOCS / page), "exec")
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as out:
        # What a reader is told about a table is no failure of the page.
        warnings.simplefilter("ignore", DapdagWarning)
        exec(code, namespace)
    return out.getvalue()


def run_line(command: Command) -> str:
    """Run dapdag; of other programs look whether what they are told to run is there."""
    program, *arguments = command.words
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert [t for t in arguments if f"\n{t}:" not in makefile] == []
    elif program == "python":
        assert (ROOT / arguments[0]).is_file(), arguments[0]
    elif program == "pip":
        assert arguments[0] == "install"
    else:
        assert program == "dapdag", f"unknown program {program!r}"
        brief = [] if "--list" in arguments else BRIEF.get(arguments[0], [])
        if arguments[0] == "evaluate" and "--target" not in arguments:
            brief = [*brief, "--target", "S01"]
        if arguments[0] in RUN_ELSEWHERE:
            brief = ["--help"]
        return run_dapdag(command, *brief)
    return ""


def run_dapdag(command: Command, *more: str) -> str:
    """Run a command of dapdag with more options, and return what it printed."""
    with mock.patch.dict(os.environ, command.environment):
        done = dapdag(*command.words[1:], *more)
    assert done.code == 0, (command.words, done.err)
    assert done.out
    return done.out


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_of_known_languages(page: str) -> None:
    assert {block.language for block in blocks_of(page)} <= LANGUAGES
    # A fence that is indented, or has options, would not be found and not be run.
    fences = re.findall(r"^\s*```(?:python|sh)", text_of(page), flags=re.MULTILINE)
    assert len(fences) == sum(block.language in ("python", "sh") for block in blocks_of(page))


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_points_at_is_there(page: str) -> None:
    text, folder = text_of(page), (DOCS / page).parent
    documents = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`", text)
    documents += re.findall(r"^:link: (\S+)$", text, flags=re.MULTILINE)
    files = re.findall(r"^```\{(?:figure|literalinclude|include)\} (\S+)$", text, re.MULTILINE)
    files += re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", text)
    missing = [d for d in documents if not (folder / f"{d}.md").is_file()]
    missing += [f for f in files if not (folder / f).is_file()]
    assert missing == []


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = set()
    for page in PAGES:
        folder = (DOCS / page).parent
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```", text_of(page), re.DOTALL | re.M):
            for line in filter(None, body.splitlines()):
                if not line.startswith(":"):
                    entry = re.sub(r"^.*<(.+)>$", r"\1", line)
                    found = folder.glob(f"{entry}.md")
                    listed |= {path.relative_to(DOCS).as_posix() for path in found}
    assert set(PAGES) - listed == {"index.md"}


def test_every_command_has_its_help_and_an_example() -> None:
    from dapdag.cli import app

    commands = {info.callback.__name__ for info in app.registered_commands if info.callback}
    text = text_of("cli.md")
    assert set(re.findall(r"^```\{cli-help\} (\w+)$", text, re.MULTILINE)) == commands
    lines = [Command.of(c) for b in blocks_of("cli.md") if b.language == "sh" for c in b.commands]
    assert {line.words[1] for line in lines if line.words[0] == "dapdag"} >= commands


def test_every_experiment_is_listed() -> None:
    from dapdag.experiments import CATALOGUE

    text = text_of("reproduce.md")
    assert [n for n, shows in CATALOGUE.items() if f"| `{n}` | {shows} |" not in text] == []


def test_every_public_name_is_in_the_reference() -> None:
    reference = "\n".join(text_of(page) for page in PAGES if page.startswith("api/"))
    for name in (
        "",
        "datasets",
        "baselines",
        "evaluate",
        "plotting",
        "io",
        "graph_baselines",
        "explain",
        "distributed",
    ):
        module = importlib.import_module(f"dapdag.{name}".rstrip("."))
        public = set(module.__all__) - {"__version__"}
        assert [n for n in public if not re.search(rf"\b{n}\b", reference)] == []


def test_every_method_of_the_estimators_is_in_the_reference() -> None:
    import dapdag

    pages = {"DAPDAGRegressor": "estimators", "DAPDAGClassifier": "classifier"}
    for name, page in pages.items():
        text = text_of(f"api/{page}.md")
        cls = getattr(dapdag, name)
        own = {
            method
            for method, _ in inspect.getmembers(cls, callable)
            if not method.startswith("_") and getattr(cls, method).__module__.startswith("dapdag.")
        }
        found = re.search(rf"autoclass:: {name}\n +:members: (.+)", text)
        assert found is not None
        assert {m.strip() for m in found[1].split(",")} == own


def test_examples_are_shown() -> None:
    shown = {
        path.rsplit("/", 1)[1]
        for page in PAGES
        for path in re.findall(r"^```\{literalinclude\} (\S+)$", text_of(page), re.MULTILINE)
    }
    assert shown == {path.name for path in (ROOT / "examples").glob("*.py")}


def test_formulas_in_docstrings_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from plain_docstrings import with_literal_blocks

    sys.modules.pop("plain_docstrings")
    formula = ["The bound is", "", "    a + b", "      + c,", "", "with c.", "", "Raises", "------"]
    assert with_literal_blocks(formula) == [*formula[:2], "::", "", *formula[2:]]


def test_help_in_the_manual_is_that_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docutils", reason="docutils comes with the extra 'docs'")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from cli_help import help_text

    sys.modules.pop("cli_help")
    _, _, printed = dapdag("predict", "--help").out.partition(" predict ")
    assert printed
    assert help_text("predict").split() == ["Usage:", "dapdag", "predict", *printed.split()]
