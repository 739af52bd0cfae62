"""Stability: how far a row's prediction moves when only the seed, or the order of rows, changes.

    python benchmarks/stability.py --tables 0:3
    python benchmarks/stability.py --task regression --tables 0:3

Four simulated sites of 150 rows, a fifth that is new: the same fit with several seeds, and with the
rows in another order. Probabilities are compared as they are, numbers as shares of the label's
standard deviation at the new site. For each table: the largest and the median range of a row over
the seeds, the range of the site's mean, and the largest change of a row by another order. The
half-width of the 90 % interval that the model states for its predictions stands beside them.
"""

import argparse
import warnings

import numpy as np

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.datasets import make_classification_domains, make_regression_domains

TASKS = {
    "classification": (make_classification_domains, DAPDAGClassifier),
    "regression": (make_regression_domains, DAPDAGRegressor),
}
SITES, ROWS = 5, 150


def one_table(task, table, seeds, orders, settings):
    make, estimator = TASKS[task]
    data = make(n_domains=SITES, n_samples=ROWS, random_state=table)
    new = data.sample_domain == SITES - 1
    X, y, site = data.X[~new], data.y[~new], data.sample_domain[~new]
    X_new, unit = data.X[new], 1.0 if task == "classification" else float(data.y[new].std())

    def predicted(seed, rows):
        model = estimator(random_state=seed, **settings)
        model.fit(X.iloc[rows], y.iloc[rows], sample_domain=site[rows])
        if task == "classification":
            return model.predict_proba(X_new)[:, 1], half_width(model.at(X_new), X_new)
        return model.predict(X_new), half_width(model.at(X_new), X_new)

    def half_width(at_site, rows):
        if task == "regression":
            return np.nan
        ends = at_site.predict_interval(rows, coverage=0.9)
        return np.median(ends[:, 1, 1] - ends[:, 1, 0]) / 2

    plain = np.arange(len(X))
    runs = [predicted(seed, plain) for seed in range(seeds)]
    by_seed = np.array([run[0] for run in runs]) / unit
    shuffled = [
        predicted(0, np.random.default_rng(k).permutation(plain))[0] / unit for k in range(orders)
    ]
    moved = max((np.abs(one - by_seed[0]).max() for one in shuffled), default=np.nan)
    spread = np.ptp(by_seed, axis=0)
    return {
        "largest range of a row": spread.max(),
        "median range of a row": np.median(spread),
        "range of the mean": np.ptp(by_seed.mean(axis=1)),
        "largest change by order": moved,
        "half-width stated": np.mean([run[1] for run in runs]),
    }


def in_words(found):
    return ", ".join(f"{name} {value:.3f}" for name, value in found.items())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=TASKS, default="classification")
    parser.add_argument("--tables", default="0:3", help="first:last+1, seeds of the tables")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of the fit")
    parser.add_argument("--orders", type=int, default=1, help="other orders of the rows")
    parser.add_argument("--members", type=int, help="n_members in place of the default")
    arguments = parser.parse_args()
    settings = {} if arguments.members is None else {"n_members": arguments.members}
    warnings.filterwarnings("ignore", category=UserWarning)
    rows = []
    for table in range(*map(int, arguments.tables.split(":"))):
        rows.append(one_table(arguments.task, table, arguments.seeds, arguments.orders, settings))
        print(f"table {table}: {in_words(rows[-1])}", flush=True)
    print(f"mean: {in_words({k: np.mean([r[k] for r in rows]) for k in rows[0]})}")


if __name__ == "__main__":
    main()
