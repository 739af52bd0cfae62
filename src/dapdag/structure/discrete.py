"""Laplace evidence of a binary or categorical variable given parents and sites.

A variable with K levels has a multinomial logistic regression on the parents' features: its logits
are C γ(x), with K − 1 orthonormal contrasts C of the levels, so that no level is a reference and
the evidence does not depend on how levels are numbered. The coefficients have normal priors; those
of the sites are nested within the common ones and are eliminated site by site in every Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Dictionary
from dapdag.structure.statistics import Array

_NEWTON_STEPS = 20
_TOLERANCE = 1e-3
# Site levels of a discrete variable: none, intercepts, slopes.
LEVELS = (0, 1, 2)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a discrete target; alike rows are one row with a count."""

    block: Array  # [rows, dictionary]
    code: NDArray[np.intp]  # [rows]: level of the target
    site: NDArray[np.intp]  # [rows], sorted
    parent_codes: NDArray[np.intp]  # [rows, candidates]: levels, −1 for a numeric candidate


def discrete_rows(dictionary: Dictionary) -> Rows:
    """Rows that enter the logistic regressions."""
    table = dictionary.features.table
    rows = slice(0, table.n_rows)
    codes = np.stack(
        [
            _level_codes(table.values[rows, k]) if table.levels[k] else np.full(table.n_rows, -1)
            for k in (*dictionary.candidates, dictionary.target)
        ],
        axis=1,
    )
    return Rows(
        block=dictionary.rows(rows),
        code=codes[:, -1],
        site=table.site[rows],
        parent_codes=codes[:, :-1],
    )


def _level_codes(values: Array) -> NDArray[np.intp]:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def discrete_evidence(dictionary: Dictionary, rows: Rows, parents: tuple[int, ...]) -> Array:
    """Evidence at each level of site effects, with products wherever they add: [3]."""
    layout, n_sites = dictionary.layout, dictionary.features.table.n_sites
    additive = [0, *(k for p in parents for k in layout.main(p)[: c.LOGISTIC_MAIN])]
    additive = _varying(rows.block, additive)
    products = layout.products(parents)
    slopes = [0, *(layout.main(p)[0] for p in parents)]
    problem = _problem(rows, parents)
    out = np.full(len(LEVELS), -np.inf)
    starts: dict[int, Array] = {}
    warm: Array | None = None
    for level in LEVELS[: 1 if n_sites == 1 else 3 if parents else 2]:
        effects = ([], [0], slopes)[level]
        out[level], warm = _fitted(problem, dictionary, additive, effects, warm)
        starts[level] = warm
    if products:
        best = int(np.argmax(out))
        effects = ([], [0], slopes)[best]
        value, _ = _fitted(problem, dictionary, additive + products, effects, starts[best])
        out[best] = max(out[best], value)
    return out


def _varying(block: Array, columns: list[int]) -> list[int]:
    """Columns other than the zeros that pad the features of discrete columns."""
    return [k for k in columns if block[:, k].any()]


@dataclass(frozen=True, eq=False)
class _Problem:
    block: Array  # [rows, dictionary]
    sites: list[slice]
    count: Array  # [levels, rows]: rows of the table that are alike, by their level


def _problem(rows: Rows, parents: tuple[int, ...]) -> _Problem:
    codes = rows.parent_codes[:, list(parents)]
    site, block = rows.site, rows.block
    n_levels = int(rows.code.max()) + 1
    if (codes >= 0).all():
        key = site
        for own in codes.T:
            key = np.unique(key * (int(own.max()) + 1) + own, return_inverse=True)[1]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        site, block = site[first], block[first]
        count = [np.bincount(inverse, rows.code == k) for k in range(n_levels)]
    else:
        count = [(rows.code == k).astype(float) for k in range(n_levels)]
    bounds = np.flatnonzero(np.diff(site, prepend=-1, append=-1))
    sites = [slice(a, b) for a, b in pairwise(bounds.tolist())]
    return _Problem(block, sites, np.stack(count))


def _contrasts(n_levels: int) -> Array:
    """Orthonormal contrasts of the levels (Helmert): [levels, levels − 1]."""
    lower = np.tril(np.ones((n_levels, n_levels)), k=-1)[:, :-1]
    raw = np.eye(n_levels)[:, :-1] * np.arange(n_levels - 1, 0, -1) - lower
    return np.asarray(raw / np.linalg.norm(raw, axis=0))


def _fitted(
    problem: _Problem,
    dictionary: Dictionary,
    columns: list[int],
    effects: list[int],
    start: Array | None = None,
) -> tuple[float, Array]:
    """Evidence and common coefficients; `start` are those of a smaller model."""
    free = c.SITE_LEVELS[c.LEVEL_FREE_SLOPES]
    variance = np.array([free.intercept, *[free.main] * (len(effects) - 1)][: len(effects)])
    regression = _Regression(
        design=problem.block[:, columns],
        count=problem.count,
        sites=problem.sites,
        contrasts=_contrasts(len(problem.count)),
        # the logit of one of two levels against the other has the variance of the prior
        precision=2 * dictionary.prior_precision[columns],
        effects=[columns.index(k) for k in effects],
        site_precision=2 / variance,
    )
    return regression.laplace(start)


@dataclass(frozen=True, eq=False)
class _Regression:
    """A multinomial logistic regression; coefficients are [terms, contrasts]."""

    design: Array  # [rows, terms]
    count: Array  # [levels, rows]
    sites: list[slice]
    contrasts: Array  # [levels, contrasts]
    precision: Array  # [terms]
    effects: list[int]  # terms with coefficients of every site
    site_precision: Array  # [effects]

    def laplace(self, start: Array | None) -> tuple[float, Array]:
        """Penalised log likelihood at its mode + 1/2 log |prior precision| − 1/2 log |Hessian|.

        Also returns the mode of the common coefficients; `start` has the first of them.
        """
        q = self.contrasts.shape[1]
        beta = np.zeros((len(self.precision), q))
        total = self.count.sum(axis=1)
        beta[0] = np.log(np.maximum(total / total.sum(), 1e-6)) @ self.contrasts
        if start is not None:
            beta[: len(start)] = start
        own = np.zeros((len(self.sites), len(self.effects), q))
        logits = self._logits(beta, own)
        value = self._penalised(logits, beta, own)
        log_det = 0.0
        for _ in range(_NEWTON_STEPS):
            step, own_step, log_det = self._newton(logits, beta, own)
            size = 1.0
            while True:
                new_beta, new_own = beta + size * step, own + size * own_step
                new_logits = self._logits(new_beta, new_own)
                new_value = self._penalised(new_logits, new_beta, new_own)
                if new_value >= value or size < 1e-3:
                    break
                size /= 2
            gained = new_value - value
            if gained > 0:
                beta, own, logits, value = new_beta, new_own, new_logits, new_value
            if gained < _TOLERANCE:
                break
        prior = np.log(self.precision).sum() + len(own) * np.log(self.site_precision).sum()
        return float(value + 0.5 * q * prior - 0.5 * log_det), beta

    def _logits(self, beta: Array, own: Array) -> Array:
        """Logits of every level: [levels, rows]."""
        eta = self.design @ beta
        if self.effects:
            for rows, b in zip(self.sites, own, strict=True):
                eta[rows] += self.design[rows][:, self.effects] @ b
        return np.asarray(self.contrasts @ eta.T)

    def _penalised(self, logits: Array, beta: Array, own: Array) -> float:
        top = logits.max(axis=0)
        log_sum = top + np.log(np.exp(logits - top).sum(axis=0))
        fit = np.vdot(self.count, logits - log_sum)
        penalty = self.precision @ (beta**2).sum(axis=1)
        penalty += (self.site_precision @ (own**2).sum(axis=2).T).sum()
        return float(fit - 0.5 * penalty)

    def _newton(self, logits: Array, beta: Array, own: Array) -> tuple[Array, Array, float]:
        """Newton step for the common and the site coefficients, and the log determinant."""
        terms, q = beta.shape
        W, score = self._moments(logits)
        prior = np.tile(self.precision, q)
        hessian = W.sum(axis=0) + np.diag(prior)
        gradient = score.sum(axis=0) - prior * beta.T.ravel()
        if not self.effects:
            step = np.linalg.solve(hessian, gradient).reshape(q, terms).T
            return step, own, float(np.linalg.slogdet(hessian)[1])
        at = (np.arange(q)[:, None] * terms + np.array(self.effects)).ravel()
        site_prior = np.tile(self.site_precision, q)
        cross = W[:, at]  # [sites, q * effects, q * terms]
        K = cross[:, :, at] + np.diag(site_prior)
        site_score = score[:, at] - site_prior * own.swapaxes(1, 2).reshape(len(own), -1)
        solved = np.linalg.solve(K, np.concatenate([cross, site_score[:, :, None]], axis=2))
        schur = hessian - np.einsum("mec,med->cd", cross, solved[:, :, :-1])
        right = gradient - np.einsum("mec,me->c", cross, solved[:, :, -1])
        step = np.linalg.solve(schur, right)
        own_step = solved[:, :, -1] - solved[:, :, :-1] @ step
        log_det = np.linalg.slogdet(schur)[1] + np.linalg.slogdet(K)[1].sum()
        own_step = own_step.reshape(len(own), q, -1).swapaxes(1, 2)
        return step.reshape(q, terms).T, own_step, float(log_det)

    def _moments(self, logits: Array) -> tuple[Array, Array]:
        """Hessian and gradient of the log likelihood at every site, contrasts before terms.

        The shapes are [sites, contrasts * terms, contrasts * terms] and [sites, contrasts * terms].
        """
        C, X, total = self.contrasts, self.design, self.count.sum(axis=0)
        q, terms = C.shape[1], X.shape[1]
        mu = np.exp(logits - logits.max(axis=0))
        mu /= mu.sum(axis=0)
        mean = C.T @ mu  # [contrasts, rows]
        products = (C[:, :, None] * C[:, None, :]).reshape(len(C), -1)
        weight = (products.T @ mu).reshape(q, q, -1) - mean[:, None] * mean
        weight *= total
        slope = C.T @ self.count - total * mean  # [contrasts, rows]
        hessian = np.empty((len(self.sites), q, terms, q, terms))
        gradient = np.empty((len(self.sites), q, terms))
        for m, rows in enumerate(self.sites):
            own = X[rows]
            gradient[m] = slope[:, rows] @ own
            for a in range(q):
                for b in range(a + 1):
                    block = (own * weight[a, b, rows, None]).T @ own
                    hessian[m, a, :, b] = hessian[m, b, :, a] = block
        size = q * terms
        return hessian.reshape(-1, size, size), gradient.reshape(-1, size)
