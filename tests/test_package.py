"""What dapdag does to the process it is loaded into: as little as possible."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("jax", "sklearn", "pandas", "matplotlib")


def python(code: str, **environment: str) -> str:
    """Run ``code`` in a process of its own, with warnings as errors, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    heavy = (*HEAVY, "typer", "rich", "pyarrow", "scipy", "numpy")
    loaded = python(f"import sys, dapdag; print([m for m in {heavy} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_estimators_load_no_plots_and_no_command_line() -> None:
    code = (
        "import sys; from dapdag import DAPDAGRegressor; print([m for m in {} if m in sys.modules])"
    )
    loaded = python(code.format(("matplotlib", "typer", "dapdag.report", "dapdag.io", "polars")))
    assert loaded.strip() == "[]"


def test_import_changes_no_global_state() -> None:
    python(
        """
import logging, warnings
import jax, sklearn

def state():
    loggers = {
        name: (logger.level, len(logger.handlers))
        for name, logger in logging.Logger.manager.loggerDict.items()
        if isinstance(logger, logging.Logger)
    }
    loggers["root"] = (logging.root.level, len(logging.root.handlers))
    return dict(jax.config.values), sklearn.get_config(), list(warnings.filters), loggers

before = state()
import dapdag
assert state() == before
"""
    )


def test_version_is_the_installed_one() -> None:
    import dapdag

    assert dapdag.__version__ == importlib.metadata.version("dapdag")


def test_public_names_are_listed() -> None:
    import dapdag

    assert set(dapdag.__all__) <= set(dir(dapdag))
    assert {"DAPDAGRegressor", "DAPDAGClassifier", "load"} <= set(dapdag.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    import dapdag

    with pytest.raises(AttributeError, match="no attribute 'DAPDAGRegresor'"):
        dapdag.DAPDAGRegresor  # noqa: B018


def test_public_names_load() -> None:
    import dapdag

    for name in dapdag.__all__:
        assert getattr(dapdag, name) is not None


def test_help_of_the_command_line_loads_nothing_heavy() -> None:
    out = python(
        f"""
import sys
sys.argv = ["dapdag", "--help"]
from dapdag.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
print([m for m in {HEAVY} if m in sys.modules])
"""
    )
    assert "demo" in out
    assert out.strip().endswith("[]")


COMPILE = """
import json, os
import jax, jax.numpy as jnp
from dapdag._runtime.cache import compilation_cache

events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event.split("/")[-1]))

def program(x):
    for _ in range(150):
        x = jnp.sin(x) @ jnp.cos(x)
    return x

x = jnp.eye(4)
settings = dict(jax.config.values)
with compilation_cache():
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.jit(jax.grad(lambda x: program(x).sum()))(x)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)
assert dict(jax.config.values) == settings

inside = [event for event in events if event in ("cache_hits", "cache_misses")]
events.clear()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.jit(lambda x: program(x) + 1)(x)
outside = [event for event in events if event in ("cache_hits", "cache_misses")]
print(json.dumps({"inside": inside, "outside": outside}))
"""


def compile_with(folder: Path, **environment: str) -> dict[str, list[str]]:
    answer: dict[str, list[str]] = json.loads(
        python(COMPILE, DAPDAG_CACHE_DIR=str(folder), **environment)
    )
    return answer


def test_second_process_reads_what_the_first_compiled(tmp_path: Path) -> None:
    first, second = compile_with(tmp_path / "cache"), compile_with(tmp_path / "cache")
    assert set(first["inside"]) == {"cache_misses"}
    assert set(second["inside"]) == {"cache_hits"}
    # What the user compiles outside of dapdag is none of the cache's business.
    assert first["outside"] == second["outside"] == []


def test_cache_can_be_switched_off(tmp_path: Path) -> None:
    assert compile_with(tmp_path / "cache", DAPDAG_CACHE="off")["inside"] == []
    assert not (tmp_path / "cache").exists()


def test_unusable_folder_means_no_cache_and_no_noise(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert compile_with(tmp_path / "file" / "cache")["inside"] == []


def test_cache_of_the_user_is_used(tmp_path: Path) -> None:
    compile_with(tmp_path / "cache", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own"))
    assert not (tmp_path / "cache").exists()
    assert any((tmp_path / "own").iterdir())


def test_unfinished_entries_are_dropped(tmp_path: Path) -> None:
    compile_with(tmp_path)
    entries = sorted((tmp_path / "xla").glob("*-cache"))
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:50])
        entry.with_name(entry.name.replace("-cache", "-atime")).unlink()
    assert set(compile_with(tmp_path)["inside"]) == {"cache_misses"}
    assert sorted((tmp_path / "xla").glob("*-cache")) == entries


def test_blocks_in_threads_restore_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import jax

    from dapdag._runtime.cache import compilation_cache

    monkeypatch.setenv("DAPDAG_CACHE_DIR", str(tmp_path))
    before: dict[str, Any] = dict(jax.config.values)
    seen: list[str | None] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        for _ in range(20):
            barrier.wait()
            with compilation_cache(), compilation_cache():
                seen.append(jax.config.jax_compilation_cache_dir)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {str(tmp_path / "xla")}
    assert dict(jax.config.values) == before


def test_setting_changed_inside_a_block_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import jax

    from dapdag._runtime.cache import compilation_cache

    monkeypatch.setenv("DAPDAG_CACHE_DIR", str(tmp_path))
    before = jax.config.jax_compilation_cache_max_size
    try:
        with compilation_cache():
            jax.config.update("jax_compilation_cache_max_size", 12345)
        assert jax.config.jax_compilation_cache_max_size == 12345
    finally:
        jax.config.update("jax_compilation_cache_max_size", before)


def test_programs_are_forgotten_when_they_take_too_much_room(monkeypatch, tmp_path):
    import jax
    import jax.numpy as jnp

    from dapdag._runtime import compile as runtime_compile

    add = jax.jit(lambda x: x + 1)
    add(jnp.zeros(3))
    maps = tmp_path / "maps"
    monkeypatch.setattr(runtime_compile, "MAPS", maps)
    for lines, kept in ((10, 1), (runtime_compile.MOST_MAPS + 1, 0)):
        maps.write_text("piece\n" * lines)
        runtime_compile.clear_if_full()
        assert add._cache_size() == kept
    maps.unlink()
    runtime_compile.clear_if_full()  # elsewhere than on Linux there is nothing to count


def test_lower_bounds_are_those_that_are_tried() -> None:
    """`make test-lowest` installs exactly the oldest versions that `pyproject.toml` allows."""
    import re
    import tomllib

    root = Path(__file__).parents[1]
    with (root / "pyproject.toml").open("rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    bounds = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", one).groups() for one in needed)  # type: ignore[union-attr]
    lines = (root / "constraints-lowest.txt").read_text("utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if "==" in line)
    for name, least in bounds.items():
        found, least_parts = tried[name].split("."), least.split(".")
        assert found[: len(least_parts)] == least_parts, (name, least, tried[name])
        assert all(part == "0" for part in found[len(least_parts) :]), (name, tried[name])
