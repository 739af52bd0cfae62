"""Fits four small models in two checkouts and compares what they learned, to the bit.

    git worktree add ../before main~1
    python benchmarks/same_numbers.py ../before

Run it after every change that should not change a number. A regression, a classification, the
paper's own form and CASTLE are fitted on the same small tables (missing cells and a categorical
column among them); predictions, intervals, E, `history_`, `graph_` and imputed cells are compared.
Exit code 1 if anything differs; what differs is listed with the largest difference.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np


def tables(task):
    """Sources and a target of four sites: missing cells, a category, one site far from the rest."""
    from dapdag.datasets import make_classification_domains, make_regression_domains

    make = {"regression": make_regression_domains, "classification": make_classification_domains}
    data = make[task](n_domains=5, n_samples=120, random_state=3)
    X = data.X.copy()
    rng = np.random.default_rng(0)
    X["ward"] = np.where(X.iloc[:, 0] + rng.normal(size=len(X)) > 0, "a", "b")
    X.iloc[rng.random(len(X)) < 0.1, 1] = np.nan
    target = data.sample_domain == 4
    return X[~target], data.y[~target], data.sample_domain[~target], X[target], data.y[target]


def facts(kind):
    """What one fit learned, as named arrays."""
    from dapdag import DAPDAGClassifier, DAPDAGRegressor
    from dapdag.baselines import CASTLERegressor

    task = "classification" if kind == "classification" else "regression"
    X, y, site, X_new, _ = tables(task)
    small = {"max_epochs": 30, "random_state": 1}
    model = {
        "regression": lambda: DAPDAGRegressor(n_members=2, **small),
        "classification": lambda: DAPDAGClassifier(n_members=2, **small),
        "paper": lambda: DAPDAGRegressor(structure="paper", **small),
        "castle": lambda: CASTLERegressor(**small),
    }[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_domain=site)
        found = {"prediction": np.asarray(model.predict(X_new), dtype=float)}
        found["history"] = model.history_.to_numpy(dtype=float)
        if hasattr(model, "predict_proba"):
            found["probability"] = model.predict_proba(X_new)
        if hasattr(model, "predict_interval"):
            found["interval"] = np.asarray(model.predict_interval(X_new), dtype=float)
        if hasattr(model, "graph_"):
            edges = sorted((str(a), str(b), w) for a, b, w in model.graph_.edges.data("weight"))
            found["edges"] = np.array([hash_free(a, b) for a, b, _ in edges], dtype=float)
            found["weights"] = np.array([w for *_, w in edges], dtype=float)
        if hasattr(model, "environment"):
            found["environment"] = model.environment(X_new).to_numpy(dtype=float)
            filled = model.impute(X_new).select_dtypes("number")
            found["imputed"] = filled.to_numpy(dtype=float)
            found["unexplained"] = model.unexplained(X_new).to_numpy(dtype=float)
    return found


def hash_free(*names):
    """A number for names, the same in every process."""
    return int.from_bytes("→".join(names).encode()[-6:], "big")


def write(path):
    kinds = ("regression", "classification", "paper", "castle")
    np.savez(path, **{f"{k}: {name}": a for k in kinds for name, a in facts(k).items()})


def facts_of(checkout, folder, name):
    path = Path(folder) / f"{name}.npz"
    command = [sys.executable, str(Path(__file__).resolve()), "--write", str(path)]
    environment = os.environ | {"PYTHONPATH": str(Path(checkout).resolve() / "src")}
    subprocess.run(command, check=True, env=environment)
    return dict(np.load(path))


def differences(before, after):
    """One line for each fact that is not the same."""
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            yield f"{name}: only in one checkout"
        elif before[name].shape != after[name].shape:
            yield f"{name}: shape {before[name].shape} -> {after[name].shape}"
        elif not np.array_equal(before[name], after[name], equal_nan=True):
            yield f"{name}: differs by up to {np.nanmax(np.abs(before[name] - after[name])):.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", nargs="?", help="a checkout to compare with")
    parser.add_argument("after", nargs="?", default=".", help="default: this one")
    parser.add_argument("--write", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write)
        return 0
    if arguments.before is None:
        parser.error("name the checkout to compare with")
    with tempfile.TemporaryDirectory() as folder:
        before = facts_of(arguments.before, folder, "before")
        after = facts_of(arguments.after, folder, "after")
    found = list(differences(before, after))
    print("\n".join(found) or f"{len(before)} facts of four fits: the same to the bit")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
