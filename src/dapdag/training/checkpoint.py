"""Training that can go on where it stopped.

A checkpoint is one safetensors file: the arrays of the training state, and in its header the epoch
and a fingerprint of data and settings. It is written now and then, and removed when training ends.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from .._runtime.files import atomic_write_bytes
from .problem import State

FORMAT = "dapdag-checkpoint-7"
SECONDS_BETWEEN = 10.0


class Saved(eqx.Module):
    """The state of a training between two calls; every field is an array or a tree of arrays."""

    state: State
    history: np.ndarray  # [lanes, epochs, terms]


@dataclass
class Checkpoint:
    """Where to save, and what must agree before a saved state may be used."""

    path: Path
    fingerprint: str
    saved_at: float = field(default_factory=time.monotonic)

    @staticmethod
    def open(path: str | None, *determined_by: Any) -> "Checkpoint | None":
        """A checkpoint for a training that is determined by the given objects; None for no path."""
        return None if path is None else Checkpoint(Path(path), _fingerprint(determined_by))

    def save_if_due(self, epoch: int, tree: Callable[[], Saved]) -> None:
        if time.monotonic() - self.saved_at >= SECONDS_BETWEEN:
            self.save(epoch, tree())

    def save(self, epoch: int, tree: Saved) -> None:
        leaves = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(tree)]
        header = {"format": FORMAT, "fingerprint": self.fingerprint, "epoch": json.dumps(epoch)}
        tensors = {f"{k:04d}": leaf for k, leaf in enumerate(leaves)}
        atomic_write_bytes(self.path, save(tensors, metadata=header))
        self.saved_at = time.monotonic()

    def load(self, like: Saved) -> tuple[int, Saved] | None:
        """The saved epoch and state, shaped `like` a fresh one; None if nothing was saved."""
        if self.path.is_dir():
            raise ValueError(f"checkpoint {self.path} is a folder: give the name of a file in it")
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                header = file.metadata() or {}
                leaves = [file.get_tensor(name) for name in sorted(file.keys())]
        except (SafetensorError, OSError) as error:
            raise ValueError(
                f"checkpoint {self.path} cannot be read ({error}): delete it to start afresh"
            ) from error
        if header.get("format") != FORMAT:
            raise ValueError(f"{self.path} is not a dapdag checkpoint: choose another path")
        if header["fingerprint"] != self.fingerprint:
            raise ValueError(
                f"checkpoint {self.path} belongs to other data or settings: delete it to start "
                "afresh, or choose another path"
            )
        return json.loads(header["epoch"]), jax.tree.unflatten(jax.tree.structure(like), leaves)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _fingerprint(objects: tuple[Any, ...]) -> str:
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(objects):
        if isinstance(leaf, jax.Array | np.ndarray):
            digest.update(np.ascontiguousarray(leaf).tobytes())
        else:
            digest.update(repr(leaf).encode())
    return digest.hexdigest()
