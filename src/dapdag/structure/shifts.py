"""Which mechanisms differ between sites, how, and how sure that is."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from dapdag.structure import constants as c
from dapdag.structure.dictionary import Layout
from dapdag.structure.models import level_evidence, residual_coefficients
from dapdag.structure.parents import NumericTarget
from dapdag.structure.statistics import Array
from dapdag.structure.targets import DiscreteTarget, Target

SHIFT_COLUMNS = ("probability", "level", "slopes", "shape", "noise", "log_bayes_factor")


def level_table(target: Target, parents: tuple[int, ...]) -> Array:
    """Evidence by level of site effects and by equal or unequal noise: [levels, 2]."""
    if isinstance(target, DiscreteTarget):
        out = np.full((len(c.SITE_LEVELS), 2), -np.inf)
        values = target.levels(parents)
        out[: len(values), 0] = values
        return out
    batch, choice = target.model(parents)
    return np.asarray(level_evidence(batch, choice)[0])


def shift_row(evidence: Array) -> dict[str, float]:
    """Probabilities that a mechanism differs between sites in some way.

    `probability` is that of any difference. A difference in level is one of the intercept; in
    slopes, of linear effects; in shape, of curves or products; in noise, of the noise variance.
    """
    # half of the prior on a stable mechanism
    n_others = max(int(np.isfinite(evidence).sum()) - 1, 1)
    prior = np.full(evidence.shape, -np.log(n_others))
    prior[0, 0] = 0.0
    p = softmax(evidence / c.SHIFT_TEMPERATURE + prior)
    stable = float(evidence[0, 0])
    rest = evidence.copy()
    rest[0, 0] = -np.inf
    gain = float(rest.max()) - stable
    return {
        "probability": float(1.0 - p[0, 0]),
        "level": float(p[1:].sum()),
        "slopes": float(p[list(c.SLOPE_LEVELS)].sum()),
        "shape": float(p[list(c.SHAPE_LEVELS)].sum()),
        "noise": float(p[:, 1].sum()),
        "log_bayes_factor": gain,
    }


def shift_frame(rows: dict[Hashable, dict[str, float]], names: list[Hashable]) -> pd.DataFrame:
    """One row per variable; constant columns and single sites do not shift."""
    stable = dict.fromkeys(SHIFT_COLUMNS, 0.0) | {"log_bayes_factor": -np.inf}
    found = [rows.get(name, stable) for name in names]
    return shift_table([[row[c] for c in SHIFT_COLUMNS] for row in found], names)


def shift_table(values: Any, names: list[Hashable]) -> pd.DataFrame:
    """Values by variable and by what differs, with their names."""
    index = pd.Index(names, name="variable", tupleize_cols=False)
    return pd.DataFrame(values, index=index, columns=list(SHIFT_COLUMNS), dtype=float)


def edge_weights(target: Target, parents: tuple[int, ...]) -> Array:
    """Standard deviation of what each parent contributes to the target, in units of its own.

    The contribution of a parent is the sum of the fitted terms that involve it. A discrete target
    is treated as a number.
    """
    if isinstance(target, DiscreteTarget):
        target = NumericTarget(target.dictionary)
    batch, choice = target.model(parents)
    coefficients = residual_coefficients(batch, choice)[0]  # [sites, terms]
    gram = batch.gram[0]
    layout = target.dictionary.layout
    n = batch.n_rows
    out = []
    for p in map(target.dictionary.candidates.index, parents):
        involved = np.isin(batch.columns[0], _involving(layout, p))
        part = np.where(involved, coefficients, 0.0)
        square = np.einsum("mi,mij,mj->", part, gram, part) / n
        mean = np.einsum("mi,mi->", part, gram[:, 0]) / n
        out.append(np.sqrt(max(square - mean**2, 0.0)))
    return np.array(out)


def _involving(layout: Layout, parent: int) -> list[int]:
    found = list(layout.main(parent))
    for pair, at in layout.pairs.items():
        if parent in pair:
            found += range(at, at + layout.n_pair)
    return found + [at for triple, at in layout.triples.items() if parent in triple]
