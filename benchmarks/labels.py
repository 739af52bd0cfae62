"""What some labels of the new site are worth, for ours and for what practice would do.

    python benchmarks/labels.py --seeds 0:3
    DAPDAG_DATA=folder python benchmarks/labels.py --sets uci_heart impact_tbi bike_sharing

Every target gives the first 0, 10, 30, … of its rows (in random order) with their labels and the
others without; R² or log-loss is that of rows of its second half, which never have one. Methods:

    ours               model.at(X, y)
    pooled             boosting on all sources, no labels of the site
    pooled + intercept its intercept is re-estimated (recalibration in the large)
    closed testing     none, intercept, or intercept and slope, by likelihood-ratio tests
                       (Vergouwe et al. 2017)
    one more source    boosting on all sources and the labelled rows
    site only          boosting, and a linear model, on the labelled rows alone: the better one

Beside the gain of ours over no labels stands what `expected_gain` said of it beforehand, without
any label of the site.

Finished runs are appended to --out; --report prints the tables from it alone.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from parts import append, read
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.baselines import registry
from dapdag.datasets import make_classification_domains, make_regression_domains
from dapdag.datasets.real import LOADERS

COUNTS = (0, 10, 30, 100, 300, 1000)
SYNTHETIC = {
    "regression": make_regression_domains,
    "classification": make_classification_domains,
}
MOST_SOURCE_ROWS, MOST_TARGETS = 400, 3
METHODS = ("ours", "pooled", "pooled + intercept", "closed testing", "one more source", "site only")
EXPECTED = "expected gain"


@dataclass(frozen=True)
class Target:
    """Labelled sources, and a site whose rows are in random order."""

    X: pd.DataFrame
    y: pd.Series
    domain: np.ndarray
    X_site: pd.DataFrame
    y_site: pd.Series

    @property
    def half(self):
        return len(self.X_site) // 2


def targets(name, seed):
    """(replicate, Target) of a data set."""
    if name in SYNTHETIC:
        data = SYNTHETIC[name](n_domains=9, n_samples=2600, random_state=seed)
        chosen = data.domains[-1:]
    else:
        data = LOADERS[name]()
        where = np.linspace(0, len(data.domains) - 1, MOST_TARGETS).round().astype(int)
        chosen = [data.domains[d] for d in np.unique(where)]
    rng = np.random.default_rng(seed)
    for domain in chosen:
        split = data.leave_out(domain)
        groups = pd.Series(split.sample_domain).groupby(split.sample_domain, sort=False).indices
        kept = np.concatenate([rng.permutation(g)[:MOST_SOURCE_ROWS] for g in groups.values()])
        order = rng.permutation(len(split.X_target))
        yield (
            str(domain),
            Target(
                split.X.iloc[kept].reset_index(drop=True),
                split.y.iloc[kept].reset_index(drop=True),
                split.sample_domain[kept],
                split.X_target.iloc[order].reset_index(drop=True),
                split.y_target.iloc[order].reset_index(drop=True),
            ),
        )


class Numbers:
    """What is asked of a method for numbers."""

    make, task = DAPDAGRegressor, "regression"

    @staticmethod
    def predict(model, X):
        return np.asarray(model.predict(X), dtype=float)

    @staticmethod
    def score(y, predicted):
        return r2_score(y, predicted)

    @staticmethod
    def recalibrated(eta, y, slope):
        """Coefficients of least squares, and the log-likelihood."""
        design = np.column_stack([np.ones(len(eta)), eta]) if slope else np.ones((len(eta), 1))
        aim = y if slope else y - eta
        found = np.linalg.lstsq(design, aim, rcond=None)[0]
        a, b = (found[0], found[1]) if slope else (found[0], 1.0)
        return a, b, Numbers.likelihood(y, a + b * eta)

    @staticmethod
    def likelihood(y, eta):
        return -0.5 * len(y) * np.log(max(np.mean((y - eta) ** 2), 1e-12))

    link = staticmethod(lambda p: p)
    unlink = staticmethod(lambda eta: eta)


class Classes:
    """What is asked of a method for two classes."""

    make, task = DAPDAGClassifier, "classification"

    @staticmethod
    def predict(model, X):
        return model.predict_proba(X)[:, 1]

    @staticmethod
    def score(y, predicted):
        return log_loss(y, np.clip(predicted, 1e-6, 1 - 1e-6), labels=[0, 1])

    @staticmethod
    def recalibrated(eta, y, slope):
        if len(np.unique(y)) < 2:
            return 0.0, 1.0, -np.inf
        if slope:
            model = LogisticRegression(C=1e6).fit(eta[:, None], y)
            a, b = model.intercept_[0], model.coef_[0, 0]
        else:
            a, b = 0.0, 1.0
            for _ in range(50):
                p = expit(a + eta)
                a += np.clip((y - p).sum() / max((p * (1 - p)).sum(), 1e-9), -1, 1)
        return a, b, Classes.likelihood(y, a + b * eta)

    @staticmethod
    def likelihood(y, eta):
        return float((y * eta - np.logaddexp(0, eta)).sum())

    link = staticmethod(lambda p: logit(np.clip(p, 1e-4, 1 - 1e-4)))
    unlink = staticmethod(expit)


def closed_test(kind, eta, y):
    """Intercept and slope that the closed testing procedure chooses."""
    none = kind.likelihood(y, eta)
    first, both = kind.recalibrated(eta, y, slope=False), kind.recalibrated(eta, y, slope=True)
    if 2 * (both[2] - none) < chi2.ppf(0.95, 2):
        return 0.0, 1.0
    return first[:2] if 2 * (both[2] - first[2]) < chi2.ppf(0.95, 1) else both[:2]


def run(name, seed, out):
    done = {(r["set"], r["seed"], r["target"]) for r in read(out)}
    for replicate, target in targets(name, seed):
        if (name, seed, replicate) in done:
            continue
        start = time.perf_counter()
        binary = target.y.nunique() == 2
        kind = Classes if binary else Numbers
        y, y_site = target.y, target.y_site
        if binary:
            first = sorted(y.unique())[0]
            y, y_site = ((s != first).astype(int).rename("label") for s in (y, y_site))
        rows = list(curves(kind, target, y, y_site, seed))
        key = {"set": name, "seed": seed, "target": replicate, "binary": binary}
        append(out, *(key | row for row in rows))
        print(f"{name} {replicate} seed {seed}: {time.perf_counter() - start:.0f} s", flush=True)


def curves(kind, target, y, y_site, seed):
    half = target.half
    X_test, y_test = target.X_site[half:], y_site[half:].to_numpy()
    model = kind.make(random_state=seed).fit(target.X, y, sample_domain=target.domain)
    pooled = registry.make("boosting", kind.task, random_state=seed)
    pooled.fit(target.X, y, sample_domain=target.domain)
    eta_site = kind.link(kind.predict(pooled, target.X_site))
    unlabelled = model.at(target.X_site)
    for n in [c for c in COUNTS if c <= half]:
        labels = y_site.astype(float).where(np.arange(len(y_site)) < n)
        own, eta, truth = target.X_site[:n], eta_site[:n], y_site[:n].to_numpy()
        found = {"ours": kind.predict(model.at(target.X_site, labels if n else None), X_test)}
        coefficients = {"pooled": (0.0, 1.0)}
        if n:
            coefficients["pooled + intercept"] = kind.recalibrated(eta, truth, slope=False)[:2]
            coefficients["closed testing"] = closed_test(kind, eta, truth)
        for method, (a, b) in coefficients.items():
            found[method] = kind.unlink(a + b * eta_site[half:])
        if n:
            found["one more source"] = refitted(kind, target, y, own, y_site[:n], X_test, seed)
        scores = {m: kind.score(y_test, p) for m, p in found.items()}
        if n and len(np.unique(truth)) > 1:
            alone = [
                site_only(kind, m, own, y_site[:n], X_test, seed) for m in ("boosting", "linear")
            ]
            both = [kind.score(y_test, p) for p in alone]
            scores["site only"] = min(both) if kind is Classes else max(both)
        scores[EXPECTED] = unlabelled.expected_gain(n) if n else 0.0
        for method, score in scores.items():
            yield {"method": method, "labels": n, "score": float(score)}


def refitted(kind, target, y, own, y_own, X_test, seed):
    model = registry.make("boosting", kind.task, random_state=seed)
    X = pd.concat([target.X, own], ignore_index=True)
    label = pd.concat([y, y_own], ignore_index=True)
    domain = np.concatenate([target.domain.astype(object), ["the site"] * len(own)]).astype(str)
    model.fit(X, label, sample_domain=domain)
    return kind.predict(model, X_test)


def site_only(kind, method, own, y_own, X_test, seed):
    model = registry.make(method, kind.task, random_state=seed)
    model.fit(own.reset_index(drop=True), y_own.reset_index(drop=True))
    return kind.predict(model, X_test)


def report(out):
    runs = pd.DataFrame(read(out))
    for (name, binary), own in runs.groupby(["set", "binary"], sort=False):
        replicates = own.groupby(["seed", "target"]).ngroups
        print(f"\n{name}: {'log-loss' if binary else 'R²'}, mean over {replicates} target(s)")
        table = own.pivot_table(index="method", columns="labels", values="score")
        print(table.reindex([m for m in METHODS if m in table.index]).round(4).to_string())
        ours = own[own["method"] == "ours"].set_index(["seed", "target", "labels"])["score"]
        base = ours.xs(0, level="labels")
        gain = ours.unstack("labels").sub(base, axis=0) * (-1 if binary else 1)
        error = gain.sem() if replicates > 1 else gain.iloc[0] * np.nan
        cells = [f"{n}: {gain[n].mean():+.4f} ({error[n]:.4f})" for n in gain if n]
        print("ours, gain over no labels (standard error):", ", ".join(cells))
        told = own[own["method"] == EXPECTED].groupby("labels")["score"].mean()
        cells = [f"{n}: {told[n]:+.4f}" for n in told.index if n]
        print("expected_gain, without any label:         ", ", ".join(cells))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SYNTHETIC), metavar="SET")
    parser.add_argument("--seeds", default="0:3", help="first:last+1, below 100")
    parser.add_argument("--out", type=Path, default=Path("build/labels.jsonl"))
    parser.add_argument("--report", action="store_true", help="only from what is in --out")
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore", category=UserWarning)
    if not arguments.report:
        for seed in range(*map(int, arguments.seeds.split(":"))):
            for name in arguments.sets:
                run(name, seed, arguments.out)
    report(arguments.out)


if __name__ == "__main__":
    main()
