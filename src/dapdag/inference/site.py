"""A site that has been adapted to: its rows, its E, and what follows from both, computed once."""

import functools

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.chunks import Chunks
from . import novelty, prediction
from .environment import infer_environment
from .fitted import EnvPosterior, FittedModel
from .prediction import Experts, LabelDistribution


class Site:
    """Rows of one site under a fitted model. Everything is inferred when first asked for."""

    def __init__(self, model: FittedModel, X: pd.DataFrame) -> None:
        self.model, self.X = model, X
        self._chunks = Chunks(model.table, X)

    @functools.cached_property
    def env(self) -> EnvPosterior:
        """Posterior of E under each member."""
        return infer_environment(self.model, self._chunks)

    @functools.cached_property
    def experts(self) -> Experts:
        """What each expert predicts, their weights, and the site's effects on mechanisms."""
        return prediction.ask_experts(self.model, self._chunks, self.env)

    @functools.cached_property
    def label(self) -> LabelDistribution:
        """The label's distribution, row by row."""
        found = prediction.combine_experts(self.model, self.experts)
        return prediction.recalibrate(self.model, found)

    @functools.cached_property
    def unexplained(self) -> NDArray[np.float64]:
        """How much less likely each feature is than in its worst source: [features]."""
        return novelty.unexplained(self.model, self.X, self.env)
