"""Data from several domains: simulated, with known environments, graphs and oracles."""

from dapdag.datasets.domain_data import DomainData, Split
from dapdag.datasets.random_sem import make_random_sem_domains
from dapdag.datasets.synthetic import make_classification_domains, make_regression_domains

__all__ = [
    "DomainData",
    "Split",
    "make_classification_domains",
    "make_random_sem_domains",
    "make_regression_domains",
]
