"""Candidate parents of every variable: a pairwise screen, then forward selection.

Both work on rows centred within sites, so that differences between sites' means alone suggest
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Features
from dapdag.structure.statistics import Array

_TINY = 1e-9
_SLOPE_VARIANCE = c.SITE_LEVELS[c.LEVEL_FREE_SLOPES].main


def _centred(block: Array, bounds: NDArray[np.intp]) -> Array:
    """Columns of [rows, k] minus their site means."""
    out = block.copy()
    for start, stop in pairwise(bounds.tolist()):
        out[start:stop] -= out[start:stop].mean(axis=0)
    return out


def association(features: Features) -> Array:
    """Nats by which a pair of columns beats independence, at least: [columns, columns].

    The best of the correlations of the first three features over all sites, and of the linear
    correlations at each site, which may differ in sign. A product of two variables shows in the
    correlation of squares.
    """
    table = features.table
    everything, d = slice(0, table.n_rows), table.n_columns
    k = c.SCREEN_FEATURES
    block = np.concatenate([features.of(j, everything)[:, :k] for j in range(d)], axis=1)
    block = _centred(block, table.bounds)
    pooled = _information(block.T @ block, len(block))
    pooled = pooled.reshape(d, k, d, k).max(axis=(1, 3)) - 0.5 * np.log(len(block))
    by_site = np.zeros((d, d))
    linear = block[:, ::k]
    for start, stop in pairwise(table.bounds.tolist()):
        if stop - start > 2:
            rows = linear[start:stop]
            by_site += _information(rows.T @ rows, stop - start) - 0.5 * np.log(stop - start)
    return np.maximum(pooled, by_site)


def _information(gram: Array, n_rows: int) -> Array:
    """−n/2 log(1 − r²) for every pair."""
    scale = np.sqrt(np.maximum(np.diagonal(gram), _TINY))
    r2 = np.minimum((gram / np.outer(scale, scale)) ** 2, 1 - _TINY)
    return np.asarray(-0.5 * n_rows * np.log1p(-r2))


def forward_selection(
    features: Features,
    target: int,
    screened: tuple[int, ...],
    required: tuple[int, ...],
) -> tuple[int, ...]:
    """Candidates in the order in which they add most evidence, the required ones first."""
    limit = max(c.MAX_CANDIDATES, len(required))
    if not screened:
        return ()
    space = _SelectionSpace.of(features, target, screened)
    chosen: list[int] = []
    while len(chosen) < min(limit, len(screened)):
        if len(chosen) < len(required):
            pick = screened.index(required[len(chosen)])
        else:
            gain = space.gains(chosen)
            pick = int(np.argmax(gain))
            if len(chosen) >= c.MIN_CANDIDATES and gain[pick] < -c.CANDIDATE_MARGIN:
                break
        space = space.without(pick, chosen)
        chosen.append(pick)
    return tuple(screened[k] for k in chosen)


@dataclass(frozen=True, eq=False)
class _SelectionSpace:
    """Gram matrices from which the chosen candidates have been swept out."""

    gram: Array  # [features, features]: responses, main effects, products
    by_site: Array  # [sites, 1 + candidates, 1 + candidates]: response, linear features
    precision: Array  # [features]
    n_rows: int
    count: Array  # [sites]
    n_responses: int
    n_candidates: int
    sum_responses: bool

    @classmethod
    def of(cls, features: Features, target: int, screened: tuple[int, ...]) -> _SelectionSpace:
        table = features.table
        everything = slice(0, table.n_rows)
        degree = min(c.SCREEN_DEGREE, features.width)
        own = [features.of(k, everything)[:, :degree] for k in screened]
        categorical = table.levels[target] > 2
        if categorical:
            response = features.of(target, everything)[:, :degree]
        else:
            response = np.stack(features.standardised(target, everything), axis=1)
        pairs = [
            (own[a][:, 0] * own[b][:, 0])[:, None] for a, b in combinations(range(len(own)), 2)
        ]
        block = _centred(np.concatenate([response, *own, *pairs], axis=1), table.bounds)
        n_responses = response.shape[1]
        variance = [features.prior_variance[k, :degree] for k in screened]
        precision = np.concatenate(
            [
                np.ones(n_responses),
                *(1 / v for v in variance),
                np.full(len(pairs), 1 / c.PAIR_VARIANCE[0]),
            ]
        )
        linear = block[
            :, [n_responses - 1, *range(n_responses, n_responses + degree * len(own), degree)]
        ]
        bounds = list(pairwise(table.bounds.tolist()))
        return cls(
            gram=block.T @ block,
            by_site=np.stack([linear[a:b].T @ linear[a:b] for a, b in bounds]),
            precision=precision,
            n_rows=len(block),
            count=np.diff(table.bounds).astype(float),
            n_responses=n_responses,
            n_candidates=len(screened),
            sum_responses=categorical,
        )

    def _blocks(self, chosen: list[int]) -> NDArray[np.intp]:
        """Columns that each candidate would add: [candidates, degree + chosen]."""
        n, first = self.n_candidates, self.n_responses
        degree = (self._first_pair - first) // n
        own = first + np.arange(n)[:, None] * degree + np.arange(degree)
        other = np.array(chosen, dtype=np.intp)
        pair = self._pair_columns()[:, other]
        # what was chosen already is not looked at, but needs some column
        pair[other, np.arange(len(chosen))] = first
        return np.concatenate([own, pair], axis=1)

    @property
    def _first_pair(self) -> int:
        return len(self.gram) - self.n_candidates * (self.n_candidates - 1) // 2

    def _pair_columns(self) -> NDArray[np.intp]:
        """Column of the product of each pair of candidates, −1 on the diagonal."""
        n = self.n_candidates
        out = np.full((n, n), -1, dtype=np.intp)
        low, high = np.triu_indices(n, k=1)
        out[low, high] = out[high, low] = self._first_pair + np.arange(len(low))
        return out

    def gains(self, chosen: list[int]) -> Array:
        """Evidence that each candidate adds, by a common curve or by slopes of every site."""
        blocks = self._blocks(chosen)
        width, r = blocks.shape[1], self.n_responses
        index = np.concatenate([blocks, np.broadcast_to(np.arange(r), (len(blocks), r))], axis=1)
        A = self.gram[index[:, :, None], index[:, None, :]]
        squares = np.diagonal(self.gram)[:r]
        prior = self.precision[blocks]
        A[:, np.arange(width), np.arange(width)] += prior
        A[:, np.arange(width, width + r), np.arange(width, width + r)] += 1e3 * self.n_rows
        L = np.linalg.cholesky(A)
        explained = (L[:, width:, :width] ** 2).sum(axis=2)  # [candidates, responses]
        left = np.maximum(squares - explained, _TINY * self.n_rows)
        fit = 0.5 * self.n_rows * np.log(np.maximum(squares, _TINY * self.n_rows) / left)
        log_det = np.log(np.diagonal(L, axis1=1, axis2=2)[:, :width]).sum(axis=1)
        cost = log_det - 0.5 * np.log(prior).sum(axis=1)
        common = (fit - cost[:, None]).sum(axis=1) if self.sum_responses else fit.max(1) - cost
        gain = np.maximum(common, np.maximum(self._site_gains(), self._product_gains()))
        gain[chosen] = -np.inf
        return np.asarray(gain)

    def _product_gains(self) -> Array:
        """Evidence that the best product of each candidate with any other adds on its own."""
        if self.n_candidates < 2:
            return np.full(self.n_candidates, -np.inf)
        r, first = self.n_responses, self._first_pair
        own = np.diagonal(self.gram)[first:] + self.precision[first:]
        squares = np.maximum(np.diagonal(self.gram)[:r, None], _TINY * self.n_rows)
        left = np.maximum(squares - self.gram[:r, first:] ** 2 / own, _TINY * self.n_rows)
        fit = 0.5 * self.n_rows * np.log(squares / left).max(axis=0)
        gain = fit - 0.5 * np.log(own / self.precision[first:])
        position = self._pair_columns() - first
        np.fill_diagonal(position, len(gain))
        return np.asarray(np.append(gain, -np.inf)[position].max(axis=1))

    def _site_gains(self) -> Array:
        precision = 1 / _SLOPE_VARIANCE
        own = np.diagonal(self.by_site, axis1=1, axis2=2)[:, 1:] + precision
        cross, square = self.by_site[:, 0, 1:], self.by_site[:, :1, 0]
        floor = _TINY * self.count[:, None] + _TINY
        left = np.maximum(square - cross**2 / own, floor)
        fit = 0.5 * self.count[:, None] * np.log(np.maximum(square, floor) / left)
        return np.asarray((fit - 0.5 * np.log(own / precision)).sum(axis=0))

    def without(self, pick: int, chosen: list[int]) -> _SelectionSpace:
        """Sweep a candidate and its products with the chosen ones out of all columns."""
        block = self._blocks(chosen)[pick]
        A = self.gram[np.ix_(block, block)] + np.diag(self.precision[block])
        scaled = np.linalg.solve(np.linalg.cholesky(A), self.gram[block])
        column = self.by_site[:, :, 1 + pick]
        own = column[:, 1 + pick] + 1 / _SLOPE_VARIANCE
        return _SelectionSpace(
            gram=self.gram - scaled.T @ scaled,
            by_site=self.by_site - column[:, :, None] * column[:, None, :] / own[:, None, None],
            precision=self.precision,
            n_rows=self.n_rows,
            count=self.count,
            n_responses=self.n_responses,
            n_candidates=self.n_candidates,
            sum_responses=self.sum_responses,
        )
