"""A progress bar on a terminal, and elsewhere lines where it takes long."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from dapdag._runtime.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of standard error (in the test: pytest undoes it in fixtures)."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return stream


def run(verbose: int) -> None:
    with progress(10, "training [site a]", verbose) as bar:
        bar.update(4, loss=0.123456, h=np.float32(1e-9))


def test_bar_shows_description_count_and_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = open_terminal(monkeypatch)
    run(verbose=1)
    for part in ("training [site a]", "4/10", "loss 0.1235", "h 1e-09"):
        assert part in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_verbose_0_is_silent_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    run(verbose=0)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_short_work_is_silent_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    run(verbose=2)
    assert stream is None or stream.getvalue() == ""


def test_long_work_is_told_in_lines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    now = iter([100.0, 101.0, 110.0, 111.0, 140.0])
    monkeypatch.setattr("dapdag._runtime.progress.time.monotonic", lambda: next(now))
    with progress(10, "training", 1) as bar:
        for done in (1, 2, 3, 4):
            bar.update(done, validation=0.5)
    assert stream.getvalue().splitlines() == [
        "training: 2 of 10, validation 0.5, 10 s, about 40 s left",
        "training: 4 of 10, validation 0.5, 40 s, about 60 s left",
    ]


def test_the_first_lines_come_soon_and_the_others_at_a_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    now = iter([0.0, *(float(second) for second in range(1, 101))])
    monkeypatch.setattr("dapdag._runtime.progress.time.monotonic", lambda: next(now))
    with progress(100, "training", 1) as bar:
        for done in range(1, 101):
            bar.update(done)
    told = [int(line.split()[1]) for line in stream.getvalue().splitlines()]
    assert told == [2, 4, 8, 16, 31, 46, 61, 76, 91]


def test_exception_passes_and_the_cursor_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), progress(10, "training", verbose=1) as bar:
        bar.update(1)
        raise KeyboardInterrupt
    hide, show = "\x1b[?25l", "\x1b[?25h"
    assert terminal.getvalue().rindex(show) > terminal.getvalue().rindex(hide)


def test_rich_is_imported_only_to_draw() -> None:
    code = (
        "import sys; from dapdag._runtime.progress import progress\n"
        "with progress(3, 'training', verbose=1) as bar: bar.update(3, loss=1.0)\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
