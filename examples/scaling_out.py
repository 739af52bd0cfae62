"""Scaling out: an evaluation over processes by joblib, and over a Dask cluster where there is one.

Every site is left out once and predicted from the others; the runs do not depend on each other. How
they are spread over processes or machines changes the time and not one digit of the result.

    python examples/scaling_out.py
"""

from importlib.util import find_spec

import pandas as pd
from joblib import parallel_config

from dapdag.baselines import registry
from dapdag.datasets import make_regression_domains
from dapdag.evaluate import leave_one_domain_out

N_JOBS = 2
QUICK = {"n_members": 1, "max_epochs": 40}


def evaluate(n_jobs: int | None) -> pd.DataFrame:
    data = make_regression_domains(n_domains=8, n_samples=300, random_state=30)
    ours = registry.make("dapdag-b", "regression").set_params(**QUICK)
    estimators = {"linear": registry.make("linear", "regression"), "dapdag-b": ours}
    found = leave_one_domain_out(
        estimators, data, targets=[0, 1, 2, 3], metrics=["r2"], distances=False, n_jobs=n_jobs
    )
    return found.by_target("r2")


def main() -> None:
    alone = evaluate(n_jobs=1)
    print("R² of four sites, each left out once:")
    print(alone.round(3).to_string())

    processes = evaluate(n_jobs=N_JOBS)
    print(f"\n{N_JOBS} processes (joblib): the same to the last digit: {processes.equals(alone)}")

    if find_spec("distributed") is None:
        print("Dask is not installed: pip install 'dapdag[dask]' to run on a cluster")
        return
    from distributed import Client, LocalCluster

    # On a real cluster: Client("scheduler-address:8786"); nothing else changes.
    with (
        LocalCluster(n_workers=N_JOBS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        parallel_config(backend="dask"),
    ):
        on_dask = evaluate(n_jobs=None)
    print(f"{N_JOBS} workers (Dask): the same to the last digit: {on_dask.equals(alone)}")


if __name__ == "__main__":
    main()
