"""Conditional independence across domains, from the moments of every domain."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

Array = NDArray[np.float64]
# Keeps determinants defined when columns are linear combinations of others.
_RIDGE = 1e-9
# A variance, of columns that have variance 1 over all domains, that counts as none.
_NOTHING = 1e-6


class DomainTest:
    """Tests that treat the domain as a category, neither a number nor a distance.

    Two variables are compared inside every domain, given polynomials of the conditioning set with
    coefficients of the domain's own, and the evidence of the domains adds up: an effect whose sign
    differs between domains is found. Conditioning on the domain is valid, as nothing causes
    it. A variable is independent of the domain when one regression on the conditioning set (for
    numbers: with one noise scale) fits all domains; the alternative has one for each.
    All are likelihood ratio tests of Gaussian regressions.

    Parameters
    ----------
    blocks : one array [rows, columns] per variable: a number's single column, or 0/1 columns of
        a discrete variable
    numeric : which variables are numbers; these enter with powers up to `degree`
    domain : code of each row's domain
    """

    def __init__(
        self,
        blocks: Sequence[Array],
        numeric: Sequence[bool],
        domain: NDArray[np.intp],
        degree: int = 2,
    ) -> None:
        self.index = len(blocks)  # of the domain among the variables
        self._numeric = list(numeric)
        expanded = [
            np.concatenate([_scaled(block**k) for k in range(1, degree + 1)], axis=1)
            if is_number
            else _scaled(block)
            for block, is_number in zip(blocks, numeric, strict=True)
        ]
        ends = np.cumsum([1, *(block.shape[1] for block in expanded)]).tolist()
        self._columns = [list(range(a, b)) for a, b in pairwise(ends)]
        Z = np.concatenate([np.ones((len(domain), 1)), *expanded], axis=1)
        n_domains = int(domain.max()) + 1
        self._n = np.bincount(domain, minlength=n_domains).astype(float)
        # second moments of every domain, [domains, columns, columns]
        self._moments = np.stack([Z[domain == d].T @ Z[domain == d] for d in range(n_domains)])
        self._known: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def __call__(self, i: int, j: int, given: Sequence[int] | None = None) -> float:
        """The p-value of the independence of `i` and `j` given the variables `given`."""
        i, j = sorted((int(i), int(j)))
        condition = tuple(sorted(int(k) for k in given or () if k != self.index))
        key = (i, j, condition)
        if key not in self._known:
            columns = [0, *(c for k in condition for c in self._columns[k])]
            test = self._changes if j == self.index else self._related
            self._known[key] = test(i, j, columns)
        return self._known[key]

    def _related(self, i: int, j: int, given: list[int]) -> float:
        """Wilks' Λ of the two blocks' residuals in every domain, with Bartlett's correction."""
        a, b = self._columns[i], self._columns[j]
        p, q = len(a), len(b)
        freedom = self._n - len(given) - (p + q + 1) / 2
        use = freedom > p + q
        if not use.any():
            return 1.0
        correlation, varies = _correlations(
            _residual_moments(self._moments[use], a + b, given), self._n[use]
        )
        log_lambda = _log_det(correlation)
        log_lambda -= _log_det(correlation[:, :p, :p]) + _log_det(correlation[:, p:, p:])
        statistic = float(-(freedom[use] * log_lambda).sum())
        n_pairs = int((varies[:, :p].sum(1) * varies[:, p:].sum(1)).sum())
        return float(chi2.sf(max(statistic, 0.0), n_pairs)) if n_pairs else 1.0

    def _changes(self, i: int, _: int, given: list[int]) -> float:
        """One regression for all domains against one for each."""
        is_number = self._numeric[i]
        target = self._columns[i][:1] if is_number else self._columns[i]
        p, k = len(target), len(given)
        use = self._n > k + p + 1
        if use.sum() < 2:
            return 1.0
        moments, n = self._moments[use], self._n[use]
        floor = _NOTHING * np.eye(p)
        own = _residual_moments(moments, target, given)
        common = _residual_moments(moments.sum(0, keepdims=True), target, given) / n.sum() + floor
        free = (len(n) - 1) * k * p
        if is_number:
            statistic = n.sum() * _log_det(common)[0]
            statistic -= (n * _log_det(own / n[:, None, None] + floor)).sum()
            free += len(n) - 1
        else:
            freedom = n.sum() - len(n) * k - (p - free / p + 1) / 2
            within = own.sum(0, keepdims=True) / n.sum() + floor
            statistic = freedom * (_log_det(common)[0] - _log_det(within)[0])
        return float(chi2.sf(max(float(statistic), 0.0), free))


def _scaled(block: Array) -> Array:
    centred = block - block.mean(axis=0)
    spread = centred.std(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)


def _residual_moments(moments: Array, of: list[int], given: list[int]) -> Array:
    """Sums of squares and products of the residuals of least squares, domain by domain."""
    inner = moments[:, given][:, :, given]
    scale = np.trace(inner, axis1=1, axis2=2)[:, None, None] / len(given)
    inner = inner + _RIDGE * scale * np.eye(len(given))
    cross = moments[:, given][:, :, of]
    return moments[:, of][:, :, of] - np.swapaxes(cross, 1, 2) @ np.linalg.solve(inner, cross)


def _correlations(residual: Array, n: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Correlations of residuals; a column that is constant in a domain has none with others."""
    variance = np.diagonal(residual, axis1=1, axis2=2) / n[:, None]
    varies = variance > _NOTHING
    scale = np.where(varies, np.sqrt(np.where(varies, variance * n[:, None], 1.0)), np.inf)
    correlation = residual / scale[:, :, None] / scale[:, None, :]
    diagonal = np.arange(residual.shape[1])
    correlation[:, diagonal, diagonal] = 1.0 + _RIDGE
    return correlation, varies


def _log_det(matrices: Array) -> Array:
    return np.linalg.slogdet(matrices)[1]
