"""Where the parents of each variable lie among the inputs of decoder and mechanisms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model import Layout
from ..model.mechanisms import Blanket
from .layout import padded_size


class GraphSizes(NamedTuple):
    """Sizes of what the graphs of several tables need (see `model.network.Sizes`).

    Slots are as many as there are: padded ones would double the cost of training the mechanisms.
    """

    reads: int
    slots: int
    slot_inputs: int
    slot_columns: int

    @staticmethod
    def of(layouts: Sequence[Layout], parents: Sequence[NDArray]) -> "GraphSizes":
        reads, slots, inputs, columns = 1, 1, 1, 1
        for layout, mask in zip(layouts, parents, strict=True):
            read = _read(layout, mask)
            own = _slots(mask)
            width = np.asarray(layout.owner).sum(0)
            reads = max(reads, *(len(r) for r in read))
            slots = max(slots, len(own))
            inputs = max(inputs, *(len(read[v]) for v in own))
            columns = max(columns, *(int(width[v]) for v in own))
        return GraphSizes(padded_size(reads), slots, inputs, columns)


def on_graph(layout: Layout, parents: NDArray, reads: int) -> Layout:
    """The layout with the inputs that each variable's filter reads: those of its parents."""
    index, known = _table(_read(layout, parents), reads)
    return replace(layout, reads=index, reads_any=known)


def blanket_of(layout: Layout, parents: NDArray, sizes: GraphSizes) -> Blanket:
    """Label and children as slots, the label first."""
    own, read = _slots(parents), _read(layout, parents)
    owner = np.asarray(layout.owner)
    index, known = _table([read[v] for v in own], sizes.slot_inputs, sizes.slots)
    columns, real = _table(
        [np.flatnonzero(owner[:, v]) for v in own], sizes.slot_columns, sizes.slots
    )
    variable = np.full(sizes.slots, -1, dtype=np.int32)
    variable[: len(own)] = own
    kinds: dict[str, Any] = {}
    for kind in ("continuous", "binary", "categorical"):
        kinds[kind] = np.zeros(sizes.slots, dtype=np.float32)
        kinds[kind][: len(own)] = np.asarray(getattr(layout, kind))[own]
    arrays: Any = (variable, index, known, columns, real)
    return Blanket(*arrays, **kinds)


def _slots(parents: NDArray) -> list[int]:
    """The label, the last variable, and its children."""
    return [len(parents) - 1, *np.flatnonzero(parents[-1]).tolist()]


def _read(layout: Layout, parents: NDArray) -> list[NDArray[np.intp]]:
    """Inputs of each variable's parents."""
    owner = np.asarray(layout.input_owner)  # [inputs, variables]
    return [np.flatnonzero(owner @ parents[:, v]) for v in range(len(parents))]


def _table(lists: list[Any], width: int, length: int = 0) -> tuple[Any, Any]:
    """Lists of indices as the rows of one array, and which of its elements are not padding."""
    shape = max(len(lists), length), width
    index, known = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.float32)
    for row, found in enumerate(lists):
        index[row, : len(found)], known[row, : len(found)] = found, 1.0
    return index, known
