"""Compiled functions over the rows of a domain and the members of a model."""

from collections.abc import Callable
from typing import Any

import jax

# Inside a compiled call rows go through in blocks that fit the cache.
BLOCK_ROWS = 128


def in_blocks(
    function: Callable[[Any], tuple[jax.Array, ...]], arrays: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    """Apply a function of rows to blocks of them, one after the other."""
    rows = arrays[0].shape[0]
    if rows % BLOCK_ROWS:
        return function(arrays)
    blocks = tuple(a.reshape(-1, BLOCK_ROWS, *a.shape[1:]) for a in arrays)
    return tuple(a.reshape(-1, *a.shape[2:]) for a in jax.lax.map(function, blocks))
