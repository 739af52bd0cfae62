"""Memory and time of `dapdag predict` over files of growing size, in batches and in memory.

    python benchmarks/streaming.py [--rows 200000 2000000] [--formats csv parquet] [--batch 131072]
        [--ways batches memory]

Every run is a process of its own: peak resident memory and processor time are its own.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains

MIB = 2**20
WAYS = ["batches", "memory"]
# A process of its own, because the peak of a process begins with the memory of the one that
# started it, and this one holds tables.
LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, nargs="+", default=[200_000, 2_000_000])
    options.add_argument("--formats", nargs="+", default=["csv", "parquet"])
    options.add_argument("--batch", type=int, default=131_072)
    options.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [
            one
            for rows in asked.rows
            for suffix in asked.formats
            for one in runs(folder, rows, suffix, asked.batch, asked.ways)
        ]
    print(pd.DataFrame(found).to_string(index=False))


def runs(folder: Path, rows: int, suffix: str, batch: int, ways: list[str]) -> list[dict]:
    """One file, read in batches, in memory or both."""
    source, model = folder / f"rows.{suffix}", folder / "model.dapdag"
    data = make_regression_domains(n_domains=6, n_samples=2000, random_state=0).leave_out(5)
    if not model.exists():
        DAPDAGRegressor(n_members=2, max_epochs=40).fit(
            data.X, data.y, sample_domain=data.sample_domain
        ).save(model)
    write(data.X_target, rows, source)
    found = []
    for way in ways:
        more = ["--batch", str(batch)] if way == "batches" else []
        output = folder / f"{way}.csv"
        command = [sys.executable, "-m", "dapdag", "predict", model, source, "-o", output, "-q"]
        memory, seconds = measured([*map(str, command), *more])
        found.append(
            {
                "rows": rows,
                "file": f"{suffix}, {source.stat().st_size / MIB:.0f} MiB",
                "read": way,
                "peak MiB": round(memory / MIB),
                "processor s": round(seconds, 1),
            }
        )
        output.unlink()
    source.unlink()
    return found


def write(X: pd.DataFrame, rows: int, path: Path) -> None:
    """So many rows, each a site's row with a little noise."""
    rng = np.random.default_rng(0)
    values = X.to_numpy()[rng.integers(len(X), size=rows)]
    table = pd.DataFrame(values + 0.01 * rng.standard_normal(values.shape), columns=X.columns)
    table.to_parquet(path) if path.suffix == ".parquet" else table.round(6).to_csv(
        path, index=False
    )


def measured(command: list[str]) -> tuple[int, float]:
    """Peak memory in bytes and processor seconds of a process."""
    told = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *command], capture_output=True, text=True, check=True
    )
    memory, seconds = told.stdout.split()
    return int(memory) * (1 if sys.platform == "darwin" else 1024), float(seconds)


if __name__ == "__main__":
    main()
