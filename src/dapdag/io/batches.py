"""New rows for a model in batches: tables that need not fit into memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dapdag._runtime.warning import MissingFeatureWarning
from dapdag.io.cells import cell_batches
from dapdag.io.columns import whole_numbers
from dapdag.io.new_rows import NewRows, match_model, plan_reading
from dapdag.io.reading import (
    Reading,
    Rows,
    column_names,
    is_parquet,
    names_of,
    parquet_file,
    plain_frame,
    tell_differences,
    unreadable,
    wanted_of,
)
from dapdag.io.sentinels import tell_sentinels
from dapdag.io.sniffing import clean, sniff
from dapdag.io.streams import local
from dapdag.io.values import FileCells, clean_frame, typed_frames

# Rows that are in memory at a time: two chunks of the networks.
BATCH_ROWS = 131_072
# Tables whose text, or cells of 8 bytes, take more are read in batches.
IN_MEMORY_BYTES = 256 * 2**20
# How much longer text is than what it was compressed to, at most as a rule.
COMPRESSED = 10


class Batches:
    """The rows of one new table or of several, a batch at a time, in their order.

    Takes what `read_new_rows` takes; each batch is what that gives for its rows. Batches never span
    files. What is said about columns is said once.
    """

    def __init__(
        self,
        model: Any,
        paths: Sequence[str | Path],
        *,
        domain: str | None = None,
        keep: Sequence[str] = (),
        reading: Reading | None = None,
        rows: int = BATCH_ROWS,
    ) -> None:
        self.model, self.size = model, rows
        self.plan = plan_reading(model, paths, domain=domain, keep=keep, reading=reading)
        self.bytes = sum(local(file).stat().st_size for file in self.plan.files)
        names = [column_names(file, self.plan.reading) for file in self.plan.files]
        tell_differences(self.plan.files, [self._wanted(one) for one in names])
        every = Rows(pd.DataFrame(), tuple(self.plan.files), (1,) * len(names))
        self._site_of_file = None
        if self.plan.domain is None and len(names) > 1:
            self._site_of_file = every.site_of_row()
        self._told = False
        self.n_rows = 0  # of the last pass

    def __iter__(self) -> Iterator[tuple[NewRows, int]]:
        """Batches, each with the number of bytes that have been read so far."""
        return self.after(0)

    def after(self, skip: int) -> Iterator[tuple[NewRows, int]]:
        """The batches behind the first `skip`."""
        number = done = self.n_rows = 0
        for k, file in enumerate(self.plan.files):
            before = 0
            for batch, at in self._batches(file):
                if number >= skip:
                    yield self._new_rows(k, batch.read(), before), done + at
                number += 1
                before += batch.rows
                self.n_rows += batch.rows
            done += local(file).stat().st_size

    @property
    def unused(self) -> list[str]:
        """Columns of the files that the model does not know."""
        features = {str(v.name) for v in self.model.fitted_.model.table.features}
        return [name for name in self.plan.head if name not in features]

    def _wanted(self, names: Sequence[str]) -> list[str]:
        wanted = self.plan.wanted
        return [name for name in names if wanted is None or name in wanted]

    def _batches(self, file: Path) -> Iterator[tuple[_Batch, int]]:
        if is_parquet(file):
            yield from self._parquet(file)
            return
        given = self.plan.reading
        found = sniff(file, given.encoding, given.separator, given.decimal)
        names = names_of(found)
        wanted = self._wanted(names) or names
        for cells, at in cell_batches(file, found, names, wanted, self.size):
            rows = len(next(iter(cells.values())))
            yield _Batch(rows, partial(self._typed, cells, found.decimal)), at

    def _parquet(self, path: Path) -> Iterator[tuple[_Batch, int]]:
        try:
            with parquet_file(path) as file:
                wanted, total = wanted_of(path, file, self.plan.wanted), file.metadata.num_rows
                size, done = local(path).stat().st_size, 0
                for groups in _row_groups(file.metadata, self.size):
                    for batch in file.iter_batches(self.size, row_groups=groups, columns=wanted):
                        done += len(batch)
                        read = partial(self._plain, batch, file)
                        yield _Batch(len(batch), read), size * done // total
                if not total:
                    yield _Batch(0, pd.DataFrame), size
        except pa.ArrowException as error:
            raise unreadable(path, error) from error

    def _typed(self, cells: dict[str, pa.Array], decimal: str) -> pd.DataFrame:
        columns = {name: pa.chunked_array([column]) for name, column in cells.items()}
        (frame,) = typed_frames(
            [FileCells(columns, decimal)],
            missing=self.plan.reading.missing,
            text=self.plan.text,
            levels=self.plan.levels,
        )
        return frame

    def _plain(self, rows: pa.RecordBatch, file: Any) -> pd.DataFrame:
        frame = clean_frame(plain_frame(rows.to_pandas(), file), self.plan.reading.missing)
        # Whole numbers stay such in a batch with missing ones: an ID is written alike everywhere.
        features = {str(v.name) for v in self.model.fitted_.model.table.features}
        for name in rows.schema.names:
            column = clean(name)
            kept = column in self.plan.beside and column not in (*features, self.plan.domain)
            if kept and pa.types.is_integer(rows.schema.field(name).type):
                frame[column] = frame[column].astype("Int64")
        return frame

    def _new_rows(self, k: int, frame: pd.DataFrame, before: int) -> NewRows:
        file = self.plan.files[k]
        if frame.empty:
            raise ValueError(f"{file} has column names and no rows below them")
        rows = Rows(frame, (file,), (len(frame),), before=before)
        with warnings.catch_warnings():
            if self._told:
                warnings.simplefilter("ignore", MissingFeatureWarning)
            new = match_model(self.model, rows, domain=self.plan.domain, head=self.plan.head)
        if not self._told:
            tell_sentinels(new.X, self.model, "; it is taken for a value")
        self._told = True
        site = new.site
        if self.plan.domain is not None:
            self._refuse_fractions(rows)
        elif self._site_of_file is not None:
            site = np.full(len(frame), self._site_of_file[k], dtype=object)
        kept = replace(rows, frame=frame.reindex(columns=self.plan.beside))
        return replace(new, ids=self.plan.ids, site=site, rows=kept)

    def _refuse_fractions(self, rows: Rows) -> None:
        """Sites named by fractions in one batch and by whole numbers in another are not the same
        text."""
        column = rows.frame[self.plan.domain]
        if column.dtype.kind == "f" and not whole_numbers(column):
            raise ValueError(
                f"column {self.plan.domain!r} of {rows.name} names sites by fractions: write them "
                "as text"
            )


@dataclass(frozen=True)
class _Batch:
    """Rows of a file, turned into a frame when they are needed."""

    rows: int
    read: Callable[[], pd.DataFrame]


def _row_groups(about: Any, rows: int) -> Iterator[list[int]]:
    """Row groups that are read together, of about so many rows.

    A reader keeps what it has read of all its row groups until its last batch.
    """
    groups: list[int] = []
    n = 0
    for k in range(about.num_row_groups):
        groups.append(k)
        n += about.row_group(k).num_rows
        if n >= rows:
            yield groups
            groups, n = [], 0
    if groups:
        yield groups


def is_large(paths: Sequence[Path], reading: Reading) -> bool:
    """Whether tables take so much memory that they are better read in batches."""
    total = 0
    for file in paths:
        size = local(file).stat().st_size
        if is_parquet(file):
            with parquet_file(file) as found:
                total += found.metadata.num_rows * found.metadata.num_columns * 8
        elif sniff(file, reading.encoding, reading.separator, reading.decimal).compression:
            total += COMPRESSED * size
        else:
            total += size
    return total > IN_MEMORY_BYTES
