"""Every source predicted from the others, as a model keeps it for its report."""

from typing import Any

import pandas as pd
from sklearn.base import clone

from dapdag.datasets.domain_data import DomainData
from dapdag.evaluate.clinical.extra import clinical_is_installed
from dapdag.evaluate.clinical.stored import to_rows
from dapdag.evaluate.evaluation import Evaluation
from dapdag.evaluate.protocol import leave_one_domain_out
from dapdag.evaluate.references import reference_models

OWN = "dapdag"


def assess(
    estimator: Any, data: DomainData, *, progress: bool | None = None, n_jobs: int | None = 1
) -> pd.DataFrame:
    """Leave out each domain in turn: the estimator (method "dapdag") and the reference models.

    The table is for `assessment_`: scores and, where the extra `clinical` is installed and the
    label is a number or has two classes, statistics by site and curves.

    Parameters
    ----------
    estimator : DAPDAG estimator
        Its settings are used; it stays as it is.
    data : DomainData
        Labelled rows of all sites.
    progress : bool, optional
        True shows a bar on a terminal.
    n_jobs : int, default=1
        Runs at a time, through joblib; -1 for one per core.

    Returns
    -------
    DataFrame
        Scores, statistics and curves in one table.
    """
    methods = {OWN: clone(estimator).set_params(verbose=0), **reference_models(data.task)}
    found = leave_one_domain_out(methods, data, progress=progress, n_jobs=n_jobs)
    return assessment_of(found, OWN)


def assessment_of(found: Evaluation, method: str) -> pd.DataFrame:
    """An evaluation as a table for `assessment_`; `method` is the one whose curves are kept."""
    if found.task == "classification":
        classes = [c for c in found.predictions if str(c).startswith("probability_")]
        if len(classes) != 2:
            return found.scores
    if not clinical_is_installed() or not len(found.predictions):
        return found.scores
    if method not in set(found.predictions["method"]):
        return found.scores
    return to_rows(found.scores, found.validation(), method)
