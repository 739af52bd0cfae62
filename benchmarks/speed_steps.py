"""Parts of benchmarks/speed.py that look inside: growth, a training step, the first fit."""

import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from dapdag._runtime.compile import OPTIONS, Effort
from dapdag.data.sample import Sample, learn_table
from dapdag.datasets import make_regression_domains
from dapdag.training import lanes
from dapdag.training.assemble import Data, label_stage, structure_stage
from dapdag.training.graph import find_graph
from dapdag.training.run import member_seeds
from dapdag.training.settings import Settings

REPEATS = 5
LOOPS = 500

FIRST_FIT = """
import time
from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains
data = make_regression_domains(n_samples=100, random_state=0)
imported = time.process_time()
fit = lambda: DAPDAGRegressor(max_epochs=2).fit(data.X, data.y, sample_domain=data.sample_domain)
fit()
first = time.process_time()
fit()
print(imported, 2 * first - imported - time.process_time())
"""


def machine():
    """Processor, cores, load and versions: what figures of two runs must share to be compared."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    packages = ("dapdag", "jax", "numpy", "scikit-learn", "lightgbm")
    found = {p.metadata["Name"].lower(): p.version for p in distributions()}
    versions = [f"{name} {found[name]}" for name in packages if name in found]
    python = f"Python {platform.python_version()}"
    return f"{name}, {os.cpu_count()} cores{load}; {', '.join([python, *versions])}"


def growth(found):
    """Exponents of processor seconds between the smallest and the largest table of a kind."""
    rows = []
    for (along, method), part in found.groupby(["along", "method"], sort=False):
        if len(part) < 2:
            continue
        # Many sites need more rows than few: their exponent is that of time per row.
        small, big = part.iloc[0], part.iloc[-1]
        times = big.s / small.s / (big.rows / small.rows if along == "sites" else 1)
        sizes = big[along] / small[along]
        rows.append(
            {
                "along": along,
                "from": small[along],
                "to": big[along],
                "method": method,
                "exponent": float(np.log(times) / np.log(sizes)),
            }
        )
    return pd.DataFrame(rows)


def first_fit():
    """Imports, and what the first fit takes more than the second, without a cache and with one."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("nothing compiled before", "second process"):
            environment = dict(os.environ, DAPDAG_CACHE_DIR=folder)
            told = subprocess.run(
                [sys.executable, "-c", FIRST_FIT],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            imports, more = map(float, told.stdout.split())
            rows.append({"process": name, "imports": imports, "first fit beyond a warm one": more})
    return pd.DataFrame(rows)


def shares_of_step():
    """Microseconds of a step of either stage, of its matrix products alone, and GFLOP/s of both."""
    data = make_regression_domains(random_state=0)
    settings = Settings(n_members=1)
    sites = tuple(range(int(data.sample_domain.max()) + 1))
    sample = Sample(
        *(data.X, data.y.to_numpy(), data.sample_domain, sites),
        n_sources=len(sites),
        label_name="Y",
        classes=None,
    )
    known = learn_table(sample)
    graph = find_graph(sample, known, settings)
    about = Data.of([sample], [known], settings, member_seeds(settings), [graph])
    rows = []
    for name, stage in {"structure": structure_stage(about), "label": label_stage(about)}.items():
        trainer, problem, plan = stage.trainer, stage.problem, stage.plan
        state = lanes.on_host(lanes.start(trainer, jnp.stack([jax.random.key(0)])))
        budget = lanes.next_budgets(plan, 0, 1)[0]
        steps = plan.steps * int(budget.n_epochs)
        step = _least(lambda a=(trainer, problem, state, budget): lanes._advance(*a)) / steps
        products = _products(trainer, problem, state)
        flops = sum(2 * np.prod(np.shape(out)) * depth for *_, out, depth in products)
        bare = _least(_alone(products)) / LOOPS
        rows.append(
            {
                "stage": name,
                "step, µs": 1e6 * step,
                "products alone, µs": 1e6 * bare,
                "ratio": step / bare,
                "GFLOP/s of the step": flops / step / 1e9,
                "GFLOP/s of the products": flops / bare / 1e9,
            }
        )
    return pd.DataFrame(rows)


def _least(job):
    """Processor seconds of a compiled call: the least of some."""
    jax.block_until_ready(job())
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        jax.block_until_ready(job())
        seconds.append(time.process_time() - start)
    return min(seconds)


def _products(trainer, problem, state):
    """Every matrix product of a step: operands, dimension numbers, result, contracted length."""
    single = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), (problem, state))
    arrays, fixed = eqx.partition(single, eqx.is_array)

    def step(arrays):
        problem, state = eqx.combine(arrays, fixed)
        return trainer.step(problem, state, jnp.float32(0.5))

    found = []

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "dot_general":
                left, right = (v.aval for v in equation.invars)
                numbers = equation.params["dimension_numbers"]
                depth = int(np.prod([left.shape[k] for k in numbers[0][0]]))
                found.append((left, right, numbers, equation.outvars[0].aval, depth))
            for inner in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda p: hasattr(p, "jaxpr")
            ):
                if hasattr(inner, "jaxpr"):
                    walk(inner.jaxpr)
                elif hasattr(inner, "eqns"):
                    walk(inner)

    walk(jax.make_jaxpr(step)(arrays).jaxpr)
    return found


def _alone(products):
    """The products on random numbers, again and again, compiled as a step is."""
    rng = np.random.default_rng(0)
    draw = lambda aval: jnp.asarray(rng.normal(size=aval.shape), dtype=aval.dtype)  # noqa: E731

    def first(array):
        return array[(0,) * array.ndim]

    # Results are carried from loop to loop, so that the compiler leaves out no part of a product.
    def again(lefts, rights, outs):
        def body(_, carry):
            moved = [a.at[(0,) * a.ndim].add(1e-9 * first(o)) for a, o in zip(*carry, strict=True)]
            made = [
                jax.lax.dot_general(left, right, numbers)
                for left, right, (_, _, numbers, *_) in zip(moved, rights, products, strict=True)
            ]
            return moved, made

        return jax.lax.fori_loop(0, LOOPS, body, (lefts, outs))

    lefts, rights, outs = ([draw(p[k]) for p in products] for k in (0, 1, 3))
    program = jax.jit(again, compiler_options=OPTIONS[Effort.FAST_TO_RUN])
    return lambda: program(lefts, rights, outs)
