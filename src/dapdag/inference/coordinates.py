"""The environments of domains as a user sees them.

E is known only up to a change of coordinates, and each member of an ensemble learns its own. All
are brought into the coordinates of the first member by the affine map that fits best on the
sources, so that one posterior per domain can be shown.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from ..model.constants import SURELY_OUTSIDE
from .fitted import EnvPosterior, FittedModel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class EnvironmentMap:
    """Affine maps from every member's coordinates to the first one's, and the sources there."""

    linear: FloatArray  # [members, dim, dim], E_first = offset + E_member @ linear
    offset: FloatArray  # [members, dim]
    source_mean: FloatArray  # [sources, dim]
    source_variance: FloatArray

    @staticmethod
    def align(model: FittedModel) -> "EnvironmentMap":
        members, sources, dim = model.source_mean.shape
        linear = np.broadcast_to(np.eye(dim), (members, dim, dim)).copy()
        offset = np.zeros((members, dim))
        first = model.source_mean[0]
        if sources > dim + 1 and model.formulation.uses_environment:
            for m in range(1, members):
                design = np.column_stack([np.ones(sources), model.source_mean[m]])
                solution = np.linalg.lstsq(design, first, rcond=None)[0]
                offset[m], linear[m] = solution[0], solution[1:]
        aligned = EnvironmentMap(linear, offset, first, model.source_variance[0])
        pooled = [
            aligned._pool(EnvPosterior(model.source_mean[:, s], model.source_variance[:, s]))
            for s in range(sources)
        ]
        return EnvironmentMap(
            linear, offset, np.stack([p[0] for p in pooled]), np.stack([p[1] for p in pooled])
        )

    def _aligned(self, q: EnvPosterior) -> tuple[FloatArray, FloatArray]:
        """Mean [members, dim] and covariance [members, dim, dim] in common coordinates."""
        mean = self.offset + np.einsum("md,mde->me", q.mean, self.linear)
        covariance = np.einsum("mde,md,mdf->mef", self.linear, q.variance, self.linear)
        return mean, covariance

    def _pool(self, q: EnvPosterior) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the mixture over members, each [dim]."""
        mean, covariance = self._aligned(q)
        within = np.einsum("mdd->md", covariance)
        return mean.mean(0), within.mean(0) + mean.var(0)

    def describe_sources(self, labels: Sequence[Hashable]) -> pd.DataFrame:
        return _frame(labels, self.source_mean, self.source_variance)

    def describe(
        self,
        labels: Sequence[Hashable],
        found: Sequence[EnvPosterior],
        novel: NDArray[np.bool_] | None = None,
    ) -> pd.DataFrame:
        """One row per domain; `outside` where E lies outside the sources' range with probability
        `SURELY_OUTSIDE` or more, or where features are `novel` whatever E."""
        pooled = [self._pool(q) for q in found]
        mean, variance = (np.stack(part) for part in zip(*pooled, strict=True))
        low, high = self.source_mean.min(0), self.source_mean.max(0)
        frame = _frame(labels, mean, variance)
        reach = norm.ppf(SURELY_OUTSIDE) * np.sqrt(variance)
        frame["outside"] = ((mean + reach < low) | (mean - reach > high)).any(1)
        if novel is not None:
            frame["outside"] |= novel
        return frame

    def draw(self, q: EnvPosterior, n: int, rng: np.random.Generator) -> FloatArray:
        """Draws from the mixture over members, in common coordinates: [n, dim]."""
        members = rng.integers(len(q.mean), size=n)
        own = q.mean[members] + np.sqrt(q.variance[members]) * rng.normal(size=(n, q.mean.shape[1]))
        return self.offset[members] + np.einsum("nd,nde->ne", own, self.linear[members])

    def to_members(self, env: FloatArray) -> FloatArray:
        """A point in common coordinates in those of every member: [members, dim]."""
        return np.stack(
            [
                np.linalg.lstsq(linear.T, env - offset, rcond=None)[0]
                for linear, offset in zip(self.linear, self.offset, strict=True)
            ]
        )


def _frame(labels: Sequence[Hashable], mean: FloatArray, variance: FloatArray) -> pd.DataFrame:
    columns = {}
    for k in range(mean.shape[1]):
        columns[f"E{k + 1}_mean"] = mean[:, k]
        columns[f"E{k + 1}_sd"] = np.sqrt(variance[:, k])
    return pd.DataFrame(columns, index=pd.Index(list(labels), name="domain"))
