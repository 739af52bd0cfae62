"""Packages that draw from Python's or NumPy's global generator."""

import contextlib
import random
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def global_seed(random_state: int) -> Iterator[None]:
    """Seed both global generators, and leave them afterwards as they were."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(random_state)
    np.random.seed(random_state)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
