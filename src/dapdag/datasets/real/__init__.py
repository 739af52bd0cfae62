"""Published data sets of several domains, read from files that the user has.

Every loader reads NAME/NAME.csv below the folder that ``DAPDAG_DATA`` names (or ``folder=``), or
the original files as their publisher distributes them; where neither is there, the error says
where to get them.
"""

from collections.abc import Callable

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.real.bike import load_bike_sharing
from dapdag.datasets.real.chamber import load_chamber_nonlin
from dapdag.datasets.real.heart import load_uci_heart
from dapdag.datasets.real.impact import load_impact_tbi
from dapdag.datasets.real.sachs import load_sachs

LOADERS: dict[str, Callable[..., DomainData]] = {
    "uci_heart": load_uci_heart,
    "impact_tbi": load_impact_tbi,
    "sachs": load_sachs,
    "chamber_nonlin": load_chamber_nonlin,
    "bike_sharing": load_bike_sharing,
}

__all__ = [
    "LOADERS",
    "load_bike_sharing",
    "load_chamber_nonlin",
    "load_impact_tbi",
    "load_sachs",
    "load_uci_heart",
]
