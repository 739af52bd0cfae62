"""Every domain as the unseen target once: scores, distances, comparisons and tables."""

from dapdag.evaluate.evaluation import Evaluation
from dapdag.evaluate.metrics import METRICS, Metric, primary_metric
from dapdag.evaluate.protocol import leave_one_domain_out

__all__ = ["METRICS", "Evaluation", "Metric", "leave_one_domain_out", "primary_metric"]
