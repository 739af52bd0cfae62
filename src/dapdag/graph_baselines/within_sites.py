"""Tables of several sites: one array per site, and differences in level taken out."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dapdag.data.domains import domain_array
from dapdag.graph_baselines.tables import column_names, standardised


def sites_of(X: Any, sample_domain: Any) -> list[NDArray[np.float64]]:
    """The rows of every site, standardised over all sites; one site where there are no labels."""
    Z = standardised(X)
    codes = _codes(sample_domain, len(Z))
    return [Z[codes == k] for k in range(codes.max() + 1)]


def centred_by_site(X: Any, sample_domain: Any) -> pd.DataFrame:
    """Every column with mean 0 at each site: differences in level between sites are gone.

    Dependence that only these differences create is no edge, so a method that pools the rows
    should see them like this.

    Parameters
    ----------
    X : DataFrame or array of shape (rows, columns)
        Finite numbers, more rows than columns.
    sample_domain : sequence of labels, one per row
        Site of every row.

    Returns
    -------
    DataFrame
        The centred columns.
    """
    values = np.asarray(X, dtype=float)
    names = column_names(X, values.shape[1])
    frame = pd.DataFrame(values, columns=pd.Index(names))
    return frame - frame.groupby(_codes(sample_domain, len(frame))).transform("mean")


def _codes(sample_domain: Any, n_rows: int) -> NDArray[np.intp]:
    if sample_domain is None:
        return np.zeros(n_rows, dtype=np.intp)
    return pd.factorize(domain_array(sample_domain, n_rows))[0]
