"""The encoder's summary of every source, from all its rows."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.chunks import CHUNK_ROWS, Chunks, padded
from ..data.layout import Encoded, encode, take
from ..data.sample import Sample
from ..inference.environment import no_rows, summarise, summarise_piece
from ..inference.fitted import FittedModel
from ..model import Summary


def summaries_of(model: FittedModel, sample: Sample, n_sources: int) -> Iterator[Summary]:
    """Summaries of the first domains, in their order.

    The rows of small sources are encoded together, as many as one chunk holds: what is done once
    per source is one call of a compiled program.
    """
    if not model.formulation.uses_environment:
        yield from (no_rows(model) for _ in range(n_sources))
        return
    rows_of = sample.rows_of[:n_sources]
    sizes = np.array([len(rows) for rows in rows_of])
    first = 0
    while first < n_sources:
        if sizes[first] > CHUNK_ROWS:
            own = rows_of[first]
            yield summarise(model, Chunks(model.table, _rows(sample, own), sample.weights_of(own)))
            first += 1
            continue
        ends = np.cumsum(sizes[first:])
        last = first + int(np.searchsorted(ends, CHUNK_ROWS, side="right"))
        features = model.table.encode(_rows(sample, np.concatenate(rows_of[first:last])))
        whole = encode(model.table, *features, None)
        start = 0
        for rows in rows_of[first:last]:
            part = take(whole, slice(start, start + len(rows)))
            yield _summary(model, part, sample.weights_of(rows))
            start += len(rows)
        first = last


def _summary(model: FittedModel, rows: Encoded, weight: NDArray[np.float64] | None) -> Summary:
    whole = padded(rows)
    present = np.zeros(len(whole.values), dtype=np.float32)
    present[: len(rows.values)] = 1.0 if weight is None else weight
    return no_rows(model) + summarise_piece(model, whole, present)


def _rows(sample: Sample, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Rows of the table; those that follow one another are not copied."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):
        return sample.X.iloc[first : last + 1]
    return sample.X.iloc[rows]
