"""What has been trained is kept: a place for it when it was interrupted, or when a disk is full."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from ._shared import say


def save_model(model: Any, output: Path) -> None:
    """Write a model; where that fails, write it elsewhere and say where before the error goes on.

    A training of hours is not lost for want of space on one disk.
    """
    try:
        model.save(output)
    except OSError as error:
        place = _elsewhere(model, output)
        if place is None:
            raise
        raise OSError(
            f"cannot write {output} ({error.strerror or error}); the trained model is in {place}: "
            "move it where it belongs"
        ) from error


def save_interrupted(model: Any, output: Path) -> None:
    """Write the best weights of a training that was interrupted, not over a whole model."""
    if not hasattr(model, "fitted_"):
        return
    place = output
    if output.exists():
        place = output.with_name(f"{output.stem}.interrupted{output.suffix}")
    save_model(model, place)
    say(f"interrupted after {model.n_epochs_} epochs: the best weights so far are in {place}")


def _elsewhere(model: Any, output: Path) -> Path | None:
    """The first other place where the model can be written."""
    name = output.name
    for folder in (Path.cwd(), Path.home(), Path(tempfile.gettempdir())):
        place = folder / f"rescued-{name}"
        if folder.resolve() == output.absolute().parent.resolve() or place.exists():
            continue
        with contextlib.suppress(OSError):
            model.save(place)
            return place
    return None
