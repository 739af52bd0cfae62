"""How this package compiles: like `equinox.filter_jit`, but in about half of the time.

The programs here are many small operations, on which the compiler's higher levels of optimisation
are spent in vain: measured on training, they cost compilation and gained nothing.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax

P = ParamSpec("P")
T = TypeVar("T")

OPTIONS = {"xla_backend_optimization_level": 1}
# Without the newer emitters of fused operations a program compiles a third faster, and runs a
# quarter slower.
QUICKLY = {**OPTIONS, "xla_cpu_use_fusion_emitters": False}
# Without any optimisation it compiles four times faster still, and runs four times slower.
PLAINLY = {**QUICKLY, "xla_backend_optimization_level": 0}

# Linux lets a process map 65,530 pieces of memory, and every compiled program takes some dozens:
# beyond that the compiler aborts the process.
MOST_MAPS = 40_000
MAPS = Path("/proc/self/maps")


def make_room() -> None:
    """Forget programs compiled so far if there are too many: a process that fits tables of ever new
    shapes must not die of them. What is needed again is compiled again."""
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """For what runs many times."""
    return eqx.filter_jit(function, compiler_options=OPTIONS)  # type: ignore[call-overload]


def compiled_quickly(function: Callable[P, T]) -> Callable[P, T]:
    """For what runs once or twice in a training, over all of its rows many times."""
    return eqx.filter_jit(function, compiler_options=QUICKLY)  # type: ignore[call-overload]


def compiled_plainly(function: Callable[P, T]) -> Callable[P, T]:
    """For what runs once or twice in a training and is done in a moment."""
    return eqx.filter_jit(function, compiler_options=PLAINLY)  # type: ignore[call-overload]


class Ahead:
    """Compiles programs in another thread, for calls that are still to come.

    Each call is a compiled function and its arguments, of which only the shapes matter.
    """

    def __init__(self, calls: Iterable[tuple[Any, ...]]) -> None:
        pool = ThreadPoolExecutor(1, thread_name_prefix="dapdag-compiles")
        self._jobs = [pool.submit(_compile, *call) for call in calls]
        pool.shutdown(wait=False)

    def wait(self) -> None:
        """Until all is compiled. What could not be will say so when it is called."""
        for job in self._jobs:
            job.exception()


def _compile(program: Any, *arguments: Any) -> None:
    program.lower(*arguments).compile()
