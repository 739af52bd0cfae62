"""JAX's persistent compilation cache, switched on while dapdag compiles and off again after.

A program that was compiled once is read from disk by the next process. The cache lives in the
user's cache folder; ``DAPDAG_CACHE_DIR`` names another one and ``DAPDAG_CACHE=off`` does without.
A cache that the user configured in JAX is left alone and used.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAX_BYTES = 1 << 30
_LOG_ONLY_FATAL = 3

_lock = threading.Lock()
_users = 0  # blocks that are open now, in any thread: the first switches on, the last switches off
_undo = contextlib.ExitStack()


def cache_dir() -> Path:
    """The folder for what dapdag can make again: ``DAPDAG_CACHE_DIR``, or the user's cache."""
    named = os.environ.get("DAPDAG_CACHE_DIR")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("dapdag", appauthor=False))


@contextlib.contextmanager
def compilation_cache() -> Iterator[None]:
    """Programs compiled in this block are read from the cache, or written to it.

    Blocks may be nested and run in several threads. Every setting that is touched is restored when
    the last block ends. Where the folder cannot be used, the block runs without a cache.
    """
    counted = _enter()
    try:
        yield
    finally:
        if counted:
            _leave()


def _enter() -> bool:
    global _users
    with _lock:
        if _users == 0:
            folder = cache_dir() / "xla"
            if not _wanted() or not _usable(folder):
                return False
            try:
                _switch_on(folder)
            except BaseException:
                _undo.close()
                raise
        _users += 1
    return True


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            _undo.close()


def _wanted() -> bool:
    if os.environ.get("DAPDAG_CACHE", "").lower() in {"off", "0", "false", "no"}:
        return False
    users_own = _option("jax_compilation_cache_dir") or os.environ.get("JAX_COMPILATION_CACHE_DIR")
    return bool(_option("jax_enable_compilation_cache")) and not users_own


@functools.cache
def _usable(folder: Path) -> bool:
    """Make the folder, prove that it can be locked and written, and drop unfinished entries.

    JAX writes an entry and then its time of access. A process that was stopped in between, or a
    machine that lost power, leaves an entry that JAX warns about in every process.
    """
    from filelock import FileLock

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return False
        with FileLock(folder / ".lockfile", timeout=2):
            for entry in folder.glob("*-cache"):
                accessed = entry.with_name(f"{entry.name.removesuffix('-cache')}-atime")
                if entry.stat().st_size == 0 or not accessed.exists():
                    entry.unlink()
    except (OSError, NotImplementedError):
        return False
    return True


def _switch_on(folder: Path) -> None:
    from jax.experimental.compilation_cache import compilation_cache as jax_cache

    # JAX keeps the cache it opened first, whatever the settings say later: reset on both sides.
    jax_cache.reset_cache()
    _undo.callback(jax_cache.reset_cache)
    for name, value in {
        "jax_compilation_cache_dir": str(folder),
        "jax_compilation_cache_max_size": _MAX_BYTES,
        "jax_persistent_cache_min_compile_time_secs": 0.2,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # XLA's own caches (for GPUs) put the folder's path into the key of every program.
        "jax_persistent_cache_enable_xla_caches": "none",
    }.items():
        _set_option(name, value)
    _mute_xla()


def _option(name: str) -> Any:
    import jax

    return getattr(jax.config, name)


def _set_option(name: str, value: Any) -> None:
    import jax

    before = _option(name)

    def restore() -> None:
        if _option(name) == value:  # else it was changed meanwhile, and that stands
            jax.config.update(name, before)

    jax.config.update(name, value)
    _undo.callback(restore)


def _mute_xla() -> None:
    """Keep XLA from printing an error for every program that it reads from the cache.

    On processors with AVX-512, XLA:CPU notes two preferences of its code generator among the
    features that a program needs, does not find them in the processor, says that this may crash,
    and then runs the program well (openxla/xla issue 44565). JAX has no setting for this alone.
    """
    import jax

    try:
        from jaxlib.utils import absl_set_min_log_level
    except ImportError:
        return
    before = _xla_log_level()
    if jax.default_backend() == "cpu" and 0 < before < _LOG_ONLY_FATAL:
        absl_set_min_log_level(_LOG_ONLY_FATAL)
        _undo.callback(absl_set_min_log_level, before)


def _xla_log_level() -> int:
    """The level that XLA logs from: JAX's setting if there is one, else the environment's."""
    levels = {"DEBUG": 0, "INFO": 0, "WARNING": 1, "ERROR": 2, "CRITICAL": 3}
    from_environment = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1")
    fallback = int(from_environment) if from_environment.isdecimal() else 1
    return levels.get(_option("jax_logging_level"), fallback)
