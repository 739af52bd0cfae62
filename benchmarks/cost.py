"""Processor time and memory of a fit against what `dapdag fit` says before it begins.

    python benchmarks/cost.py
    python benchmarks/cost.py --sizes 75x4x990 --once

Sizes are rows per site x sites x columns. Each is fitted twice in a process of its own: the second
time is that of a fit whose programs are compiled already. `--once` leaves the second fit out.
"""

import argparse
import json
import subprocess
import sys

from dapdag.training.cost import expected_cost

SIZES = ("150x4x8", "300x6x40", "250x8x120", "2000x10x20")
FIT = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
from dapdag import DAPDAGRegressor
from dapdag.datasets import make_random_sem_domains
rows, sites, columns, times = map(int, sys.argv[1:])
data = make_random_sem_domains(
    n_variables=columns + 1, n_edges=2 * columns, n_domains=sites, n_samples=rows, random_state=0
)
seconds = []
for _ in range(times):
    start = time.process_time()
    DAPDAGRegressor(verbose=1).fit(data.X, data.y, sample_domain=data.sample_domain)
    seconds.append(time.process_time() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak]))
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="ROWSxSITESxCOLUMNS")
    parser.add_argument("--once", action="store_true", help="no second fit")
    arguments = parser.parse_args()
    for size in arguments.sizes:
        rows, sites, columns = map(int, size.split("x"))
        times = 1 if arguments.once else 2
        done = subprocess.run(
            [sys.executable, "-c", FIT, *map(str, (rows, sites, columns, times))],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds, peak = json.loads(done.stdout.splitlines()[-1])
        said = expected_cost(rows * sites, columns)
        print(
            f"{size}: {', '.join(f'{s:.0f}' for s in seconds)} s of processor time, expected "
            f"{said.seconds:.0f} s and up to {said.compilation:.0f} s of compilation; "
            f"{peak / 2**30:.2f} GiB, expected {said.memory / 2**30:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
