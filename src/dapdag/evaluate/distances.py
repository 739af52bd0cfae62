"""Distances between the features of domains, without any model."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.datasets.domain_data import DomainData

Array = NDArray[np.float64]
MAX_ROWS = 200


def describe_targets(
    data: DomainData, targets: list[Any], distances: bool = True, random_state: int = 0
) -> pd.DataFrame:
    """One row per target: its size, missing cells, label, and distances to the sources.

    `smd` is the mean over columns of the absolute standardised mean difference to the pooled
    sources; a category counts as one column per level, a missing cell does not count. `sinkhorn`
    is the mean over sources of the Sinkhorn divergence between at most 200 rows of each, on
    columns that all rows together standardise, missing cells at their mean; NaN where POT is not
    installed.
    """
    rows = {t: np.asarray(data.sample_domain == t) for t in targets}
    numeric = pd.api.types.is_numeric_dtype(data.y)
    found = pd.DataFrame(
        {
            "n_rows": [int(inside.sum()) for inside in rows.values()],
            "missing": [float(data.X[i].isna().to_numpy().mean()) for i in rows.values()],
            "label_mean": [float(data.y[i].mean()) if numeric else np.nan for i in rows.values()],
        },
        index=pd.Index(targets, name="target", dtype=object),
    )
    if not distances:
        return found
    columns = _columns(data.X)
    divergence = _mean_divergence(data, columns, random_state)
    return found.assign(
        smd=[mean_difference(columns[i], columns[~i]) for i in rows.values()],
        sinkhorn=[float(divergence[data.domains.index(t)]) for t in targets],
    )


def mean_difference(target: Array, sources: Array) -> float:
    """Mean over columns of |difference of means| / root mean of the two variances."""
    differences = []
    for a, b in zip(target.T, sources.T, strict=True):
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        if len(a) == 0 or len(b) == 0:
            continue
        scale = np.sqrt((a.var() + b.var()) / 2) or np.concatenate([a, b]).std()
        differences.append(abs(a.mean() - b.mean()) / scale if scale > 0 else 0.0)
    return float(np.mean(differences)) if differences else np.nan


def sinkhorn_divergences(clouds: list[Array]) -> Array:
    """Debiased entropic transport cost between any two samples: 0 where they are the same."""
    cost = np.zeros((len(clouds), len(clouds)))
    for i, j in itertools.combinations_with_replacement(range(len(clouds)), 2):
        cost[i, j] = cost[j, i] = transport_cost(
            clouds[i], clouds[j], entropy=0.1, max_iterations=200, precision=1e-9, warn=False
        )
    own = np.diag(cost)
    return np.maximum(cost - (own[:, None] + own) / 2, 0.0)


def sinkhorn_distance(a: Array, b: Array) -> float:
    """2-Wasserstein distance of the rows of two tables: the root of the transport cost."""
    return float(np.sqrt(transport_cost(a, b, entropy=0.05)))


def transport_cost(
    a: Array,
    b: Array,
    *,
    entropy: float,
    max_iterations: int = 2000,
    precision: float = 1e-5,
    warn: bool = True,
) -> float:
    """Mean squared Euclidean distance between two tables' rows under entropic optimal transport.

    Computed by Sinkhorn's iterations (Cuturi 2013), through POT; rows weigh the same.

    Parameters
    ----------
    entropy : weight of the entropy in mean costs: the smaller, the nearer to exact transport.
    max_iterations, precision : when to stop.
    warn : whether to warn if that precision was not reached.
    """
    try:
        import ot
    except ImportError as error:
        raise ValueError("Sinkhorn distances need POT: pip install 'dapdag[bench]'") from error
    cost = ot.dist(a, b)
    scale = cost.mean()
    if scale == 0:
        return 0.0
    # What one row pays wherever it goes does not change the plan, but the kernel of a far outlier
    # would be zero in all its entries.
    reduced = cost / scale
    reduced = reduced - reduced.min(axis=1, keepdims=True)
    reduced = reduced - reduced.min(axis=0, keepdims=True)
    weights = [np.full(len(rows), 1.0 / len(rows)) for rows in (a, b)]
    plan = ot.sinkhorn(
        *weights, reduced, entropy, numItermax=max_iterations, stopThr=precision, warn=warn
    )
    return float((plan * cost).sum() / plan.sum())


def _columns(X: pd.DataFrame) -> Array:
    """Numbers as they are, one 0/1 column per level of a category; NaN where missing."""
    parts = []
    for name in X:
        column = X[name]
        if pd.api.types.is_numeric_dtype(column) and not isinstance(
            column.dtype, pd.CategoricalDtype
        ):
            parts.append(column.to_numpy(dtype=np.float64, na_value=np.nan)[:, None])
        else:
            levels = pd.get_dummies(column.astype(object), dtype=np.float64).to_numpy()
            parts.append(np.where(column.isna().to_numpy()[:, None], np.nan, levels))
    return np.concatenate(parts, axis=1)


def _mean_divergence(data: DomainData, columns: Array, random_state: int) -> Array:
    """Of every domain to the others, in the order of `data.domains`; NaN without POT."""
    try:
        import ot  # noqa: F401
    except ImportError:
        return np.full(len(data.domains), np.nan)
    rng = np.random.default_rng(random_state)
    count = np.maximum((~np.isnan(columns)).sum(axis=0), 1)
    mean = np.nansum(columns, axis=0) / count
    spread = np.sqrt(np.nansum((columns - mean) ** 2, axis=0) / count)
    scaled = np.nan_to_num((columns - mean) / np.where(spread > 0, spread, 1.0))
    clouds = [
        scaled[rng.permutation(np.flatnonzero(data.sample_domain == domain))[:MAX_ROWS]]
        for domain in data.domains
    ]
    return sinkhorn_divergences(clouds).sum(axis=1) / max(len(clouds) - 1, 1)
