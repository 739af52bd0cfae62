"""The reporting checklist as a table of its own, for a manuscript's supplement."""

from typing import Any

import pandas as pd

from .facts import gather
from .sections.tripod import items


def tripod_table(
    model: Any, X: Any = None, sample_domain: Any = None, y: Any = None
) -> pd.DataFrame:
    """The checklist of TRIPOD+AI and TRIPOD-Cluster, filled in with what the software knows.

    It is the table of the report, see `write_report`. The checklists themselves are the reference.

    Parameters
    ----------
    model : fitted DAPDAG estimator, or path-like
        The model, or the path of a saved one.
    X : DataFrame or array of shape (rows, columns), optional
        A new table. By default the checklist is of the model alone.
    sample_domain : sequence of labels, one per row, optional
        Site of every row of `X`. By default all rows are one site.
    y : sequence, one per row, optional
        Outcomes of `X`, for the external validation.

    Returns
    -------
    DataFrame
        One row per item, with the columns ``"software"`` (what it knows) and ``"authors"`` (what
        they must write); empty where there is nothing.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.report import tripod_table
    >>> tripod_table(model).loc["Sources of data", "software"]
    '4 sites (0, 1, 2 and 3), 60 rows each'
    """
    found = items(gather(model, X, sample_domain, y))
    return pd.DataFrame(
        {"software": [i.known or "" for i in found], "authors": [i.authors for i in found]},
        index=pd.Index([i.topic for i in found], name="item"),
    )
