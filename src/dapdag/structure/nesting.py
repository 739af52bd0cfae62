"""Which terms of a set of parents enter its model: sequences of nested models.

A weak linear effect must not pay for the curves and products that another mechanism needs. The
models of a sequence are prefixes of one order of the terms, so that one Cholesky factor gives the
evidence of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dapdag.structure.constants import MAIN_DEGREES, PAIR_DEGREES
from dapdag.structure.dictionary import Layout

# Position of the model with all terms; it is the last of the first sequence.
FULL_MODEL = 4
# Models whose terms are a mechanism of its own rather than an approximation: linear, quadratic,
# and linear with products.
EXACT_MODELS = (0, 1, 5)
# Degrees of the additive models; then all terms.
_ADDITIVE = (1, 2, 3, max(MAIN_DEGREES))
# Total degrees of the models with products. The first has products of linear features only.
_GRADED = (1.5, 2, 3)


@dataclass(frozen=True, eq=False)
class Nesting:
    """An order of the terms, and the number of terms of each model."""

    order: NDArray[np.intp]
    sizes: tuple[int, ...]


@lru_cache(maxsize=64)
def nested_models(n_parents: int, layout: Layout) -> tuple[Nesting, ...]:
    """Additive models of rising degree and the full one; models with products of rising degree."""
    degree, product = _degrees(n_parents, layout)
    additive = np.lexsort([degree, product])
    sizes = [int(((degree <= k) & ~product).sum()) for k in _ADDITIVE]
    first = Nesting(additive, (*sizes, len(degree)))
    if n_parents < 2:
        return (first,)
    # products of linear features come before squares
    graded = np.where(product & (degree == 2), 1.5, degree)
    second = Nesting(
        np.argsort(graded, kind="stable"), tuple(int((graded <= k).sum()) for k in _GRADED)
    )
    return first, second


@lru_cache(maxsize=64)
def included_terms(n_parents: int, layout: Layout) -> NDArray[np.bool_]:
    """Terms of each model: [models, terms]."""
    rows = []
    for nesting in nested_models(n_parents, layout):
        for size in nesting.sizes:
            row = np.zeros(len(nesting.order), dtype=bool)
            row[nesting.order[:size]] = True
            rows.append(row)
    return np.array(rows)


def _degrees(n_parents: int, layout: Layout) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Total degree of each term, and whether it is a product."""
    # further contrasts of a categorical parent count as terms of the highest degree
    main = [*MAIN_DEGREES, *[max(MAIN_DEGREES)] * (layout.width - len(MAIN_DEGREES))]
    n_pairs = len(list(combinations(range(n_parents), 2)))
    n_triples = len(list(combinations(range(n_parents), 3))) if layout.has_triples else 0
    degree = [0, *main * n_parents, *PAIR_DEGREES[: layout.n_pair] * n_pairs, *[3] * n_triples]
    product = np.arange(len(degree)) > n_parents * layout.width
    return np.array(degree), product
