"""Every domain as the unseen target once: scores, validation, distances, comparisons and tables."""

from dapdag.evaluate.assessment import assess
from dapdag.evaluate.clinical.estimates import STATISTICS, Statistic
from dapdag.evaluate.clinical.exchange import pool_results, site_results
from dapdag.evaluate.clinical.validation import Validation
from dapdag.evaluate.evaluation import Evaluation
from dapdag.evaluate.external import validate
from dapdag.evaluate.metrics import METRICS, Metric, primary_metric
from dapdag.evaluate.protocol import leave_one_domain_out
from dapdag.evaluate.references import reference_models
from dapdag.evaluate.selection import Selection, one_standard_error, select

__all__ = [
    "METRICS",
    "STATISTICS",
    "Evaluation",
    "Metric",
    "Selection",
    "Statistic",
    "Validation",
    "assess",
    "leave_one_domain_out",
    "one_standard_error",
    "pool_results",
    "primary_metric",
    "reference_models",
    "select",
    "site_results",
    "validate",
]
