"""Ctrl-C, crashes and checkpoints."""

from dataclasses import replace

import equinox as eqx
import numpy as np
import pytest
from training_cases import EPOCHS, VALIDATION, assembled, final_validation, run

from dapdag._runtime.cache import compilation_cache
from dapdag.training import checkpoint as checkpoint_module
from dapdag.training.checkpoint import Checkpoint


@pytest.fixture(scope="module", autouse=True)
def kept_programs():
    """The next run of these tests finds the compiled programs."""
    with compilation_cache():
        yield


@pytest.fixture(scope="module")
def trained():
    return run()


class InterruptAt:
    """Raises an error from the progress call once an epoch is reached."""

    def __init__(self, epoch, error=KeyboardInterrupt):
        self.epoch, self.error = epoch, error

    def __call__(self, epoch, loss):
        assert np.isfinite(loss)
        if epoch >= self.epoch:
            raise self.error


@pytest.mark.parametrize("epoch", [1, EPOCHS - 5])
def test_ctrl_c_keeps_the_best_weights(epoch):
    with pytest.warns(UserWarning, match="interrupted after"):
        result = run(on_progress=InterruptAt(epoch))
    assert result.interrupted
    (history,) = result.history
    assert epoch <= len(history) < EPOCHS + 1
    np.testing.assert_allclose(final_validation(result), history[:, VALIDATION].min(), rtol=1e-4)


@pytest.fixture
def saved_at(tmp_path):
    """A checkpoint in a fresh folder; the same one on every call."""

    def open_checkpoint(*determined_by):
        return Checkpoint.open(str(tmp_path / "run.ckpt"), *(determined_by or assembled()))

    return open_checkpoint


@pytest.mark.parametrize("epoch", [1, EPOCHS - 5])
def test_an_interrupted_training_goes_on_to_the_same_end(saved_at, trained, epoch):
    with pytest.warns(UserWarning, match="interrupted"):
        run(checkpoint=saved_at(), on_progress=InterruptAt(epoch))
    assert saved_at().path.exists()
    epochs = []
    resumed = run(checkpoint=saved_at(), on_progress=lambda epoch, loss: epochs.append(epoch))
    assert min(epochs, default=EPOCHS) > epoch
    np.testing.assert_array_equal(resumed.vectors, trained.vectors)
    np.testing.assert_allclose(resumed.history, trained.history, rtol=1e-6)
    assert not resumed.interrupted


def test_a_stage_that_has_ended_is_not_trained_again(saved_at, trained):
    """A later stage may be interrupted: the earlier one is read from its checkpoint."""
    run(checkpoint=saved_at())
    epochs = []
    again = run(checkpoint=saved_at(), on_progress=lambda epoch, loss: epochs.append(epoch))
    assert not epochs
    np.testing.assert_array_equal(again.vectors, trained.vectors)


def test_a_crash_loses_only_what_came_after_the_last_checkpoint(saved_at, trained, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "SECONDS_BETWEEN", 0.0)
    with pytest.raises(RuntimeError):
        run(checkpoint=saved_at(), on_progress=InterruptAt(EPOCHS - 5, RuntimeError))
    epochs = []
    resumed = run(checkpoint=saved_at(), on_progress=lambda epoch, loss: epochs.append(epoch))
    assert min(epochs) > 1
    np.testing.assert_array_equal(resumed.vectors, trained.vectors)


def interrupted_file(saved_at):
    with pytest.warns(UserWarning, match="interrupted"):
        run(checkpoint=saved_at(), on_progress=InterruptAt(1))
    return saved_at().path


def test_a_checkpoint_of_other_data_or_settings_is_refused(saved_at):
    interrupted_file(saved_at)
    problem, trainer, plan = assembled()
    moved = eqx.tree_at(lambda p: p.blocks.values, problem, problem.blocks.values + 1)
    for other in (
        (moved, trainer, plan),
        (problem, trainer, replace(plan, max_epochs=EPOCHS + 1)),
        (problem, replace(trainer, alternating=True), plan),
    ):
        with pytest.raises(ValueError, match="other data or settings"):
            run(checkpoint=saved_at(*other))
    assert saved_at().path.exists()


@pytest.mark.parametrize("damage", ["truncated", "empty", "foreign"])
def test_a_damaged_checkpoint_is_refused_by_name(saved_at, damage):
    path = interrupted_file(saved_at)
    content = path.read_bytes()
    path.write_bytes(
        {"truncated": content[: len(content) // 2], "empty": b"", "foreign": b"hello" * 99}[damage]
    )
    with pytest.raises(ValueError, match="run.ckpt"):
        run(checkpoint=saved_at())


def test_without_a_path_there_is_no_checkpoint():
    assert Checkpoint.open(None, 1, 2) is None


def test_a_folder_in_the_place_of_a_checkpoint_is_named(tmp_path):
    with pytest.raises(ValueError, match="is a folder: give the name of a file in it"):
        run(checkpoint=Checkpoint.open(str(tmp_path), *assembled()))
