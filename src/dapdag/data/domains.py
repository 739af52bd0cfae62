"""The domain of every row, as users give it."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def domain_array(sample_domain: Any, n_rows: int) -> NDArray:
    """One domain label per row, as an object or integer array."""
    labels = np.asarray(sample_domain)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"sample_domain must hold one label per row: X has {n_rows} rows, sample_domain has "
            f"shape {labels.shape}"
        )
    missing = pd.isna(labels)
    if missing.any():
        raise ValueError(
            f"sample_domain is missing in {int(missing.sum())} row(s), the first at position "
            f"{int(np.argmax(missing))}: every row must belong to a domain"
        )
    if labels.dtype.kind == "f":
        if not np.all(labels == labels.astype(np.int64)):
            raise ValueError("sample_domain must be integers or strings, not fractions")
        labels = labels.astype(np.int64)
    return labels
