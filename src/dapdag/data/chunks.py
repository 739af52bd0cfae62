"""Tables in chunks of few padded sizes: bounded memory, and few compiled programs."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .layout import Encoded, encode, padded_size, take
from .table import Table

T = TypeVar("T")

CHUNK_ROWS = 65536
SMALLEST_CHUNK = 64
# Encoded cells that are kept from the first pass to the second: 128 MiB.
KEPT_CELLS = 2**25


class Chunks:
    """A table in chunks, for several passes over it.

    Every core encodes and computes its own chunk. Encoded chunks are kept for the next pass, up to
    `KEPT_CELLS` cells, so that memory does not grow with the table.
    """

    def __init__(
        self, table: Table, X: pd.DataFrame, weight: NDArray[np.float64] | None = None
    ) -> None:
        self.table, self.X, self.weight = table, X, weight
        starts = range(0, len(X), CHUNK_ROWS)
        self.parts = [slice(start, min(start + CHUNK_ROWS, len(X))) for start in starts]
        self._kept: dict[int, tuple[Encoded, NDArray[np.float32]]] = {}
        self._room = KEPT_CELLS

    def map(
        self, compute: Callable[[Encoded, NDArray[np.float32]], T]
    ) -> Iterator[tuple[slice, T]]:
        """`compute` of the chunks, in their order.

        A chunk is padded to one of few sizes; the second argument marks the rows that are present,
        by their weights where there are any.
        """
        if len(self.parts) == 1:
            yield self.parts[0], self._compute(compute, self.parts[0])
            return
        cores = os.cpu_count() or 1
        under_way: deque[tuple[slice, Future[T]]] = deque()
        with ThreadPoolExecutor(cores) as pool:
            for rows in self.parts:
                job = pool.submit(self._compute, compute, rows)
                under_way.append((rows, job))
                if len(under_way) > cores:
                    first, job = under_way.popleft()
                    yield first, job.result()
            for first, job in under_way:
                yield first, job.result()

    def encoded(self, rows: NDArray[np.intp]) -> Encoded:
        """Some of the rows, by their positions, without padding."""
        if len(self.parts) == 1:
            whole, _ = self._piece(self.parts[0])
            return take(whole, rows)
        return encode(self.table, *self.table.encode(self.X.iloc[rows]), None)

    def _compute(self, compute: Callable[[Encoded, NDArray[np.float32]], T], rows: slice) -> T:
        return compute(*self._piece(rows))

    def _piece(self, rows: slice) -> tuple[Encoded, NDArray[np.float32]]:
        found = self._kept.get(rows.start)
        if found is None:
            found = padded_piece(self.table, self.X.iloc[rows])
            if self.weight is not None:
                found[1][: rows.stop - rows.start] = self.weight[rows]
            size = found[0].values.size + found[0].observed.size
            if size <= self._room:
                self._room -= size
                self._kept[rows.start] = found
        return found


def padded_piece(table: Table, X: pd.DataFrame) -> tuple[Encoded, NDArray[np.float32]]:
    """Encoded rows padded to one of few sizes, and 1 for those that are present."""
    data = encode(table, *table.encode(X), None)
    whole = padded(data)
    present = (np.arange(len(whole.values)) < len(data.values)).astype(np.float32)
    return whole, present


def padded(data: Encoded) -> Encoded:
    """Rows padded with zeros to one of few sizes."""
    n = len(data.values)
    if n == padded_size(n, SMALLEST_CHUNK):
        return data
    pad = ((0, padded_size(n, SMALLEST_CHUNK) - n), (0, 0))
    return Encoded(np.pad(data.values, pad), np.pad(data.observed, pad))


def spaced_rows(n: int, most: int) -> NDArray[np.intp]:
    """Positions of at most `most` of `n` rows, evenly spaced."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).astype(int))
