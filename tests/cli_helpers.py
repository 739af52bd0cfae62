"""Run the command line in this process, and look at what it printed."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from dapdag.cli import main


class Done(NamedTuple):
    code: Any
    out: str
    err: str


def dapdag(*arguments: str | Path) -> Done:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["dapdag", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return Done(end.value.code, out.getvalue(), err.getvalue())


def assert_one_line(done: Done, *words: str) -> None:
    """The command refused its input in one line that has these words."""
    assert done.code == 2, done
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), done.err
    assert all(word in lines[0] for word in words), lines[0]


def assert_fits_a_terminal(text: str) -> None:
    wide = [line for line in text.splitlines() if len(line) > 80]
    assert not wide, wide
