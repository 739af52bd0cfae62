"""Work that is not finished: a folder beside the output, from which the same command goes on.

It holds what the run was asked (`about.json`), what is known of the sites so far (`sites.npz`), and
the batches that are done, one file each. Only the user may enter it: it holds rows.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from dapdag._runtime.files import atomic_write, atomic_write_text
from dapdag._runtime.warning import ReadingWarning
from dapdag._sklearn.partial import PartialSites, no_sites
from dapdag.data.layout import Encoded
from dapdag.inference.evidence import Evidence, Rows
from dapdag.model import Summary
from dapdag.storage.scalars import decode_scalar, encode_scalar

FORMAT = "dapdag-unfinished-1"
ABOUT, SITES = "about.json", "sites.npz"


class Unfinished:
    """The folder of a run that is under way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def part(self, number: int) -> Path:
        return self.folder / f"{number:08d}.part"

    @property
    def n_parts(self) -> int:
        """How many batches are done, without a gap."""
        number = 0
        while self.part(number).exists():
            number += 1
        return number

    def save_sites(self, found: PartialSites, n_batches: int) -> None:
        """Keep what is known of the sites after so many batches."""
        about = {
            "n_batches": n_batches,
            "sites": [encode_scalar(label, "the name of a site") for label in found.evidence],
            "unseen": [
                [
                    encode_scalar(name, "the name of a column"),
                    [[encode_scalar(v, "a level"), int(n)] for v, n in values.items()],
                ]
                for name, values in found.unseen.items()
            ],
        }
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
        for k, (label, evidence) in enumerate(found.evidence.items()):
            for name, array in _arrays(evidence).items():
                arrays[f"{k} {name}"] = array
            arrays[f"{k} present"] = found.present[label]
        with atomic_write(self.folder / SITES) as temporary:
            np.savez(temporary, **arrays)

    def load_sites(self) -> tuple[PartialSites, int]:
        """What `save_sites` kept, and the number of batches; nothing at the beginning."""
        path = self.folder / SITES
        if not path.exists():
            return no_sites(), 0
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(str(arrays["about"]))
            labels = [decode_scalar(label) for label in about["sites"]]
            evidence = {label: _evidence(arrays, k) for k, label in enumerate(labels)}
            present = {label: arrays[f"{k} present"] for k, label in enumerate(labels)}
        unseen = {
            decode_scalar(name): pd.Series(
                [n for _, n in values],
                index=pd.Index([decode_scalar(v) for v, _ in values], dtype=object),
                dtype=np.int64,
            )
            for name, values in about["unseen"]
        }
        return PartialSites(evidence, present, unseen), int(about["n_batches"])


@contextmanager
def unfinished(output: Path, about: Mapping[str, Any]) -> Iterator[Unfinished]:
    """The work of a run that writes `output`: what an interrupted one left, or a new folder.

    `about` is what was asked; work that was done for anything else is thrown away. The folder is
    removed when the block ends well, or when the input is wrong.
    """
    folder = output.with_name(output.name + ".partial")
    asked = json.dumps({"format": FORMAT, **about}, indent=1, sort_keys=True)
    _make(folder, asked)
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"another run is writing {output}: wait for it, or name another") from None
    try:
        yield Unfinished(folder)
    except ValueError:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except BaseException:
        lock.release()
        raise
    lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path, asked: str) -> None:
    path = folder / ABOUT
    if folder.exists():
        if path.exists() and path.read_text("utf-8") == asked:
            return
        if any(folder.iterdir()) and not (path.exists() and FORMAT in path.read_text("utf-8")):
            raise ValueError(f"{folder} is in the way: unfinished work is kept there, remove it")
        warnings.warn(
            f"{folder} holds the beginning of another run (other rows, model or options): this one "
            "begins anew",
            ReadingWarning,
            stacklevel=5,
        )
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    atomic_write_text(path, asked)


def _arrays(evidence: Evidence) -> dict[str, Any]:
    return {
        "n_rows": np.array(evidence.n_rows),
        "excess": np.asarray(evidence.summary.excess),
        "weighted": np.asarray(evidence.summary.weighted),
        "values": evidence.kept.data.values,
        "observed": evidence.kept.data.observed,
        "key": evidence.kept.key,
        "levels": evidence.levels,
    }


def _evidence(arrays: Mapping[str, Any], k: int) -> Evidence:
    """The evidence of a site without labels."""
    found = {
        name: arrays[f"{k} {name}"]
        for name in ("n_rows", "excess", "weighted", "values", "observed", "key", "levels")
    }
    kept = Rows(Encoded(found["values"], found["observed"]), found["key"])
    none = Rows(Encoded(found["values"][:0], found["observed"][:0]), found["key"][:0])
    sums = Summary(found["excess"], found["weighted"])
    return Evidence(int(found["n_rows"]), sums, kept, none, found["levels"])
