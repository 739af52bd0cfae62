"""How long a known site takes for one row, and for many.

    python benchmarks/sites.py

Median over rows of `SiteModel.predict` or `predict_proba` of one row (a DataFrame of one row),
warm, beside `predict` of the estimator for the whole site; a fit of default size each.
"""

import argparse
import time
import warnings

import numpy as np

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import make_classification_domains, make_maggic_like, make_regression_domains

CASES = {
    "regression": (DAPDAGRegressor, make_regression_domains, 9),
    "classification": (DAPDAGClassifier, make_classification_domains, 9),
    "mixed columns": (DAPDAGClassifier, make_maggic_like, 8),
}


def simulated(make, n_sites, seed):
    if make is make_maggic_like:
        data = make(n_studies=n_sites, n_samples=400, random_state=seed)
    else:
        data = make(n_domains=n_sites, n_samples=400, random_state=seed)
    return data.leave_out(data.domains[-1])


def milliseconds(function, arguments):
    """Medians over the arguments of the time of a call, and of the processor's time for it.

    The first call compiles and does not count. Where other programs run, the processor's time is
    what the call costs.
    """
    function(arguments[0])
    clocks = time.perf_counter, time.process_time
    times = []
    for argument in arguments:
        before = [clock() for clock in clocks]
        function(argument)
        times.append([clock() - start for clock, start in zip(clocks, before, strict=True)])
    return 1e3 * np.median(times, axis=0)


def measure(case, seed):
    make_estimator, make_data, n_sites = CASES[case]
    split = simulated(make_data, n_sites, seed)
    model = make_estimator(random_state=seed)
    model.fit(split.X, split.y, sample_domain=split.sample_domain)
    site = model.at(split.X_target)
    ask = getattr(site, "predict_proba", site.predict)
    rows = [split.X_target.iloc[[i]] for i in range(300)]
    one = milliseconds(ask, rows)
    whole = milliseconds(getattr(model, "predict_proba", model.predict), [split.X_target] * 5)
    graph = site.expert_weights_["graph"]
    print(
        f"{case}: {split.X.shape[1]} columns, weight of the graph {graph:.1f}; one row at a known "
        f"site {one[0]:.2f} ms (processor {one[1]:.2f} ms), predict of {len(split.X_target)} rows "
        f"{whole[0]:.0f} ms (processor {whole[1]:.0f} ms)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    for name in arguments.cases:
        measure(name, arguments.seed)
