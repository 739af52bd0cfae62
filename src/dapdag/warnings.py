"""The classes of dapdag's warnings, for filters.

All derive from `DapdagWarning`, which is a `UserWarning`:

    warnings.filterwarnings("ignore", category=dapdag.warnings.OutsideWarning)
"""

from dapdag._runtime.warning import (
    ContradictionWarning,
    DapdagWarning,
    DataWarning,
    InterruptedWarning,
    LeakageWarning,
    MethodWarning,
    MissingFeatureWarning,
    OutsideWarning,
    ReadingWarning,
    TrainingWarning,
    UnknownLevelWarning,
)

__all__ = [
    "ContradictionWarning",
    "DapdagWarning",
    "DataWarning",
    "InterruptedWarning",
    "LeakageWarning",
    "MethodWarning",
    "MissingFeatureWarning",
    "OutsideWarning",
    "ReadingWarning",
    "TrainingWarning",
    "UnknownLevelWarning",
]
