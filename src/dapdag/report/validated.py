"""Validation of the new table's predictions, where its outcomes are known."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.text import level
from ..evaluate.clinical.by_site import usual_threshold, validation_of
from ..evaluate.clinical.extra import clinical_is_installed
from ..evaluate.clinical.validation import Validation
from ..evaluate.external import source_prediction
from ..evaluate.references import CONSTANT

MODEL = "model"


def validated_new(
    model: Any,
    truth: NDArray | None,
    mean: NDArray[np.float64],
    probability: NDArray[np.float64] | None,
    site: list[Hashable],
) -> Validation | None:
    """Statistics with intervals of a number or of two classes; None where they cannot be had.

    The sources' mean, or share of events, for everyone is there as a second method.
    """
    if truth is None or not clinical_is_installed():
        return None
    task = "regression" if probability is None else "classification"
    if probability is not None and probability.shape[1] != 2:
        return None
    known = np.asarray(pd.notna(truth))
    event = None if probability is None else model.classes_[1]
    y = truth[known].astype(float) if event is None else (truth[known] == event).astype(float)
    own = pd.DataFrame({"target": [s for s, k in zip(site, known, strict=True) if k]})
    own = own.assign(method=MODEL, y=y, p=mean[known])
    threshold, parts = None, [own]
    constant = source_prediction(model)
    if constant is not None:
        parts.insert(0, own.assign(method=CONSTANT[task], p=constant[-1]))
        threshold = None if event is None else usual_threshold(constant[-1])
    outcomes = pd.concat(parts, ignore_index=True)
    return validation_of(outcomes, task, MODEL, None if event is None else level(event), threshold)
