"""Speed, as ratios within one run.

    python benchmarks/speed.py

Prints: time of the first compilation (cache off); a warm fit against scikit-learn's MLPRegressor of
the same width on the pooled rows; ten replicates as lanes against ten fits; rows predicted per
second.
Every ratio is the median over alternating repetitions: single timings mean little on a
shared machine.
"""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains

REPEATS = 3
COLD = """
import time
from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains
data = make_regression_domains(random_state=0)
fit = lambda: DAPDAGRegressor(max_epochs=10).fit(data.X, data.y, sample_domain=data.sample_domain)
start = time.perf_counter(); fit(); first = time.perf_counter() - start
start = time.perf_counter(); fit(); print(first - (time.perf_counter() - start))
"""


def seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def compare(name, ours, theirs):
    """Median of ours / theirs over alternating repetitions, after one warm-up each."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
    ratio = np.median([a / b for a, b in pairs])
    a, b = np.median(pairs, axis=0)
    print(f"{name}: {a:.2f} s against {b:.2f} s, ratio {ratio:.2f}", flush=True)


def main():
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    split = make_regression_domains(random_state=0).leave_out(9)
    scaled = StandardScaler().fit_transform(split.X)
    label = (split.y - split.y.mean()) / split.y.std()

    environment = dict(os.environ, DAPDAG_CACHE="off")
    cold = subprocess.run(
        [sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, check=True
    )
    print(f"first compilation: {float(cold.stdout):.1f} s", flush=True)

    def fit(**options):
        return DAPDAGRegressor(**options).fit(split.X, split.y, sample_domain=split.sample_domain)

    def mlp(**options):
        return MLPRegressor(hidden_layer_sizes=(16, 16), random_state=0, **options).fit(
            scaled, label
        )

    compare("default fit against MLPRegressor((16, 16))", fit, mlp)
    compare(
        "fit of one member, 100 epochs, against MLPRegressor((16, 16))",
        lambda: fit(n_members=1, max_epochs=100),
        mlp,
    )
    compare(
        "ten replicates of 50 epochs as lanes against ten fits",
        lambda: fit(n_members=10, max_epochs=50),
        lambda: [fit(n_members=1, max_epochs=50, random_state=k) for k in range(10)],
    )

    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.normal(size=(1_000_000, 7)), columns=split.X.columns)
    model = fit(n_members=1)
    model.predict(many)
    taken = np.median([seconds(lambda: model.predict(many)) for _ in range(REPEATS)])
    print(f"prediction, one member: {len(many) / taken:,.0f} rows a second (8 variables)")


if __name__ == "__main__":
    main()
