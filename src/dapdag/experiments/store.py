"""A folder of results: the log of its runs, and a manifest of what the runs have in common."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from .._runtime.files import atomic_write_text
from ..evaluate.log import RunLog
from .runs import Outcome, Parameters, Run

MANIFEST, RUNS = "manifest.json", "runs.jsonl"
# These say which runs there are, not what a run is: a folder may grow by them.
EXTENT = ("methods", "n_seeds", "first_seed")


class Store:
    """The runs of one experiment, preset and version; a run is there as a whole or not at all."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._log = RunLog(folder / RUNS)
        self._known = self._log.read()

    @classmethod
    def open(cls, folder: Path, manifest: dict[str, Any], fresh: bool = False) -> Store:
        """Begin a folder or go on with it; one that was made otherwise is refused.

        `fresh` removes the runs that are there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            for name in (MANIFEST, RUNS):
                (folder / name).unlink(missing_ok=True)
        store = cls(folder, manifest)
        found = store._written_manifest()
        if found is not None and found != manifest:
            changed = [k for k in {**found, **manifest} if found.get(k) != manifest.get(k)]
            differences = "; ".join(
                f"{k} was {found.get(k)!r} and is {manifest.get(k)!r}" for k in changed
            )
            raise ValueError(
                f"{folder} holds runs of something else ({differences}): name another folder, or "
                "start it anew with --fresh"
            )
        if found is None:
            atomic_write_text(folder / MANIFEST, _json(manifest))
        return store

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        return [run for run in runs if run.key not in self._known]

    def add(self, outcome: Outcome) -> None:
        content = {
            "run": outcome.run.columns,
            "seconds": outcome.seconds,
            "rows": [{**row, "value": float(row["value"])} for row in outcome.rows],
            "notes": list(outcome.notes),
        }
        self._log.append(outcome.run.key, content)
        self._known[outcome.run.key] = content

    def rows(self, runs: Iterable[Run]) -> pd.DataFrame:
        """All rows of those of the runs that are there, in the order of the runs."""
        found = [self._known[run.key] for run in runs if run.key in self._known]
        return pd.DataFrame(
            [
                {**content["run"], **row, "seconds": content["seconds"]}
                for content in found
                for row in content["rows"]
            ]
        )

    def _written_manifest(self) -> dict[str, Any] | None:
        path = self.folder / MANIFEST
        return json.loads(path.read_text("utf-8")) if path.exists() else None


def manifest_of(name: str, preset: str, parameters: Parameters) -> dict[str, Any]:
    """What all runs of a folder have in common."""
    from .. import __version__

    fixed = {k: v for k, v in asdict(parameters).items() if k not in EXTENT}
    content = {
        "experiment": name,
        "preset": preset,
        "version": __version__,
        "commit": commit(),
        "parameters": fixed,
    }
    return json.loads(_json(content))


def commit() -> str | None:
    """The last commit that touched this package, with a "+" if files were changed since."""
    here = Path(__file__).resolve().parents[1]
    found = _git(here, "log", "-1", "--format=%h", "--", ".")
    if not found:
        return None
    return f"{found}+" if _git(here, "status", "--porcelain", "--", ".") else found


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
