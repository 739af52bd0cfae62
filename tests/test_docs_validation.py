"""The chapter on validation: what its blocks print is what stands below them."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
from manual import blocks_of

PAGE = "validation.md"


def test_every_output_is_that_of_the_block_above_it(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed, compared = "", 0
    for block in blocks_of(PAGE):
        if block.language == "text":
            assert _trimmed(printed) == _trimmed(block.code), f"line {block.line}"
            printed, compared = "", compared + 1
        if block.language == "python":
            assert printed == "", f"the output of the block before line {block.line} is not shown"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.code, PAGE, "exec"), namespace)
            printed = out.getvalue()
    assert compared >= 6


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
