"""Data from several domains: simulated, with known environments, graphs and oracles, or real."""

from dapdag.datasets.anticausal import make_anticausal_domains
from dapdag.datasets.domain_data import DomainData, Split
from dapdag.datasets.maggic import load_maggic
from dapdag.datasets.maggic_like import make_maggic_like
from dapdag.datasets.prepare import prepare_studies
from dapdag.datasets.random_sem import make_random_sem_domains
from dapdag.datasets.real import (
    load_bike_sharing,
    load_chamber_nonlin,
    load_impact_tbi,
    load_sachs,
    load_uci_heart,
)
from dapdag.datasets.synthetic import make_classification_domains, make_regression_domains

__all__ = [
    "DomainData",
    "Split",
    "load_bike_sharing",
    "load_chamber_nonlin",
    "load_impact_tbi",
    "load_maggic",
    "load_sachs",
    "load_uci_heart",
    "make_anticausal_domains",
    "make_classification_domains",
    "make_maggic_like",
    "make_random_sem_domains",
    "make_regression_domains",
    "prepare_studies",
]
