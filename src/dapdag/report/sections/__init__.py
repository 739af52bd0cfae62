"""The report's sections, in the order in which they are read."""

from collections.abc import Callable
from dataclasses import dataclass

from ..facts import Facts
from ..markup import Markup
from .calibration import calibration
from .cells import cells
from .closing import limits, making
from .data import data
from .environments import environments
from .graph import graph
from .left_out import left_out
from .predictions import predictions
from .table_one import table_one
from .tripod import tripod
from .validation import validation


@dataclass(frozen=True)
class Section:
    """A heading, the name by which links find it, what writes it, and whether few will read it."""

    anchor: str
    title: str
    write: Callable[[Facts], Markup]
    appendix: bool = True


SECTIONS = (
    Section("characteristics", "The new site beside the known ones", table_one, appendix=False),
    Section("predictions", "Predictions and how sure they are", predictions, appendix=False),
    Section("limits", "What this report cannot tell", limits, appendix=False),
    Section("left-out", "How well a site is predicted that was left out", left_out),
    Section("validation", "Validation, with confidence intervals", validation),
    Section("calibration", "Do the predictions mean what they say?", calibration),
    Section("data", "The question and the data", data),
    Section("sites", "Where the sites lie", environments),
    Section("graph-section", "How the columns hang together", graph),
    Section("cells", "What was missing or out of range", cells),
    Section("making", "How it was made", making),
    Section("tripod", "For the article: TRIPOD checklist", tripod),
)
