"""One stage of a fit: its lanes are trained under progress and a checkpoint."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .._runtime.progress import progress
from .assemble import Assembled, Data
from .checkpoint import Checkpoint
from .loop import Trained, train
from .settings import Settings


def best_of_members(found: Trained, data: Data) -> NDArray[np.float32]:
    """For all members of a sample the encoder and decoder of the one that reconstructs best.

    So E is one quantity, with one set of coordinates.
    """
    members = len(data.seeds)
    best = [
        first + int(np.argmin(found.losses[first : first + members]))
        for first in range(0, data.n_lanes, members)
    ]
    return np.repeat(found.vectors[best], members, axis=0)


def run_stage(
    data: Data,
    stage: Assembled,
    name: str,
    then: Sequence[Callable],
    start: NDArray | None = None,
) -> Trained:
    settings, seeds = data.settings, data.seeds
    keys = jnp.stack([jax.random.key(s) for _ in data.samples for s in seeds])
    checkpoint = Checkpoint.open(
        *(_checkpoint_path(settings, name), stage.trainer, stage.plan, stage.problem, seeds)
    )
    with progress(stage.plan.max_epochs, name, settings.verbose) as bar:

        def show(epoch: int, loss: float) -> None:
            bar.update(epoch, validation=loss)

        return train(
            *(stage.trainer, stage.problem, keys, stage.plan, checkpoint),
            on_progress=show,
            then=then,
            start=start,
            warns=name != "structure",  # without a label stage there is no model to keep
        )


def _checkpoint_path(settings: Settings, stage: str) -> str | None:
    """The user's file; the second stage has one of its own beside it."""
    path = settings.checkpoint
    return f"{path}.label" if path is not None and stage == "label" else path


def forget_checkpoints(data: Data, *stages: str, interrupted: bool) -> None:
    """Remove the checkpoints of a training that has come to its end."""
    for stage in stages:
        checkpoint = Checkpoint.open(_checkpoint_path(data.settings, stage))
        if checkpoint is not None and not interrupted:
            checkpoint.remove()


def history_of(found: Trained, stage: str) -> NDArray:
    """The history of a stage, with NaN for the terms that it does not have."""
    absent = {"structure": (0, 3, 4), "label": (2, 3, 4)}[stage]
    history = found.history.copy()
    history[..., absent] = np.nan
    return history


def member_seeds(settings: Settings) -> list[int]:
    """One seed for each member of the ensemble."""
    return [
        int(np.random.SeedSequence([settings.random_state, m]).generate_state(1)[0])
        for m in range(settings.n_members)
    ]
