"""Compile quickly: in the process that runs the tests, and as a preload in workers of Dask."""

from typing import Any


def compile_quickly() -> None:
    """The tests train hardly longer than they compile."""
    from dapdag._runtime import compile as runtime_compile

    quickest = runtime_compile.OPTIONS[runtime_compile.Effort.QUICK_TO_COMPILE]
    for options in runtime_compile.OPTIONS.values():
        options.update(quickest)


def dask_setup(worker: Any) -> None:
    compile_quickly()
