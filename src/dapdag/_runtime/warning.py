"""Classes of the warnings that dapdag gives, so that they can be filtered one by one."""


class DapdagWarning(UserWarning):
    """Every warning of dapdag; the others derive from it."""


class DataWarning(DapdagWarning):
    """About a training table: columns without values, copies, identifiers, sites with few rows."""


class LeakageWarning(DataWarning):
    """A column, or rows that are there twice, may give the label away."""


class ReadingWarning(DapdagWarning):
    """About a file: how its cells were read, and what it lacks."""


class UnknownLevelWarning(DapdagWarning):
    """A new table holds values of a discrete column that no source has."""


class MissingFeatureWarning(DapdagWarning):
    """A new site lacks a feature that the model was trained on."""


class OutsideWarning(DapdagWarning):
    """A new site lies outside what the sources span: its predictions are extrapolated."""


class ContradictionWarning(DapdagWarning):
    """The experts contradict each other at a new site."""


class TrainingWarning(DapdagWarning):
    """A training ended early, or failed in part."""


class InterruptedWarning(TrainingWarning):
    """A training was interrupted; the best weights so far are kept."""


class MethodWarning(DapdagWarning):
    """A method of a comparison failed, or did less than it usually does."""
