"""Evidence that noise is not normal, by a Pólya tree centred at the normal law.

The standardised residuals r are mapped to t = Φ(r), uniform if the noise is normal. A Pólya tree
halves [0, 1] repeatedly; the share of a bin that falls into its left half has the prior
Beta(a_k, a_k), a_k = c k² at depth k. With n_L and n_R residuals in the halves of a bin,

    log Bayes factor = Σ_bins log B(a_k + n_L, a_k + n_R) / B(a_k, a_k) + (n_L + n_R) log 2,

which is negative, but only a few nats, when the noise is normal (Berger and Guglielmi, 2001).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp, ndtr

from dapdag.structure import constants as c
from dapdag.structure.statistics import Array


def tree_depth(n_distinct: int) -> int:
    """Depth at which a bin still holds several distinct values of the variable on average."""
    depth = int(np.log2(max(n_distinct / c.TREE_VALUES_PER_BIN, 1.0)))
    return min(depth, c.TREE_MAX_DEPTH)


def marginal_gain(z: Array, depth: int) -> float:
    """Log likelihood of a standardised column beyond the normal law, heavy tails allowed.

    The best of Pólya trees on the scales t = asinh((z − median) / s).
    """
    deviation = z - np.median(z)
    best = float(density_gain(z[:, None], depth)[0])
    for s in c.TAIL_SCALES:
        t = np.arcsinh(deviation / s)
        jacobian = -np.log(s) - 0.5 * np.log1p((deviation / s) ** 2)
        gain = float(density_gain(t[:, None], depth)[0]) + float(jacobian.sum())
        best = max(best, gain - len(z) * float(np.log(t.std())))
    return best


def density_gain(residuals: Array, depth: int) -> Array:
    """Log likelihood gained over the normal law, at least 0, per column of [rows, sets]."""
    n_rows, n_sets = residuals.shape
    spread = residuals.std(axis=0)
    if depth < 2 or n_rows < 2:
        return np.zeros(n_sets)
    scale = np.where(spread > 0, spread, 1.0)
    t = ndtr((residuals - residuals.mean(axis=0)) / scale)
    n_bins = 1 << depth
    bins = np.minimum((t * n_bins).astype(np.intp), n_bins - 1) + np.arange(n_sets) * n_bins
    counts = np.bincount(bins.ravel(), minlength=n_sets * n_bins).reshape(n_sets, n_bins)
    factors = [_log_bayes_factor(counts, depth, n_rows, k) for k in c.TREE_CONCENTRATIONS]
    # half of the prior on the normal law itself, whose factor is 0
    mixture = logsumexp(factors, axis=0) - np.log(len(factors))
    return np.asarray(np.where(spread > 0, np.logaddexp(0.0, mixture) - np.log(2.0), 0.0))


def _log_bayes_factor(counts: Array, depth: int, n_rows: int, concentration: float) -> Array:
    out = np.zeros(len(counts))
    for k in range(depth, 0, -1):
        halves = counts.reshape(len(counts), -1, 2)
        counts = halves.sum(axis=2)
        own, both = _log_gamma(concentration * k**2, n_rows)
        out += (own[halves].sum(axis=2) - both[counts]).sum(axis=1)
    return out


@lru_cache(maxsize=64)
def _log_gamma(a: float, n_rows: int) -> tuple[Array, Array]:
    """Tables over counts m of log Γ(a + m) / Γ(a), and log Γ(2a + m) / Γ(2a) − m log 2."""
    m = np.arange(n_rows + 1)
    own = gammaln(a + m) - gammaln(a)
    both = gammaln(2 * a + m) - gammaln(2 * a) - m * np.log(2.0)
    return own, both
