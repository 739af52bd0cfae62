"""How far a target's features lie from the sources', seen without any model."""

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.datasets.domain_data import DomainData

Array = NDArray[np.float64]
MAX_ROWS = 200
BLUR = 0.1  # entropic regularisation, in mean costs


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
        cost[i, j] = cost[j, i] = _transport(clouds[i], clouds[j])
    own = np.diag(cost)
    return np.maximum(cost - (own[:, None] + own) / 2, 0.0)


def _transport(a: Array, b: Array) -> float:
    import ot

    cost = ot.dist(a, b)
    blur = BLUR * max(float(cost.mean()), 1e-12)

    def solved(method: str) -> float:
        return float(ot.sinkhorn2([], [], cost, blur, method=method, numItermax=200, warn=False))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", message="Numerical errors", category=UserWarning)
        found = solved("sinkhorn_stabilized")
    # Single cells far away underflow; logarithms do not, but take several times as long.
    return found if np.isfinite(found) else solved("sinkhorn_log")


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
