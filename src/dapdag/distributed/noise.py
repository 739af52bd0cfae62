"""Sums with Gaussian noise: differential privacy of the content of every row.

Each row contributes a vector of bounded length to the sums. With noise whose standard deviation is
that of the analytic Gaussian mechanism (Balle and Wang 2018) the sums are (ε, δ)-differentially
private, where neighbouring tables differ in the content of one row and have equally many rows.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from dapdag.data.chunks import Chunks
from dapdag.data.columns import Discrete
from dapdag.data.layout import Encoded, sizes_of
from dapdag.distributed.moments import cell_values
from dapdag.inference.fitted import FittedModel
from dapdag.inference.row_evidence import row_evidence

Array = NDArray[np.float64]
# Probability with which the guarantee may fail: below one row in as many as any site has.
DELTA = 1e-6
# Rows drawn from the model's own columns that say how long a row's contribution is, and the share
# of them that is not shortened. Not measured: a longer bound needs more noise, a shorter one
# changes more rows.
REFERENCE_ROWS, UNBOUNDED_SHARE = 512, 0.95


def noisy_totals(
    model: FittedModel, X: pd.DataFrame, epsilon: float, delta: float, rng: np.random.Generator
) -> dict[str, Array]:
    """The encoder's sums and those of the columns, with noise, and the variance of the former."""
    if not (0 < epsilon < np.inf and 0 < delta < 1):
        raise ValueError(f"epsilon={epsilon}, delta={delta}: ε must be positive, δ between 0 and 1")
    scale, bound = _reference_scale(model)
    encoder = _bounded_sums(model, X, scale, bound)  # [excess and weighted, members, dim]
    columns, longest = _column_sums(model, X)
    # Both parts together, each in units of its bound, change by at most 2·√2 with one row.
    sigma = 2 * np.sqrt(2) * noise_multiplier(epsilon, delta)
    deviation = sigma * bound * scale
    if not model.formulation.uses_environment:
        deviation = np.zeros_like(deviation)
    encoder = encoder + deviation * rng.standard_normal(encoder.shape)
    noisy = {
        name: total + sigma * longest * rng.standard_normal(total.shape)
        for name, total in columns.items()
    }
    return {
        "excess": encoder[0],
        "weighted": encoder[1],
        "excess_noise": deviation[0] ** 2,
        "weighted_noise": deviation[1] ** 2,
        **noisy,
    }


def noise_multiplier(epsilon: float, delta: float) -> float:
    """Standard deviation of the noise for sums that one row changes by at most 1.

    The smallest σ with Φ(1/2σ − εσ) − exp(ε) Φ(−1/2σ − εσ) ≤ δ.
    """

    def excess(log_sigma: float) -> float:
        sigma = np.exp(log_sigma)
        a, b = 1 / (2 * sigma), epsilon * sigma
        return float(norm.cdf(a - b) - np.exp(epsilon + norm.logcdf(-a - b)) - delta)

    return float(np.exp(brentq(excess, np.log(1e-3), np.log(1e6))))


def _bounded_sums(model: FittedModel, X: pd.DataFrame, scale: Array, bound: float) -> Array:
    """Sums of the rows' evidence for E, longer ones shortened to the bound."""
    total = np.zeros_like(scale)
    if not model.formulation.uses_environment:
        return total

    def part(data: Encoded, present: NDArray[np.float32]) -> Array:
        found = _contributions(model, data)
        length = _lengths(found, scale)
        share = present * np.minimum(1.0, bound / np.maximum(length, 1e-300))
        return np.asarray(np.einsum("kmrd,r->kmd", found, share))

    for _, more in Chunks(model.table, X).map(part):
        total += more
    return total


def _column_sums(model: FittedModel, X: pd.DataFrame) -> tuple[dict[str, Array], float]:
    """Sums of the columns, numbers clipped to the range that the model knows; and how much one row
    can contribute to them at most."""
    cells, seen = cell_values(model.table, X)
    cells = np.clip(cells, -1.0, 1.0)
    totals = {"values": seen.sum(0), "first": cells.sum(0), "second": (cells**2).sum(0)}
    # Number, sum and square of each feature are at most 1; of its levels a row has one.
    return totals, float(np.sqrt(3 * len(model.table.features)))


def _reference_scale(model: FittedModel) -> tuple[Array, float]:
    """Typical size of each number that a row contributes, and the bound on their length in units of
    it: both from the model alone, not from the site's rows."""
    found = _contributions(model, _reference_rows(model))
    scale = np.maximum(np.sqrt((found**2).mean(2)), 1e-12)
    return scale, float(np.quantile(_lengths(found, scale), UNBOUNDED_SHARE))


def _contributions(model: FittedModel, data: Encoded) -> Array:
    """Evidence of every row for E: [excess and weighted, members, rows, dim]."""
    found = row_evidence(model, data)
    return np.stack([found.excess, found.weighted])


def _lengths(found: Array, scale: Array) -> Array:
    return np.asarray(np.sqrt(((found / scale[:, :, None]) ** 2).sum((0, 1, 3))))


def _reference_rows(model: FittedModel) -> Encoded:
    """Complete rows whose cells are drawn from the model's columns, one by one."""
    rng = np.random.default_rng(0)
    columns, variables, _ = sizes_of(model.table)
    values = np.zeros((REFERENCE_ROWS, columns), dtype=np.float32)
    observed = np.zeros((REFERENCE_ROWS, variables), dtype=np.float32)
    observed[:, : len(model.table.features)] = 1.0
    start = 0
    for variable in model.table.features:
        if isinstance(variable, Discrete):
            share = np.asarray(variable.shares) / np.sum(variable.shares)
            code = rng.choice(len(share), REFERENCE_ROWS, p=share)
            hot = np.eye(len(share), dtype=np.float32)[code]
            block = hot[:, 1:] if variable.kind == "binary" else hot
        else:
            low, high = variable.scores[0], variable.scores[-1]  # type: ignore[union-attr]
            block = np.clip(rng.standard_normal((REFERENCE_ROWS, 1)), low, high)
        values[:, start : start + variable.width] = block
        start += variable.width
    return Encoded(values, observed)
