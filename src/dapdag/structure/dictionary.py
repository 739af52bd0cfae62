"""Orthonormal features of a column, and the dictionary of features of a set of candidates.

A numeric column has the features z, u², u³, z², z³ of its values z and normal scores u, and cubic
splines of z, made orthonormal over all rows in this order. A categorical column has orthonormal
contrasts of its levels.
Every column has the same number of features; those it lacks are zero, which leaves the evidence
unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from dapdag.structure import constants as c
from dapdag.structure.columns import Encoded
from dapdag.structure.environment import site_positions
from dapdag.structure.statistics import Array, SiteMoments, chunks

# Positions in a dictionary: the constant, the target on its own scale, its normal scores.
CONSTANT, TARGET, NORMAL_TARGET, FIRST = 0, 1, 2, 3

N_PAIR = len(c.PAIR_DEGREES)


@dataclass(frozen=True, eq=False)
class Features:
    """Transforms from the raw basis of every column to orthonormal features."""

    table: Encoded
    transforms: tuple[Array, ...]  # per column [1 + raw functions, width]
    prior_variance: Array  # [columns, width]
    position: Array  # [sites]: on the main axis along which sites differ
    stored: tuple[Array, ...]  # per column [width, rows]; empty for long tables

    @property
    def width(self) -> int:
        return int(self.prior_variance.shape[1])

    def of(self, column: int, rows: slice | NDArray[np.intp]) -> Array:
        """Features of some rows of a column: [rows, width]."""
        if self.stored:
            return self.stored[column][:, rows].T
        return np.asarray(self.transforms[column].T @ _basis(self.table, column, rows)).T

    def standardised(self, column: int, rows: slice | NDArray[np.intp]) -> tuple[Array, Array]:
        """A numeric column on its own scale and on the normal scale, both with variance 1."""
        u = self.table.normal[rows, column]
        return self.table.values[rows, column], u / self.table.normal_scale[column]


def fit_features(table: Encoded) -> Features:
    """Orthonormalise the raw basis of every column by one pass over the rows."""
    found = []
    for j in range(table.n_columns):
        gram: Array | float = 0.0
        for _, rows in chunks(table.bounds):
            basis = _basis(table, j, rows)
            gram = gram + basis @ basis.T / table.n_rows
        found.append(_orthonormal(np.asarray(gram)))
    width = max([len(c.MAIN_VARIANCE), *(t.shape[1] for t in found)])
    transforms = tuple(np.pad(t, ((0, 0), (0, width - t.shape[1]))) for t in found)
    variance = np.full((table.n_columns, width), c.CONTRAST_VARIANCE)
    numeric = np.array([not levels for levels in table.levels])
    variance[numeric, : len(c.MAIN_VARIANCE)] = c.MAIN_VARIANCE
    features = Features(table, transforms, variance, site_positions(table), ())
    if table.n_rows * table.n_columns * width > c.MAX_STORED:
        return features
    everything = slice(0, table.n_rows)
    stored = tuple(
        np.ascontiguousarray(features.of(j, everything).T) for j in range(table.n_columns)
    )
    return replace(features, stored=stored)


def _basis(table: Encoded, column: int, rows: slice | NDArray[np.intp]) -> Array:
    """The constant, then polynomials and splines, or indicators of levels.

    The shape is [functions, rows].
    """
    values = table.values[rows, column]
    n_levels = table.levels[column]
    if n_levels > 2:
        return np.stack([np.ones(len(values)), *(values == k for k in range(1, n_levels))])
    u = table.normal[rows, column]
    polynomials = [np.ones_like(u), values, u**2, u**3, values**2, values**3]
    splines = BSpline.design_matrix(values, table.knots[column], 3, extrapolate=True)
    return np.concatenate([np.stack(polynomials), splines.toarray().T])


def _orthonormal(gram: Array) -> Array:
    """Gram-Schmidt in the inner product of `gram`; the constant is left out of the result.

    Functions that the earlier ones determine are dropped.
    """
    columns: list[Array] = []
    for k in range(len(gram)):
        vector = np.zeros(len(gram))
        vector[k] = 1.0
        for _ in range(2):
            for other in columns:
                vector = vector - other * (other @ gram @ vector)
        length = vector @ gram @ vector
        if length > 1e-6 * gram[k, k]:
            columns.append(vector / np.sqrt(length))
    return np.array(columns[1:]).T.reshape(len(gram), -1)


@dataclass(frozen=True)
class Layout:
    """Where the features of `n` candidates lie in a dictionary.

    A dictionary may have the products of each pair only, and no triples.
    """

    n: int
    width: int
    n_pair: int = N_PAIR
    has_triples: bool = True

    @cached_property
    def pairs(self) -> dict[tuple[int, int], int]:
        first = FIRST + self.n * self.width
        return {
            pair: first + k * self.n_pair for k, pair in enumerate(combinations(range(self.n), 2))
        }

    @cached_property
    def triples(self) -> dict[tuple[int, int, int], int]:
        first = FIRST + self.n * self.width + len(self.pairs) * self.n_pair
        members = range(self.n if self.has_triples else 0)
        return {triple: first + k for k, triple in enumerate(combinations(members, 3))}

    @property
    def size(self) -> int:
        n_joint = len(self.pairs) * self.n_pair + len(self.triples)
        return FIRST + self.n * self.width + n_joint

    def main(self, candidate: int) -> range:
        """Positions of a candidate's own features."""
        return range(FIRST + candidate * self.width, FIRST + (candidate + 1) * self.width)

    def additive(self, parents: tuple[int, ...]) -> list[int]:
        """Positions of the constant and the parents' own features."""
        return [CONSTANT, *(k for p in parents for k in self.main(p))]

    def products(self, parents: tuple[int, ...]) -> list[int]:
        """Positions of the parents' products, pairs before triples."""
        pairs = [self.pairs[pair] for pair in combinations(parents, 2)]
        triples = [self.triples[k] for k in combinations(parents, 3)] if self.has_triples else []
        return [at + t for at in pairs for t in range(self.n_pair)] + triples


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The features of a target's candidates, and their moments at every site."""

    features: Features
    target: int
    candidates: tuple[int, ...]
    layout: Layout
    prior_precision: Array  # [layout.size]; 0 for the target
    moments: SiteMoments
    values: NDArray[np.float32]  # [layout.size, rows]: enough for densities of residuals

    def rows(self, rows: slice | NDArray[np.intp]) -> Array:
        """Values of the dictionary on some rows: [rows, layout.size]."""
        return _evaluate(self.features, self.target, self.candidates, self.layout, rows).T

    @cached_property
    def site_sums(self) -> Array:
        """Σ G, Σ e G and Σ e² G over sites at positions e: [3, layout.size, layout.size]."""
        e, gram = self.features.position, self.moments.gram
        weights = np.stack([np.ones(len(e)), e, e**2])
        return np.asarray((weights @ gram.reshape(len(e), -1)).reshape(3, *gram.shape[1:]))


def build_dictionary(
    features: Features,
    target: int,
    candidates: tuple[int, ...],
    n_pair: int = N_PAIR,
    has_triples: bool = True,
) -> Dictionary:
    """Collect the moments of a target and its candidates in one pass over the rows."""
    table = features.table
    layout = Layout(len(candidates), features.width, n_pair, has_triples)
    gram = np.zeros((table.n_sites, layout.size, layout.size))
    values = np.empty((layout.size, table.n_rows), dtype=np.float32)
    for m, rows in chunks(table.bounds):
        block = _evaluate(features, target, candidates, layout, rows)
        gram[m] += block @ block.T
        values[:, rows] = block
    moments = SiteMoments(np.diff(table.bounds).astype(float), gram)
    return Dictionary(
        features,
        target,
        candidates,
        layout,
        _prior_precision(features, candidates, layout),
        moments,
        values,
    )


def _evaluate(
    features: Features,
    target: int,
    candidates: tuple[int, ...],
    layout: Layout,
    rows: slice | NDArray[np.intp],
) -> Array:
    """Values of the dictionary: [layout.size, rows]."""
    own = [features.of(k, rows).T for k in candidates]  # [width, rows] each
    scores = [np.asarray(features.standardised(k, rows)[1]) for k in candidates]
    raw, normal = features.standardised(target, rows)
    out = np.empty((layout.size, len(raw)))
    out[CONSTANT], out[TARGET], out[NORMAL_TARGET] = 1.0, raw, normal
    for k, block in enumerate(own):
        out[FIRST + k * layout.width : FIRST + (k + 1) * layout.width] = block
    for (a, b), at in layout.pairs.items():
        _pair_terms(own[a], own[b], scores[a], scores[b], out[at : at + layout.n_pair])
        for d in range(b + 1, layout.n if layout.has_triples else 0):
            # the product of the linear features is the first of the pair's terms
            np.multiply(out[at], own[d][0], out=out[layout.triples[a, b, d]])
    return out


def _pair_terms(a: Array, b: Array, u_a: Array, u_b: Array, out: Array) -> None:
    """Products of low degree, and tanh of sums and differences of the normal scores."""
    np.multiply(a[0], b[0], out=out[0])
    np.multiply(a[0], b[1], out=out[1])
    np.multiply(a[1], b[0], out=out[2])
    at = 3
    if len(out) == at:
        return
    for index in (u_a + u_b, u_a - u_b):
        for centre in c.RIDGE_CENTRES:
            np.tanh(c.RIDGE_SLOPE * (index * np.sqrt(0.5) - centre), out=out[at])
            at += 1


def _prior_precision(features: Features, candidates: tuple[int, ...], layout: Layout) -> Array:
    variance = np.full(layout.size, np.inf)
    variance[CONSTANT] = c.INTERCEPT_VARIANCE
    for k, column in enumerate(candidates):
        variance[list(layout.main(k))] = features.prior_variance[column]
    for at in layout.pairs.values():
        variance[at : at + layout.n_pair] = c.PAIR_VARIANCE[: layout.n_pair]
    for at in layout.triples.values():
        variance[at] = c.TRIPLE_VARIANCE
    return 1.0 / variance
