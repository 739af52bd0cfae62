"""A file of finished runs, so that a computation that was stopped goes on where it was."""

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dapdag._runtime.files import atomic_write_text

# The first line, by which a file of runs is told from any other file.
HEADER = json.dumps({"format": "dapdag-runs"})


class RunLog:
    """Finished runs as JSON lines, each appended in one write.

    A line is a run's key and its content. A line that a crash cut short is not JSON, and its run
    counts as not done; of two lines with one key the last counts. NaN and infinite numbers are
    written as null and read as NaN.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        """The content of every finished run by its key."""
        if not self.path.exists():
            return {}
        header, *lines = self.path.read_text("utf-8").split("\n")
        if header != HEADER:
            raise ValueError(
                f"{self.path} is not a file of runs: name another file, or delete this one"
            )
        return dict(found for line in lines if (found := _decoded(line)) is not None)

    def append(self, key: str, content: Any) -> None:
        line = _encoded(key, content)
        if not self.path.exists():
            line = f"{HEADER}\n{line}"
        elif not self.path.read_bytes().endswith(b"\n"):
            line = f"\n{line}"
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(line)

    def forget(self, keys: Collection[str]) -> None:
        """Remove runs, so that they are done again."""
        kept = {key: content for key, content in self.read().items() if key not in keys}
        lines = [f"{HEADER}\n", *(_encoded(key, content) for key, content in kept.items())]
        atomic_write_text(self.path, "".join(lines))


def _encoded(key: str, content: Any) -> str:
    line = {"run": key, "content": _without_nan(content)}
    return json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def _decoded(line: str) -> tuple[str, Any] | None:
    try:
        found = json.loads(line)
        return found["run"], _with_nan(found["content"])
    except (ValueError, LookupError, TypeError):
        return None


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_nan(one) for one in value]
    return math.nan if value is None else value
