"""Laplace evidence of a binary or categorical variable given parents and sites.

A binary variable has a logistic regression on the parents' features. A variable with more levels
is a sequence of them: the first level against all others, the second against those that remain,
and so on (nested dichotomies), so that its evidence is the sum of theirs. The coefficients have
normal priors; those of the sites are nested within the common ones and are eliminated site by
site in every Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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
    problems = _dichotomies(rows, parents)
    out = np.full(len(LEVELS), -np.inf)
    starts: dict[int, list[Array]] = {}
    warm: list[Array] | None = None
    for level in LEVELS[: 1 if n_sites == 1 else 3 if parents else 2]:
        effects = ([], [0], slopes)[level]
        out[level], warm = _total(problems, dictionary, additive, effects, warm)
        starts[level] = warm
    if products:
        best = int(np.argmax(out))
        effects = ([], [0], slopes)[best]
        value, _ = _total(problems, dictionary, additive + products, effects, starts[best])
        out[best] = max(out[best], value)
    return out


def _varying(block: Array, columns: list[int]) -> list[int]:
    """Columns other than the zeros that pad the features of discrete columns."""
    return [k for k in columns if block[:, k].any()]


@dataclass(frozen=True, eq=False)
class _Dichotomy:
    block: Array  # [rows, dictionary]
    sites: list[slice]
    total: Array  # [rows]: rows of the table that are alike
    ones: Array  # [rows]: those that have the level


def _dichotomies(rows: Rows, parents: tuple[int, ...]) -> list[_Dichotomy]:
    codes = rows.parent_codes[:, list(parents)]
    out = []
    for level in range(int(rows.code.max())):
        left = np.flatnonzero(rows.code >= level)
        ones = (rows.code[left] == level).astype(float)
        site, block, total = rows.site[left], rows.block[left], np.ones(len(left))
        if (codes >= 0).all():
            key = np.column_stack([site, codes[left]])
            _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
            inverse = inverse.ravel()
            site, block = site[first], block[first]
            total, ones = np.bincount(inverse).astype(float), np.bincount(inverse, ones)
        bounds = np.flatnonzero(np.diff(site, prepend=-1, append=-1))
        sites = [slice(a, b) for a, b in pairwise(bounds.tolist())]
        out.append(_Dichotomy(block, sites, total, ones))
    return out


def _total(
    problems: list[_Dichotomy],
    dictionary: Dictionary,
    columns: list[int],
    effects: list[int],
    starts: list[Array] | None = None,
) -> tuple[float, list[Array]]:
    """Evidence of all dichotomies, and their common coefficients; `starts` are those of others."""
    precision = dictionary.prior_precision[columns]
    position = [columns.index(k) for k in effects]
    free = c.SITE_LEVELS[c.LEVEL_FREE_SLOPES]
    intercept, slope = free.intercept, free.main
    site_precision = 1 / np.array([intercept, *[slope] * (len(effects) - 1)][: len(effects)])
    found = [
        _laplace(
            problem, columns, precision, position, site_precision, starts[k] if starts else None
        )
        for k, problem in enumerate(problems)
    ]
    return sum(value for value, _ in found), [beta for _, beta in found]


def _laplace(
    problem: _Dichotomy,
    columns: list[int],
    precision: Array,
    effects: list[int],
    site_precision: Array,
    start: Array | None,
) -> tuple[float, Array]:
    """Penalised log likelihood at its mode + 1/2 log |prior precision| − 1/2 log |Hessian|.

    Also returns the mode of the common coefficients; `start` has the first of them.
    """
    designs = [problem.block[rows][:, columns] for rows in problem.sites]
    total = [problem.total[rows] for rows in problem.sites]
    ones = [problem.ones[rows] for rows in problem.sites]
    share = np.clip(problem.ones.sum() / problem.total.sum(), 1e-6, 1 - 1e-6)
    beta = np.zeros(len(columns))
    beta[0] = np.log(share / (1 - share))
    if start is not None:
        beta[: len(start)] = start
    own = np.zeros((len(designs), len(effects)))

    def linear(beta: Array, own: Array) -> list[Array]:
        return [
            X @ beta + (X[:, effects] @ b if effects else 0.0)
            for X, b in zip(designs, own, strict=True)
        ]

    def penalised(eta: list[Array], beta: Array, own: Array) -> float:
        fit = sum(
            float(k @ e - t @ np.logaddexp(0.0, e))
            for e, k, t in zip(eta, ones, total, strict=True)
        )
        return fit - 0.5 * float(precision @ beta**2 + (own**2 @ site_precision).sum())

    eta = linear(beta, own)
    value = penalised(eta, beta, own)
    log_det = 0.0
    for _ in range(_NEWTON_STEPS):
        step, own_step, log_det = _newton(
            designs, ones, total, eta, beta, own, precision, effects, site_precision
        )
        size = 1.0
        while True:
            new_beta, new_own = beta + size * step, own + size * own_step
            new_eta = linear(new_beta, new_own)
            new_value = penalised(new_eta, new_beta, new_own)
            if new_value >= value or size < 1e-3:
                break
            size /= 2
        gained = new_value - value
        if gained > 0:
            beta, own, eta, value = new_beta, new_own, new_eta, new_value
        if gained < _TOLERANCE:
            break
    prior = np.log(precision).sum() + len(designs) * np.log(site_precision).sum()
    return float(value + 0.5 * prior - 0.5 * log_det), beta


def _newton(
    designs: list[Array],
    ones: list[Array],
    total: list[Array],
    eta: list[Array],
    beta: Array,
    own: Array,
    precision: Array,
    effects: list[int],
    site_precision: Array,
) -> tuple[Array, Array, float]:
    """Newton step for the common and the site coefficients, and the log determinant."""
    hessian, gradient = np.diag(precision), -precision * beta
    grams, scores = [], []
    for X, k, t, e in zip(designs, ones, total, eta, strict=True):
        mu = expit(e)
        grams.append((X * (t * mu * (1 - mu))[:, None]).T @ X)
        scores.append(X.T @ (k - t * mu))
    W, score = np.stack(grams), np.stack(scores)
    hessian, gradient = hessian + W.sum(axis=0), gradient + score.sum(axis=0)
    if not effects:
        return np.linalg.solve(hessian, gradient), own, float(np.linalg.slogdet(hessian)[1])
    K = W[:, effects][:, :, effects] + np.diag(site_precision)  # [sites, effects, effects]
    cross = W[:, effects]  # [sites, effects, columns]
    site_score = score[:, effects] - site_precision * own
    solved = np.linalg.solve(K, np.concatenate([cross, site_score[:, :, None]], axis=2))
    schur = hessian - np.einsum("mec,med->cd", cross, solved[:, :, :-1])
    right = gradient - np.einsum("mec,me->c", cross, solved[:, :, -1])
    step = np.linalg.solve(schur, right)
    own_step = solved[:, :, -1] - solved[:, :, :-1] @ step
    log_det = np.linalg.slogdet(schur)[1] + np.linalg.slogdet(K)[1].sum()
    return step, own_step, float(log_det)
