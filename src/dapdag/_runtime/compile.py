"""Compilation: like `equinox.filter_jit`, in about half of the time.

The programs here are many small operations. XLA's higher levels of optimisation cost compilation
time and, measured on training, gained no speed.
"""

import enum
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax

P = ParamSpec("P")
T = TypeVar("T")

# Linux lets a process map 65,530 pieces of memory, and every compiled program takes some dozens:
# beyond that the compiler aborts the process.
MOST_MAPS = 40_000
MAPS = Path("/proc/self/maps")


class Effort(enum.Enum):
    """What the compiler spends on a program: compiling faster means running slower."""

    FAST_TO_RUN = "for what runs many times"
    # With vectors of 512 bits where the processor has them: a quarter faster to run on those.
    MANY_ROWS = "for what runs over all rows of large tables"
    # Without the newer emitters of fused operations: compiles in two thirds of the time, runs a
    # quarter slower.
    BALANCED = "for what runs a few times over all rows"
    # Without any optimisation: four times faster to compile, four times slower to run.
    QUICK_TO_COMPILE = "for what runs once or twice and is done in a moment"


OPTIONS: dict[Effort, dict[str, Any]] = {
    Effort.FAST_TO_RUN: {"xla_backend_optimization_level": 1},
    Effort.MANY_ROWS: {"xla_backend_optimization_level": 1, "xla_cpu_prefer_vector_width": 512},
    Effort.BALANCED: {
        "xla_backend_optimization_level": 1,
        "xla_cpu_use_fusion_emitters": False,
    },
    Effort.QUICK_TO_COMPILE: {
        "xla_backend_optimization_level": 0,
        "xla_cpu_use_fusion_emitters": False,
    },
}


def jit(effort: Effort = Effort.FAST_TO_RUN) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: compile a function with this effort."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        return eqx.filter_jit(function, compiler_options=OPTIONS[effort])  # type: ignore[call-overload]

    return decorate


def clear_if_full() -> None:
    """Clear JAX's caches before the process runs out of memory maps.

    A process that fits tables of many shapes would; programs are then compiled again when needed.
    """
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


class BackgroundCompiler:
    """Compiles programs in another thread, for calls that are still to come.

    Each call is a compiled function and its arguments, of which only the shapes matter.
    """

    def __init__(self, calls: Iterable[tuple[Any, ...]]) -> None:
        pool = ThreadPoolExecutor(1, thread_name_prefix="dapdag-compiles")
        self._jobs = [pool.submit(_compile, *call) for call in calls]
        pool.shutdown(wait=False)

    def wait(self) -> None:
        """Wait until all is compiled. A program that failed to compile raises when it is called."""
        for job in self._jobs:
            job.exception()


def _compile(program: Any, *arguments: Any) -> None:
    program.lower(*arguments).compile()
