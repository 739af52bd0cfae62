"""Fixtures and settings for all tests: no windows, no touching of the user's cache."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Set what must stand before anything imports matplotlib or compiles with JAX.

    Compiled programs go under pytest's own cache folder: the workers of pytest-xdist and the next
    run find them there, and ``make clean`` removes them.
    """
    os.environ["MPLBACKEND"] = "Agg"
    os.environ.pop("DAPDAG_CACHE", None)
    if hasattr(config, "cache"):
        os.environ["DAPDAG_CACHE_DIR"] = str(config.cache.mkdir("dapdag"))
    else:
        os.environ["DAPDAG_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "dapdag-tests")
    from dapdag._runtime import compile as runtime_compile

    # The tests train hardly longer than they compile.
    quickest = runtime_compile.OPTIONS[runtime_compile.Effort.QUICK_TO_COMPILE]
    runtime_compile.OPTIONS[runtime_compile.Effort.FAST_TO_RUN].update(quickest)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets that are not committed, named by ``DAPDAG_DATA``."""
    folder = os.environ.get("DAPDAG_DATA")
    if not folder:
        pytest.skip("DAPDAG_DATA does not name the folder of data sets")
    if not Path(folder).is_dir():
        pytest.skip(f"DAPDAG_DATA names {folder}, which is not a folder")
    return Path(folder)
