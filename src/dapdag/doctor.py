"""Self-test of the installation: versions, devices, folders, and a small model trained, saved and
loaded."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

NEEDED = ("jax", "jaxlib", "equinox", "numpy", "pandas", "scikit-learn", "safetensors")
OPTIONAL = (
    *("statsmodels", "PyMetaAnalysis", "dcurves", "patsy"),
    *("lightgbm", "POT", "skada", "causal-learn", "optax", "dask"),
)
OK, NOTE, BROKEN = "ok", "note", "broken"


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes
    ----------
    name : str
        What was checked.
    status : str
        "ok", "note" or "broken".
    detail : str
        What was found.
    """

    name: str
    status: str
    detail: str


def examine(on_step: Callable[[str], None] = lambda step: None) -> list[Check]:
    """Check everything that dapdag depends on. Takes seconds, most of them for the small model.

    Parameters
    ----------
    on_step : callable, optional
        Is told the name of each step.

    Returns
    -------
    list of Check
        One result per check.
    """
    checks = [_python(), *map(_package, NEEDED), _optional(), _cache(), _data()]
    for step, check in (("Starting JAX", _devices), ("Training a small model", _self_test)):
        on_step(step)
        checks.append(_guarded(step, check))
    return checks


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    """The result of a check; an exception in it is reported as broken."""
    try:
        return check()
    except Exception as error:
        return Check(name, BROKEN, f"{type(error).__name__}: {' '.join(str(error).split())}")


def _python() -> Check:
    version = platform.python_version()
    return Check("Python", OK, f"{version} on {platform.system()} {platform.machine()}")


def _package(name: str) -> Check:
    try:
        return Check(name, OK, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(name, BROKEN, f"not installed: pip install {name}")


def _optional() -> Check:
    found = {name: _version(name) for name in OPTIONAL}
    there = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    absent = ", ".join(name for name, version in found.items() if not version)
    detail = f"{there or 'none'}{f'; not installed: {absent}' if absent else ''}"
    return Check("optional", OK, detail)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> Check:
    import jax

    kinds = [device.device_kind for device in jax.devices()]
    unique = ", ".join(f"{kinds.count(kind)} × {kind}" for kind in dict.fromkeys(kinds))
    return Check("devices", OK, f"{unique}, {os.cpu_count()} CPU cores")


def _cache() -> Check:
    """The folder of compiled programs, and whether it can be written."""
    from ._runtime.cache import cache_dir

    folder = cache_dir()
    if os.environ.get("DAPDAG_CACHE", "").lower() in {"off", "0", "false", "no"}:
        return Check("cache", NOTE, "switched off by DAPDAG_CACHE: every start compiles anew")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files) / 1e6
    except OSError as error:
        return Check("cache", NOTE, f"{folder} cannot be used ({error.strerror})")
    if not os.access(folder, os.W_OK):
        return Check("cache", NOTE, f"{folder} cannot be written: every start compiles anew")
    return Check("cache", OK, f"{folder} ({size:.0f} MB in {len(files):,} files)")


def _data() -> Check:
    """The folder of published data sets, which only their loaders need."""
    folder = os.environ.get("DAPDAG_DATA")
    if not folder:
        return Check("data", OK, "DAPDAG_DATA is not set (only dapdag.datasets.real needs it)")
    if not Path(folder).is_dir():
        return Check("data", BROKEN, f"DAPDAG_DATA names {folder}, which is not a folder")
    sets = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
    return Check("data", OK, f"{folder}: {', '.join(sets) or 'empty'}")


def _self_test() -> Check:
    """Train, predict, save and load; the loaded model must predict the same."""
    import numpy as np

    from dapdag import DAPDAGRegressor, load
    from dapdag.datasets import make_regression_domains

    started = time.perf_counter()
    data = make_regression_domains(n_domains=3, n_samples=40, random_state=0)
    model = DAPDAGRegressor(n_members=1, hidden=4, max_epochs=5)
    model.fit(data.X, data.y, sample_domain=data.sample_domain)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        same = load(Path(folder) / "model")
    predicted = model.predict(data.X)
    seconds = time.perf_counter() - started
    if not np.isfinite(predicted).all():
        return Check("self-test", BROKEN, "predictions are not finite")
    if not np.array_equal(predicted, same.predict(data.X)):
        return Check("self-test", BROKEN, "a saved model predicts something else once loaded")
    return Check("self-test", OK, f"trained, predicted, saved and loaded in {seconds:.1f} s")
