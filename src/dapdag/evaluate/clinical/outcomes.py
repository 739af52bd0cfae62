"""Outcomes and predictions of the event, or of the number, from tables of predictions."""

from typing import Any

import numpy as np
import pandas as pd

from dapdag._runtime.text import level, quoted
from dapdag.evaluate.clinical.estimates import BINARY

PREFIX = "probability_"


def outcomes_of(predictions: pd.DataFrame, task: str, event: Any) -> tuple[pd.DataFrame, Any]:
    """Columns target, method, y, p of the predictions, and the event that y = 1 stands for."""
    keys = predictions[["target", "method"]].reset_index(drop=True)
    label = predictions["label"].to_numpy()
    if task != BINARY:
        if event is not None:
            raise ValueError(f"event={event!r}: the label is a number, which has no events")
        p = predictions["predicted"].to_numpy(dtype=np.float64)
        return keys.assign(y=label.astype(np.float64), p=p), None
    names = [c.removeprefix(PREFIX) for c in map(str, predictions) if c.startswith(PREFIX)]
    event = chosen_event(names, event)
    p = predictions[f"{PREFIX}{event}"].to_numpy(dtype=np.float64)
    return keys.assign(y=[float(level(v) == event) for v in label], p=p), event


def chosen_event(classes: list[str], event: Any) -> str:
    """The class that was asked for, or the second of two."""
    if event is None:
        if len(classes) != 2:
            raise ValueError(
                f"the label has {len(classes)} classes: name the one to validate against the "
                f"others, event= (--event) {quoted(classes)}"
            )
        return classes[1]
    if level(event) not in classes:
        raise ValueError(f"event {event!r}: there is no such class; there are {quoted(classes)}")
    return level(event)
