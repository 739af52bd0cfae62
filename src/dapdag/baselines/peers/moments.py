"""Means and standard deviations of a row's site, as further columns."""

import warnings

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def with_site_moments(Z: Array, site: NDArray) -> Array:
    """[rows, columns] -> [rows, 3 columns]: each column, its site's mean and its site's deviation.

    Missing cells do not count; a column that a site never measured has missing moments.
    """
    codes = np.unique(site, return_inverse=True)[1]
    n_sites, n_columns = int(codes.max()) + 1, Z.shape[1]
    mean, deviation = (np.full((n_sites, n_columns), np.nan) for _ in range(2))
    with warnings.catch_warnings():
        # Of columns without a value at a site.
        warnings.simplefilter("ignore", RuntimeWarning)
        for k in range(n_sites):
            rows = Z[codes == k]
            mean[k], deviation[k] = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    return np.concatenate([Z, mean[codes], deviation[codes]], axis=1)
