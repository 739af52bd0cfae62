"""Predictions of tables that do not fit into memory, in two passes over their rows.

The first pass adds up what each site's rows say about it, the second one predicts the rows. What is
in memory are a batch and, per site, the encoder's sums and at most `SITE_ROWS` rows. A run that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag import __version__
from dapdag._runtime.files import atomic_write
from dapdag._runtime.progress import Reporter
from dapdag._runtime.warning import UnknownLevelWarning
from dapdag._sklearn.partial import KnownSites, gather_sites, infer
from dapdag.io.batches import Batches
from dapdag.io.new_rows import NewRows
from dapdag.io.predictions import Predictions, label_columns, predict_at_site, together
from dapdag.io.streams import local
from dapdag.io.unfinished import Unfinished, unfinished
from dapdag.storage.fingerprint import fingerprint, fingerprint_of_site

# Batches between two copies of what is known of the sites.
SAVED_EVERY = 16


@dataclass(frozen=True, eq=False)
class Streamed:
    """What was written: its columns and rows; and E of each site."""

    columns: list[str]
    n_rows: int
    environments: pd.DataFrame


def predict_files(
    model: Any,
    batches: Batches,
    output: Path,
    report: Reporter,
    *,
    coverage: float = 0.9,
    keep: Sequence[str] = (),
    float_format: str | None = None,
) -> Streamed:
    """Write the predictions of all rows, each site under its own E, as `predict_table` gives them.

    Parameters
    ----------
    model : a fitted DAPDAG estimator, or a site that is known, of which all rows then are.
    output : CSV, TSV or Parquet by its suffix. Until it is complete, the work stands in a folder
        beside it, and the same call goes on from there; the result is the same to the byte.
    report : told how many bytes have been read, of twice those of the files (once at a site).
    coverage, keep : see `predict_table`.
    """
    about = _asked(model, batches, output, coverage, keep, float_format)
    with unfinished(output, about) as work:
        at_site = hasattr(model, "known_")
        sites = None if at_site else _know_sites(model, batches, work, report)
        started = 0 if at_site else batches.bytes
        first = work.n_parts
        with warnings.catch_warnings():
            if not at_site:  # they were told of, all together
                warnings.simplefilter("ignore", UnknownLevelWarning)
            for number, (new, done) in enumerate(batches.after(first), start=first):
                found = _predict(model, sites, new, batches, coverage, keep)
                _write_part(found.table, work.part(number), output, number == 0, float_format)
                report.update(started + done)
        environments = model.environment_ if sites is None else sites.environments
        if _files(batches) != about["files"]:
            raise ValueError(f"{batches.plan.files[0]} was changed while it was read: run it again")
        columns = _join(work, output)
    return Streamed(columns, batches.n_rows, environments)


def _asked(model: Any, batches: Batches, output: Path, *options: Any) -> dict[str, Any]:
    """All that the result depends on; rows by the name, size and time of their files."""
    plan = batches.plan
    known = getattr(model, "known_", None)
    return {
        "dapdag": __version__,
        "model": fingerprint(model.fitted_),
        "site": None if known is None else fingerprint_of_site(known),
        "files": _files(batches),
        "reading": repr(plan.reading),
        "domain": plan.domain,
        "batch": batches.size,
        "suffix": output.suffix.lower(),
        "options": [repr(option) for option in options],
    }


def _files(batches: Batches) -> list[list[Any]]:
    """Name, size and time of every file."""
    found = [(file, local(file).stat()) for file in batches.plan.files]
    return [[str(file.absolute()), one.st_size, one.st_mtime_ns] for file, one in found]


def _know_sites(model: Any, batches: Batches, work: Unfinished, report: Reporter) -> KnownSites:
    """The first pass: what each site's rows say about it."""
    found, n = work.load_sites()
    saved = n
    for new, done in batches.after(n):
        found = found + gather_sites(model, new.X, new.site)
        n += 1
        if n % SAVED_EVERY == 0:
            work.save_sites(found, n)
            saved = n
        report.update(done)
    if n > saved:
        work.save_sites(found, n)
    sites = KnownSites(model, infer(model, found), found.unseen)
    sites.tell()
    return sites


def _predict(
    model: Any,
    sites: KnownSites | None,
    new: NewRows,
    batches: Batches,
    coverage: float,
    keep: Sequence[str],
) -> Predictions:
    domain = batches.plan.domain
    if sites is None:
        return predict_at_site(model, new, coverage=coverage, keep=keep, domain=domain)
    label = sites.score(model, new.X, new.site)

    def ends() -> NDArray[np.float64]:
        return sites.class_intervals(model, new.X, new.site, label, coverage)

    found = label_columns(model, label, coverage, ends)
    about = new.rows.frame, new.site, keep, domain
    return Predictions(together(*about, found, sites.environments), sites.environments)


def _write_part(
    table: pd.DataFrame, path: Path, output: Path, is_first: bool, float_format: str | None
) -> None:
    with atomic_write(path) as temporary:
        if output.suffix.lower() == ".parquet":
            table.to_parquet(temporary, index=False)
            return
        table.to_csv(
            temporary,
            sep="\t" if output.suffix.lower() == ".tsv" else ",",
            index=False,
            header=is_first,
            float_format=float_format,
            lineterminator="\n",
        )


def _join(work: Unfinished, output: Path) -> list[str]:
    """All parts in one file: its columns."""
    parts = [work.part(k) for k in range(work.n_parts)]
    with atomic_write(output) as temporary:
        if output.suffix.lower() == ".parquet":
            return _join_parquet(parts, temporary)
        with temporary.open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole, 1 << 20)
    sep = "\t" if output.suffix.lower() == ".tsv" else ","
    return [*map(str, pd.read_csv(parts[0], sep=sep, nrows=0))]


def _join_parquet(parts: Sequence[Path], output: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A batch without any value of a column does not know its type.
    schema = pa.unify_schemas([pq.read_schema(part).remove_metadata() for part in parts])
    with pq.ParquetWriter(output, schema) as writer:
        for part in parts:
            writer.write_table(pq.read_table(part).cast(schema))
    return list(schema.names)
